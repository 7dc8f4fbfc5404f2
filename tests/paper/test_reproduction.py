"""The reproduction: its options, its folder, and all of it at a tiny scale."""

import pytest
from tests.paper.tiny import TinyConfig

from regrax.paper import REPORTED, ReproduceConfig, compare, reproduce, summary_text
from regrax.paper.report import paper_page


def test_an_unknown_experiment_raises(as_users_run_it):
    with pytest.raises(ValueError, match=r"only must list experiments from step-.* got 'dept'"):
        ReproduceConfig(only=("dept",))
    with pytest.raises(ValueError, match="actions must be an integer >= 2, got 1"):
        ReproduceConfig(actions=1)


def test_a_model_in_training_is_stopped_by_an_error_elsewhere(tmp_path):
    def stop(at):
        if at.task == "step-size":
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        reproduce(
            TinyConfig(quick=True, only=("step-size", "matching")), tmp_path, on_progress=stop
        )


@pytest.mark.slow
def test_all_of_it_and_again_after_an_interruption(tmp_path, browse):
    config = TinyConfig(quick=True)
    whole = reproduce(config, tmp_path / "whole")
    assert set(REPORTED.values()) <= {row.paper for row in compare(whole)}
    assert "18 numbers in the paper" in summary_text(whole)
    report = paper_page(whole)
    assert report.rindex("<svg") < report.index('id="numbers"')
    for name, size, dark in (("desk", (1200, 9000), False), ("phone", (500, 14000), True)):
        shown = browse(report, f"report-{name}", size=size, dark=dark)
        assert len(shown.figures) == report.count("<svg") >= 7
        small = [figure for figure in shown.figures if figure[1] <= 200 or figure[3] < 5]
        assert small == []
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
def test_other_sizes_have_figures_and_no_reported_numbers(tmp_path, actions):
    result = reproduce(TinyConfig(quick=True, actions=actions, horizon=8), tmp_path)
    lines = compare(result)
    assert len(lines) > 20
    assert not any(row.paper or row.verdict for row in lines)
    page = paper_page(result)
    assert page.count("<svg") >= 6
    assert f"k*({actions}, 8)" in page
    assert f"with {actions} actions and 8 rounds" in page
