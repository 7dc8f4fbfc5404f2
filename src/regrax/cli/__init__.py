"""The command line. Each command parses its options, calls public functions and prints the result."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Sequence
from typing import NoReturn


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command. This is the entry point of the `regrax` console script."""
    unhandled = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    # otherwise the caller, or the shell of a background job, handles Ctrl-C
    handles = unhandled and threading.current_thread() is threading.main_thread()
    if handles:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        from .app import run

        run(list(sys.argv[1:] if arguments is None else arguments))
    finally:
        if handles:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt(*_: object) -> NoReturn:
    """Exit at once, because C extensions can swallow a KeyboardInterrupt during import; file writes are atomic."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        cursor = "\x1b[?25h" if sys.stderr.isatty() else ""  # a progress bar hides it
        print(f"{cursor}regrax: interrupted", file=sys.stderr, flush=True)
    os._exit(130)
