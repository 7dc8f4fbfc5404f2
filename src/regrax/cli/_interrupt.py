"""Ctrl-C: one line and exit code 130 within two seconds, wherever a command is.

Python raises KeyboardInterrupt between two of its own instructions. A compiled program that runs for a minute does not
come to one, and a library that is being imported takes it for a failure of its own. So an import is left at once, and a
thread that Ctrl-C wakes as well ends a process that is still there a second later: files are written whole or not at
all, and runs go on from any moment.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

INTERRUPTED = 130  # exit code
GRACE_SECONDS = 1.0
PRESSED = threading.Event()
"""Whether Ctrl-C was pressed: whatever is raised after it is its consequence."""


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let the first Ctrl-C be a KeyboardInterrupt, which ends the process here; the second ends it at once."""
    is_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # a shell's background jobs
    if is_ignored or threading.current_thread() is not threading.main_thread():
        yield
        return
    ended, (reader, writer) = threading.Event(), os.pipe()
    os.set_blocking(writer, False)
    wakeup = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    before = signal.signal(signal.SIGINT, _raise)
    threading.Thread(target=_watch, args=[reader, ended], daemon=True).start()
    try:
        yield
    except KeyboardInterrupt:
        if PRESSED.is_set():  # not by way of the interpreter's end, which waits for threads
            _leave()
        sys.exit(INTERRUPTED)
    finally:
        ended.set()
        signal.signal(signal.SIGINT, before)
        signal.set_wakeup_fd(wakeup)
        os.close(writer)
        PRESSED.clear()


def _raise(_: int, frame: FrameType | None) -> None:
    if PRESSED.is_set() or _is_importing(frame):
        _leave()
    PRESSED.set()
    sys.unraisablehook = lambda _: None  # of what is torn down half-made
    raise KeyboardInterrupt


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None and "importlib._bootstrap" not in frame.f_code.co_filename:
        frame = frame.f_back
    return frame is not None


def _watch(reader: int, ended: threading.Event) -> None:
    while signals := os.read(reader, 1):
        if signals[0] == signal.SIGINT and not ended.wait(GRACE_SECONDS):
            _leave()
    os.close(reader)


def _leave() -> None:
    """Say so, and show the cursor that bars hide."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        shown = "\x1b[?25h" if sys.stderr.isatty() else ""
        print(f"{shown}regrax: interrupted", file=sys.stderr, flush=True)
    os._exit(INTERRUPTED)
