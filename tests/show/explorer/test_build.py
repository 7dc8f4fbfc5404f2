"""The committed page and its JavaScript, checked with node where it is installed."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
WEB = ROOT / "explorer"
PAGE = "src/regrax/show/explorer/explorer.html"


def run(*command):
    """Run a command in the folder of the page's sources and return its output; fail with what it printed."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    done = subprocess.run(command, cwd=WEB, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_built_page_is_current():
    run("node", "build.js", "--check")


def test_a_changed_source_makes_the_page_stale(tmp_path):
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    shutil.copytree(WEB, tmp_path / "explorer", ignore=shutil.ignore_patterns("node_modules"))
    (tmp_path / PAGE).parent.mkdir(parents=True)
    shutil.copy(ROOT / PAGE, tmp_path / PAGE)
    source = tmp_path / "explorer" / "src" / "page" / "style.css"
    source.write_text(source.read_text() + "\n")
    command = ["node", str(tmp_path / "explorer" / "build.js"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "explorer.html is stale: run `make explorer`" in done.stderr


def test_the_javascript_passes_its_own_tests():
    assert "# fail 0" in run("node", "--test", "--test-reporter=tap")


def test_the_javascript_is_formatted_and_linted():
    if not (WEB / "node_modules").exists():
        pytest.skip("prettier and eslint are not installed: run `make explorer-check`")
    run("npm", "run", "--silent", "lint")
