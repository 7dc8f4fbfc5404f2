"""The explorer's kernel as node runs it, and as Python would have it."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import regrax

KERNEL = Path(regrax.__file__).parent / "show" / "explorer" / "kernel"
RUNNER = Path(__file__).parent / "kernel_runner.mjs"


@pytest.fixture(scope="session")
def kernel():
    """Ask the kernel several things at once: a list of questions gives a list of answers."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed: the kernel is not run")

    def ask(*questions):
        command = [node, str(RUNNER), str(KERNEL)]
        done = subprocess.run(
            command, input=json.dumps(questions), capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)

    return ask
