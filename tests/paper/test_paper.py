"""The reproduction's machinery: verdicts, pieces kept and found again, and the whole of it on a tiny scale."""

import json
import re
import subprocess
import sys
import time
from dataclasses import replace
from importlib import import_module

import pytest

from regrax.experiments.paper import _step_size as step_size
from regrax.experiments.paper._models import QUICK
from regrax.experiments.paper._reported import REPORTED
from regrax.experiments.paper._reproduce import EXPERIMENTS, reproduce
from regrax.experiments.paper._rows import row


@pytest.mark.parametrize(
    ("values", "exact", "verdict"),
    [
        ([0.0632], 0.05, "matches"),
        ([0.0501], 0.05, "better: reason"),
        ([0.0800], 0.05, "differs: reason"),
        ([0.0501], None, "differs: reason"),
    ],
)
def test_verdicts(values, exact, verdict):
    assert row("q", "ce.calibrated", values, exact=exact, why="reason").verdict == verdict


def test_a_row_without_a_reported_number_says_only_why():
    line = row("q", None, [0.1, 0.3], exact=0.2, why="reason")
    assert line.paper == ""
    assert line.verdict == "reason"
    assert line.ours == "0.2000 ± 0.1414"


def test_exponents_are_those_of_a_power_law():
    cells = [
        {
            "architecture": a,
            "actions": 3,
            "horizon": T,
            "steps": [2 * T**-0.5] * 3,
            "exact": 2 * T**-0.5,
            "samples": 1,
        }
        for a in ("single", "swap")
        for T in (10, 20, 50)
    ]
    numbers = step_size.summarise(cells)
    assert numbers["exponents"]["swap"]["3"]["mean"] == pytest.approx(-0.5)
    assert len(step_size.section(numbers).figures) == 2
    assert len(step_size.rows(numbers)) == 4


def test_an_unknown_experiment_is_refused(tmp_path):
    with pytest.raises(
        ValueError, match="no experiment is named 'dept'; there are step-size, matching"
    ):
        reproduce(tmp_path, only=["dept"])


@pytest.fixture
def tiny(monkeypatch):
    """Everything, at a scale that checks the plumbing and not the numbers."""
    short = {
        name: replace(training, steps=2, batch=8, sequences=64) for name, training in QUICK.items()
    }
    monkeypatch.setattr(import_module("regrax.experiments.paper._reproduce"), "QUICK", short)
    small = {"runs": 2, "samples": 20, "test": 50, "sequences": 2000, "held_out": 64, "compared": 2}
    for name, experiment in EXPERIMENTS.items():
        settings = {**experiment.settings(True)}
        settings |= {key: value for key, value in small.items() if key in settings}
        monkeypatch.setitem(
            EXPERIMENTS, name, experiment._replace(settings=lambda _, s=settings: s)
        )


def without_times(path):
    return json.loads(re.sub(r'"seconds": [0-9.e-]+', '"seconds": 0', path.read_text()))


@pytest.mark.slow
def test_all_of_it_and_again_after_an_interruption(tiny, tmp_path, browse):
    rows = reproduce(tmp_path / "whole", quick=True)
    printed = {line.paper for line in rows}
    assert {str(number) for number in REPORTED.values()} <= printed
    report = (tmp_path / "whole" / "report.html").read_text()
    for name, size, dark in (("desk", (1200, 9000), False), ("phone", (500, 14000), True)):
        shown = browse(report, f"report-{name}", size=size, dark=dark)
        assert len(shown.figures) == report.count("<svg") >= 7
        assert all(width > 200 and marks > 5 for _, width, _, marks in shown.figures)
        assert shown.overflow <= 0
        assert shown.console == []

    def stop(at):
        if at.task == "equilibrium":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reproduce(tmp_path / "broken", quick=True, on_progress=stop)
    reproduce(tmp_path / "broken", quick=True)
    whole, mended = (without_times(tmp_path / d / "results.json") for d in ("whole", "broken"))
    assert whole == mended


def started(out):
    command = [sys.executable, "-m", "regrax", "reproduce", "--quick", "--only", "matching"]
    return subprocess.Popen([*command, "--out", str(out)], stdout=subprocess.DEVNULL)


@pytest.mark.slow
def test_kill_9_in_the_middle_then_the_same_command(tmp_path):
    process = started(tmp_path / "killed")
    limit = time.monotonic() + 300
    while not list(tmp_path.glob("killed/pieces/model-linear-*/seed-0.safetensors")):
        assert process.poll() is None
        assert time.monotonic() < limit
        time.sleep(0.05)
    process.kill()
    process.wait()
    assert not (tmp_path / "killed" / "results.json").exists()
    for name in ("killed", "whole"):
        assert started(tmp_path / name).wait(600) == 0
    killed, whole = (without_times(tmp_path / d / "results.json") for d in ("killed", "whole"))
    assert killed == whole
