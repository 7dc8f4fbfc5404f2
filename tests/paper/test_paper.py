"""The reproduction's machinery: verdicts, pieces kept and found again, and the whole of it on a tiny scale."""

import json
import re
import subprocess
import sys
import time

import pytest

from regrax.cli import main
from regrax.experiments import Store
from regrax.paper import ReproduceConfig, compare, line, paper_page, reproduce
from regrax.paper._reported import REPORTED
from regrax.paper._step_size import StepCell, Steps, exponent


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
    found = line("q", values, "reason", reported="ce.calibrated", exact=exact)
    assert found.verdict == verdict


def test_a_line_without_a_reported_number_says_only_why():
    found = line("q", [0.1, 0.3], "reason", exact=0.2)
    assert (found.paper, found.verdict, found.ours) == ("", "reason", "0.2000 ± 0.1414")


def test_exponents_are_those_of_a_power_law():
    found = [
        Steps(StepCell("swap", 3, T, 3), [2 * T**-0.5] * 3, 2 * T**-0.25) for T in (10, 20, 50)
    ]
    assert exponent(found, "swap", 3) == pytest.approx((-0.5, -0.25))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--only", "dept"), 'Invalid value "dept" for --only.'),
        (("--actions", "1"), "actions must be an integer >= 2, got 1"),
        (("--horizon", "x"), "--horizon: must be an integer, got 'x'"),
    ],
)
def test_bad_input_is_one_line(words, message, tmp_path, capsys, as_users_run_it):
    with pytest.raises(SystemExit, match="2"):
        main(["reproduce", "--out", str(tmp_path), *words])
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1


def test_an_unknown_experiment_is_refused(as_users_run_it):
    with pytest.raises(
        ValueError, match="unknown experiment 'dept'; there are step-size, matching"
    ):
        ReproduceConfig(only=("dept",))


def test_a_second_process_in_the_folder_is_refused(tmp_path):
    with Store(tmp_path).held(), pytest.raises(ValueError, match="another process is at work in"):
        reproduce(ReproduceConfig(quick=True), tmp_path)


def without_times(path):
    return json.loads(re.sub(r'"seconds": [0-9.e-]+', '"seconds": 0', path.read_text()))


@pytest.mark.slow
def test_all_of_it_and_again_after_an_interruption(tiny, tmp_path, browse):
    config = ReproduceConfig(quick=True)
    whole = reproduce(config, tmp_path / "whole")
    printed = {line.paper for line in compare(whole)}
    assert {str(number) for number in REPORTED.values()} <= printed
    report = paper_page(whole)
    assert report.rindex("<svg") < report.index('id="numbers"')
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
        reproduce(config, tmp_path / "broken", on_progress=stop)
    assert reproduce(config, tmp_path / "broken") == whole


@pytest.mark.slow
@pytest.mark.parametrize("actions", [2, 4])
def test_other_sizes_have_pictures_and_no_reported_numbers(tiny, tmp_path, actions):
    found = reproduce(ReproduceConfig(quick=True, actions=actions, horizon=8), tmp_path)
    lines = compare(found)
    assert len(lines) > 20
    assert not any(line.paper or line.verdict for line in lines)
    page = paper_page(found)
    assert page.count("<svg") >= 6
    assert f"k*({actions}, 8)" in page
    assert f"with {actions} actions and 8 rounds" in page


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
