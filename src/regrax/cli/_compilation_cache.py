"""How commands compile: quickly, and each program once.

A command spends more time in XLA's compiler than in what it compiles. LLVM's first level of optimisation gives programs
that run as fast as the third's, here, in two thirds of the time; and what was compiled is kept in the user's cache
folder, apart for every kind of processor. Both yield to the user's own XLA_FLAGS and JAX_ variables;
JAX_ENABLE_COMPILATION_CACHE=false keeps nothing.
"""

import hashlib
import os
import platform
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LEVEL = "--xla_backend_optimization_level"
WORTH_KEEPING = "0.1"  # seconds of compilation
MOST = 2**29  # bytes


@contextmanager
def prepared() -> Iterator[None]:
    """Set up the environment that jax reads when it is first imported, and mend the cache if an entry is damaged."""
    flags = os.environ.get("XLA_FLAGS", "")
    if LEVEL not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {LEVEL}=1".strip()
    folder = _folder()
    if _is_usable(folder):
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(folder))
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", WORTH_KEEPING)
    with _mending(folder):
        yield


def _folder() -> Path:
    """Programs compiled for one processor may not run on another that shares the home folder."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.exists() else [platform.processor()]
    kind = sorted({line for line in lines if line.startswith(("flags", "Features", "model name"))})
    digest = hashlib.sha256("\n".join([platform.machine(), *kind]).encode()).hexdigest()[:12]
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "regrax" / f"compiled-{digest}"


def _is_usable(folder: Path) -> bool:
    """Make the folder and keep it from growing without end: the oldest entries go first."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        about = {entry: entry.stat() for entry in folder.iterdir()}
    except OSError:
        return False
    size = sum(entry.st_size for entry in about.values())
    for entry, stat in sorted(about.items(), key=lambda item: item[1].st_mtime):
        if size <= MOST:
            break
        entry.unlink(missing_ok=True)
        size -= stat.st_size
    return True


@contextmanager
def _mending(folder: Path) -> Iterator[None]:
    """An entry that was cut off while being written would be complained of in every later run: drop them all."""
    with warnings.catch_warnings():
        warnings.filterwarnings("always", message=".*persistent compilation cache.*")
        show = warnings.showwarning

        def mend(message: Warning | str, *rest: Any, **more: Any) -> None:
            if "persistent compilation cache" not in str(message):
                return show(message, *rest, **more)
            return shutil.rmtree(folder, ignore_errors=True)

        warnings.showwarning = mend
        yield
