"""The XLA flags of quick tests, printed for `make test`: they compile a thousand small programs once each.

Most of their time is XLA's, so it optimises little, and takes its older emitters, which compile in half the time. XLA
ends a process that names a flag it does not know, as later versions may not know these: they are tried apart first.
"""

import os
import subprocess
import sys
from functools import cache

QUICKLY = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
OLDER = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"


@cache
def quick_flags():
    flags = f"{QUICKLY} {OLDER}"
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}
    tried = [sys.executable, "-c", "import jax; jax.devices()"]
    known = subprocess.run(tried, env=environment, capture_output=True, check=False)
    return flags if known.returncode == 0 else QUICKLY


if __name__ == "__main__":
    print(quick_flags())
