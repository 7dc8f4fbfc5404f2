"""How commands compile.

A command spends more time in XLA's compiler than in what it compiles. LLVM's first level of optimisation gives programs
that run as fast as the third's, here, in two thirds of the time; and what was compiled is kept in the user's cache
folder, apart for every kind of processor. Both yield to the user's own XLA_FLAGS and JAX_ variables;
JAX_ENABLE_COMPILATION_CACHE=false keeps nothing.
"""

import contextlib
import hashlib
import os
import platform
import warnings
from collections.abc import Iterator
from pathlib import Path

from regrax._lock import locked

LEVEL = "--xla_backend_optimization_level"
WORTH_KEEPING = "0.1"  # seconds of compilation
MAX_CACHE_BYTES = 2**29


@contextlib.contextmanager
def prepared() -> Iterator[None]:
    """Set up the environment that jax reads when it is first imported."""
    flags = os.environ.get("XLA_FLAGS", "")
    if LEVEL not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {LEVEL}=1".strip()
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # a folder that cannot be written to keeps nothing
            folder = cache_folder()
            folder.mkdir(parents=True, exist_ok=True)
            _drop_unfinished(folder)
            _drop_oldest(folder)
            stack.enter_context(_marked(folder))
            os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(folder))
            os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", WORTH_KEEPING)
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", message=".*persistent compilation cache")
        yield


def cache_folder() -> Path:
    """Programs compiled for one processor may not run on another that shares the home folder."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.exists() else [platform.processor()]
    kind = sorted({line for line in lines if line.startswith(("flags", "Features", "model name"))})
    digest = hashlib.sha256("\n".join([platform.machine(), *kind]).encode()).hexdigest()[:12]
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "regrax" / f"compiled-{digest}"


@contextlib.contextmanager
def _marked(folder: Path) -> Iterator[None]:
    mark = folder / f"running-{os.getpid()}"
    with locked(mark):
        yield
    mark.unlink(missing_ok=True)


def _drop_unfinished(folder: Path) -> None:
    """jax never replaces an entry: those that a killed command may have been writing are dropped."""
    for mark in folder.glob("running-*"):
        with locked(mark) as is_stale:
            if is_stale:
                began = mark.stat().st_mtime
                for entry in [e for e in folder.iterdir() if e.stat().st_mtime >= began]:
                    entry.unlink(missing_ok=True)


def _drop_oldest(folder: Path) -> None:
    about = {entry: entry.stat() for entry in folder.glob("*-cache")}
    size = sum(entry.st_size for entry in about.values())
    for entry, stat in sorted(about.items(), key=lambda item: item[1].st_mtime):
        if size <= MAX_CACHE_BYTES:
            break
        entry.unlink(missing_ok=True)
        size -= stat.st_size
