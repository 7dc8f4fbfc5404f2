"""Ctrl-C at any moment: one line and exit code 130, never a traceback."""

import signal
import subprocess
import sys
import time

import pytest

LINE = "regrax: interrupted\n"
WATCHDOG_SECONDS = 60
PLAY = ["play", "weighted-rps", "--learners", "hedge(0.1)", "--rounds", "1000000000"]
TRAIN = ["train", "--model", "linear", "--steps", "1000000", "--out", "run"]
LATE = """
import os, signal, sys
def interrupt(event, about):
    if event == "import" and about[0] == {module!r}:
        os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(interrupt)
from regrax.cli import main
main({arguments!r})
"""


def ended(command, folder, after=None):
    """Exit code and stderr of a process, which is sent Ctrl-C after some seconds."""
    with subprocess.Popen(command, cwd=folder, stdout=-3, stderr=-1, text=True) as running:
        if after is not None:
            time.sleep(after)
            running.send_signal(signal.SIGINT)
        try:
            return running.communicate(timeout=WATCHDOG_SECONDS)[1], running.returncode
        finally:
            running.kill()


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("cyclopts", ["games"]),
        ("equinox", ["learners"]),
        ("numpy", PLAY),
        ("numpy._core.multiarray", PLAY),
        ("jaxlib", PLAY),
        ("jax._src.numpy.lax_numpy", TRAIN),
        ("regrax.games.trajectory", PLAY),
    ],
)
def test_while_importing(module, arguments, tmp_path):
    code = LATE.format(module=module, arguments=arguments)
    assert ended([sys.executable, "-c", code], tmp_path) == (LINE, 130)


@pytest.mark.parametrize("arguments", [PLAY, TRAIN], ids=["play", "train"])
def test_in_the_middle_of_work(arguments, tmp_path):
    found = ended([sys.executable, "-m", "regrax", *arguments], tmp_path, after=2)
    assert found == (LINE, 130)
