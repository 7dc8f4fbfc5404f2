"""The command line. Each command parses its options, calls public functions and prints the result."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import NoReturn


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command. This is the entry point of the `regrax` console script."""
    with _ctrl_c():
        from .app import run

        run(list(sys.argv[1:] if arguments is None else arguments))


@contextlib.contextmanager
def _ctrl_c() -> Iterator[None]:
    """Exit on Ctrl-C, unless the caller or the shell (for a background job) already handles it."""
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if usual and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, _interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    else:
        yield


def _interrupt(*_: object) -> NoReturn:
    """Exit at once, because C extensions can swallow a KeyboardInterrupt during import; file writes are atomic."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        cursor = (
            "\x1b[?25h" if sys.stderr.isatty() else ""
        )  # show the cursor, which a progress bar hides
        print(f"{cursor}regrax: interrupted", file=sys.stderr, flush=True)
    os._exit(130)
