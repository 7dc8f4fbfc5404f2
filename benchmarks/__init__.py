"""Measure speed: `python -m benchmarks`, or one of its scripts, as in `python -m benchmarks.theory`.

Every script runs on one core and one thread, so that ratios compare programs and not thread pools, and does not return
freed memory to the system, so that they do not compare page faults. Both must be set before numpy and jax start, so
importing this package sets them if it was started by `python -m`.
"""

import ctypes
import os
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # the names glibc gives these options of `mallopt`


def _settle() -> None:
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    if sys.platform == "linux":  # elsewhere XLA may use more cores
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        for option in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
            ctypes.CDLL(None).mallopt(option, 2**30)


if sys.argv[0] == "-m":
    _settle()
