"""The benchmarks measure what they say: sides in their own processes, compared before they are timed."""

import math
import shlex
import sys
from pathlib import Path

import pytest
from benchmarks import against, felt, limit, side
from benchmarks.measure import measure
from benchmarks.page import line, page
from benchmarks.rows import Row, rows
from benchmarks.side import OURS

from regrax.cli.app import build_app

SIZES = {"actions": 3, "rounds": 60, "step": 0.1}


@pytest.fixture(autouse=True)
def peers_are_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side, "PEERS", Path(sys.executable))


@pytest.mark.slow
def test_a_row_reports_sides_that_fail() -> None:
    everyone = {OURS: {}, "numpy": {}, "torch": {}}
    asked = {"numpy": 1e-9, "torch": 1.0}
    result = measure(Row("Hedge 3x3", "hedge", SIZES, everyone, asked, limit.hedge(3)), 2)
    assert result.best == "numpy"
    assert result.missed == []
    assert result.sides["numpy"].median > 0
    assert result.sides[OURS].ratio == 1
    assert result.sides["torch"].error
    assert "limit" in line(result)
    text = page([result], {"seconds": {"x": 1.0}, "import_ratio": 1.0}, {}, [])
    assert result.sides["torch"].error in text


@pytest.mark.parametrize("row", felt.ROWS, ids=lambda row: row.command)
def test_what_a_person_types_is_understood(row, tmp_path) -> None:
    tokens = shlex.split(row.command.format(out=tmp_path))
    build_app(tokens).parse_args(tokens)


@pytest.mark.slow
@pytest.mark.parametrize("name", felt.FIRST_CALLS)
def test_the_first_calls_of_the_benchmarks_run(name) -> None:
    exec(felt.FIRST_CALLS[name], {})


def test_a_side_with_a_different_result_is_not_timed() -> None:
    sides = {OURS: {}, "numpy": {"step": 0.7}}
    result = measure(Row("Hedge 3x3", "hedge", SIZES, sides), 1)
    assert "differ from regrax's" in result.sides["numpy"].error
    assert result.best is None


def test_every_row_compares_regrax_with_a_peer() -> None:
    for row in rows():
        assert OURS in row.sides
        assert len(row.sides) > 1
        assert set(row.needed) <= set(row.sides)


@pytest.mark.slow
def test_a_tree_is_compared_with_itself() -> None:
    tree = side.HERE.parent
    against.check_imports(tree)
    task = against.Task("Hedge 3x3", "hedge", SIZES)
    compared = against.compare(task, tree, tree, 1)
    assert compared.error == ""
    assert compared.apart == 0
    assert compared.ratio == pytest.approx(compared.old / compared.new)


def test_a_slower_or_failing_tree_is_reported() -> None:
    assert not against.summary("row", [(0.95, 1.0), (0.1, 1.0), (2.0, 1.0)], 0.0).failed
    slower = against.summary("row", [(0.8, 1.0)] * 3, 0.0)
    assert slower.failed
    assert "0.80 BELOW" in str(slower)
    assert against.Compared("row", error="new: ValueError: no").failed
    assert math.isnan(against.largest_difference([1.0], []))
