"""The committed page and its JavaScript, checked with node where it is installed."""

import shutil
import subprocess
from pathlib import Path

import pytest

WEB = Path(__file__).parents[3] / "explorer"


def run(*command):
    """Run a command in the folder of the page's sources and return its output; fail with what it printed."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(command, cwd=WEB, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_built_page_is_current():
    run("node", "build.js", "--check")


def test_the_javascript_passes_its_own_tests():
    assert "# fail 0" in run("node", "--test", "--test-reporter=tap")


def test_the_javascript_is_formatted_and_linted():
    if not (WEB / "node_modules").exists():
        pytest.skip("prettier and eslint are not installed: run `make explorer-check`")
    run("npm", "run", "--silent", "lint")
