"""Commands that fail: an exit code, and one line that says why.

Exit codes: 0 done; 1 a check that was asked for failed; 2 bad input; 3 peers lost; 70 a defect of regrax itself, with
the traceback if REGRAX_DEBUG=1; 130 Ctrl-C.
"""

import errno
import os
import re
import sys
from typing import NoReturn

from regrax.cli._text import say

BAD_INPUT, DEFECT = 2, 70
FULL = (errno.ENOSPC, errno.EFBIG)
ENVIRONMENT = {
    "MemoryError": "there is not enough memory for these sizes",
    "RESOURCE_EXHAUSTED": "there is not enough memory for these sizes",
    "Unable to initialize backend": "jax cannot use the devices that JAX_PLATFORMS names",
}
"""What errors that are neither bad input nor a defect say, and what they mean."""


def fail(error: Exception) -> NoReturn:
    """End the process with what an error that is being handled means."""
    if isinstance(error, OSError):
        where = error.filename
        if error.errno in FULL:  # files that are written are named where they are
            where = where or "standard output or a temporary file"
        _end(f"{where}: {error.strerror}" if where else str(error))
    if isinstance(error, ValueError):
        _end(str(error))
    if os.environ.get("REGRAX_DEBUG"):
        raise error
    if isinstance(error, AssertionError) and not _has_devices():  # as jax says it
        error = RuntimeError("Unable to initialize backend")
    what = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    for sign, meaning in ENVIRONMENT.items():
        if sign in what:
            _end(f"{meaning} ({what})")
    _end(f"a defect of regrax, {what} (REGRAX_DEBUG=1 shows where)", DEFECT)


def _has_devices() -> bool:
    import jax

    try:
        return bool(jax.devices())
    except (AssertionError, RuntimeError):
        return False


def _end(message: str, code: int = BAD_INPUT) -> NoReturn:
    short = re.sub(r"\S{300,}", lambda word: f"{word[0][:80]}...", message)
    say(f"regrax: error: {short}", error=True)
    sys.exit(code)
