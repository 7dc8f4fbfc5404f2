"""Running a sweep: cells are saved one by one, run once, and failures do not stop the rest."""

import csv
import json
import shutil
from dataclasses import replace

import jax
import numpy as np
import pytest
from tools.compilations import count_compilations

from regrax import theory
from regrax.checkpoints import load_model
from regrax.cli import main
from regrax.experiments.runs import TrainConfig, train
from regrax.experiments.sweep import (
    completed,
    listing_of,
    name_of,
    operations,
    read_sweep,
    run_sweep,
    table,
)

TEXT = """
model = "linear"
actions = 2
horizon = 5
steps = 30
batch = 64
rate = [0.03, 0.1]
seeds = 2
sequences = 2000
"""
TINY = completed(
    TrainConfig("linear", 2, 5, operator="ball", steps=60, batch=64, sequences=200, rate=0.03)
)
CELLS = [replace(TINY, first_seed=seed) for seed in range(5)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A finished sweep, next to its file, and the programs that it compiled."""
    folder = tmp_path_factory.mktemp("grid")
    (folder / "small.toml").write_text(TEXT)
    with count_compilations() as programs:
        run_sweep(read_sweep(folder / "small.toml"), folder / "whole")
    assert programs["jit(_train)"] == 1, "cells of one shape share one compilation"
    return folder / "whole"


def stamps(folder):
    return {path.name: path.stat().st_mtime_ns for path in (folder / "cells").iterdir()}


def test_the_numbers_are_those_of_train_and_theory(whole, tmp_path):
    rows = table(whole)
    cells = [(row["rate"], row["seed"]) for row in rows]
    assert cells == [(0.03, 0), (0.03, 1), (0.1, 0), (0.1, 1)]
    alone = TrainConfig("linear", 2, 5, steps=30, batch=64, rate=0.1, first_seed=1)
    (model,) = train(alone, tmp_path / "alone")
    mine = load_model(rows[3]["checkpoint"]).model
    np.testing.assert_allclose(mine.values, model.model.values, rtol=1e-4)
    for row in rows:
        assert row["exact_step"] == theory.step_size(2, 5)
        assert row["optimal_loss"] == theory.optimal_loss(2, 5)
        assert row["exact_step_loss"] == pytest.approx(theory.loss(row["exact_step"], 2, 5))
        assert row["loss"] > row["optimal_loss"]


def test_a_repeated_command_runs_nothing(whole, capsys, as_users_run_it):
    before = stamps(whole)
    main(["sweep", f"{whole.parent}/small.toml", "--out", str(whole), "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert stamps(whole) == before
    assert printed["rows"] == table(whole)
    assert (printed["cells"], printed["finished"], printed["failed"]) == (4, 4, {})


def test_results_are_a_csv_table(whole):
    with (whole / "results.csv").open() as text:
        rows = list(csv.DictReader(text))
    assert [row["seed"] for row in rows] == ["0", "1", "0", "1"]
    assert [float(row["loss"]) for row in rows] == [row["loss"] for row in table(whole)]
    assert rows[0]["feedback"] == ""
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    assert parquet.read_table(whole / "results.parquet").to_pylist() == table(whole)


def test_a_larger_grid_runs_only_new_cells_after_an_interruption(tmp_path):
    def stop(progress):
        if int(progress.note.split()[0]) >= 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_sweep([*CELLS[:2], replace(TINY, steps=600)], tmp_path, on_progress=stop)
    before = stamps(tmp_path)
    reports = []
    finished = run_sweep(CELLS, tmp_path, on_progress=reports.append)
    assert finished.done_before == 2
    assert [report.done for report in reports] == sorted(report.done for report in reports)
    assert reports[-1] == ("sweep", 1.0, 1.0, "5 of 5 cells")
    assert before.items() <= stamps(tmp_path).items()
    assert [row["seed"] for row in table(tmp_path)] == [0, 1, 2, 3, 4]
    run_sweep(CELLS[1:3], tmp_path)
    assert [row["seed"] for row in table(tmp_path)] == [1, 2]


def test_damaged_and_copied_cells_run_again(tmp_path):
    run_sweep(CELLS[:4], tmp_path)
    files = [tmp_path / "cells" / f"{name_of(cell)}.safetensors" for cell in CELLS]
    before = stamps(tmp_path)
    files[1].unlink()
    files[2].write_bytes(files[2].read_bytes()[:-9])
    shutil.copy(files[0], files[4])
    finished = run_sweep(CELLS, tmp_path)
    assert (len(finished.rows), finished.done_before) == (5, 2)
    after = stamps(tmp_path)
    assert [before[files[i].name] == after[files[i].name] for i in range(4)] == [1, 0, 0, 1]
    assert load_model(files[4]).about["config"]["first_seed"] == 4


def test_a_failing_cell_is_reported_and_the_rest_finish(tmp_path, capsys, as_users_run_it):
    file = tmp_path / "wild.toml"
    wild = TEXT.replace("0.1]", "1e30]").replace("steps = 30", 'steps = 60\noperator = "ball"')
    file.write_text(wild)
    out = tmp_path / "out"
    with pytest.raises(SystemExit, match="1"):
        main(["sweep", str(file), "--out", str(out), "--report", "--retries", "0"])
    failed = listing_of(out).failed
    assert {name_of(cell) for cell in read_sweep(file) if cell.rate > 1} == failed.keys()
    assert [row["rate"] for row in table(out)] == [0.03, 0.03]
    printed = capsys.readouterr().out
    page = (out / "report.html").read_text()
    assert "finished 2 of 4 cells" in printed
    for reason in failed.values():
        assert reason.startswith("TrainingDiverged: the loss became nan or inf")
        assert reason[:30] in printed
        assert reason[:30] in page
    assert run_sweep(read_sweep(file)[:2], out).failed == listing_of(out).failed == {}


@pytest.mark.slow
def test_operations_are_counted_as_by_hand_and_by_xla():
    def loop(x):
        return jax.lax.scan(lambda c, _: (c @ c, None), x, None, 7)[0]

    def unbounded(x):
        return jax.lax.while_loop(lambda y: y < 1, lambda y: y + 1, x)

    def network(x):
        return jax.numpy.tanh(x @ x).sum()

    square = jax.ShapeDtypeStruct((64, 64), "float32")
    assert operations(loop, square) == 7 * 2 * 64**3
    assert operations(unbounded, 0.0) is None
    gradient = jax.value_and_grad(network)
    theirs = jax.jit(gradient).lower(square).compile().cost_analysis()["flops"]
    assert operations(gradient, square) == pytest.approx(theirs, rel=0.1)
