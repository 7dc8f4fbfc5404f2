"""Running a sweep: real numbers, kept cell by cell, each once; failures tried again and told; nothing repeated."""

import csv
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

import regrax
from regrax import theory
from regrax.attention import LinearAttention
from regrax.checkpoints import load_model
from regrax.cli import main
from regrax.experiments import Store
from regrax.experiments._pool import run_checked
from regrax.experiments.runs import Measured, TrainConfig, Trained, train
from regrax.experiments.sweep import (
    _run as run,
    completed,
    listing_of,
    read_sweep,
    run_sweep,
    table,
)
from regrax.experiments.sweep._cells import name_of
from regrax.experiments.sweep._operations import operations
from regrax.experiments.sweep._train import work

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
QUICK_CELL = completed(TrainConfig("linear", 2, 5, steps=10, batch=64, sequences=200))
CELLS = [replace(QUICK_CELL, first_seed=seed) for seed in range(5)]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("grid") / "small.toml"
    path.write_text(TEXT)
    return path


@pytest.fixture(scope="module")
def compiled():
    """What jax says of its compilations while `whole` is made."""
    return []


@pytest.fixture(scope="module")
def whole(file, compiled):
    """A sweep run for real."""
    folder, listener = file.parent / "whole", logging.Handler()
    listener.emit = lambda record: compiled.append(record.getMessage())
    logging.getLogger("jax").addHandler(listener)
    jax.config.update("jax_log_compiles", True)
    run_sweep(read_sweep(file), folder)
    jax.config.update("jax_log_compiles", False)
    logging.getLogger("jax").removeHandler(listener)
    return folder


@pytest.fixture
def fake(monkeypatch):
    """Cells that train in no time, unless told to fail: by seed, how often; every batch is recorded."""
    calls, failing = [], {}

    def quick(cells, tell=lambda _: None):
        calls.append([cell.first_seed for cell in cells])
        for cell in cells:
            if failing.get(cell.first_seed, 0) > 0:
                failing[cell.first_seed] -= 1
                raise ArithmeticError(f"seed {cell.first_seed} would not train")
        tell(1.0)
        model = jax.tree.map(np.asarray, LinearAttention.hedge(2, 0.5))
        found = [Measured(1.0 + c.first_seed, 0.0, None, 0.5, 0.0, 0.0) for c in cells]
        return [Trained(model, one, 1.0) for one in found]

    monkeypatch.setattr(run, "work", quick)
    return calls, failing


def stamps(folder):
    return {path.name: path.stat().st_mtime_ns for path in (folder / "cells").iterdir()}


def test_the_numbers_are_those_of_train_and_of_theory(whole, tmp_path):
    rows = table(whole)
    assert [(row["rate"], row["seed"]) for row in rows] == [
        (0.03, 0),
        (0.03, 1),
        (0.1, 0),
        (0.1, 1),
    ]
    alone = TrainConfig("linear", 2, 5, steps=30, batch=64, rate=0.1, first_seed=1)
    (model,) = train(alone, tmp_path / "alone")
    mine = load_model(rows[3]["checkpoint"]).model
    np.testing.assert_allclose(mine.values, model.model.values, rtol=1e-4)
    for row in rows:
        assert row["exact_step"] == theory.step_size(2, 5)
        assert row["optimal_loss"] == theory.optimal_loss(2, 5)
        assert row["exact_step_loss"] == pytest.approx(theory.loss(row["exact_step"], 2, 5))
        assert row["loss"] > row["optimal_loss"]


def test_cells_of_one_shape_share_one_compilation(compiled, whole):
    assert sum("Finished XLA compilation of jit(_advance)" in line for line in compiled) == 1


def test_a_repeated_command_does_nothing_twice(whole, file, capsys, as_users_run_it):
    before = stamps(whole)
    main(["sweep", str(file), "--out", str(whole), "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert stamps(whole) == before
    assert printed["rows"] == table(whole)
    assert (printed["cells"], printed["finished"], printed["failed"]) == (4, 4, {})


def test_the_results_are_a_tidy_table_on_disk(whole):
    with (whole / "results.csv").open() as text:
        rows = list(csv.DictReader(text))
    assert [row["seed"] for row in rows] == ["0", "1", "0", "1"]
    assert [float(row["loss"]) for row in rows] == [row["loss"] for row in table(whole)]
    assert rows[0]["feedback"] == ""
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    assert parquet.read_table(whole / "results.parquet").to_pylist() == table(whole)


def test_a_folder_without_a_sweep_is_named(tmp_path):
    with pytest.raises(
        ValueError, match=r"must be the folder of a sweep, got one without sweep\.json"
    ):
        table(tmp_path)


def test_a_larger_grid_does_only_what_is_new(fake, tmp_path):
    calls, _ = fake
    run_sweep(CELLS[:2], tmp_path)
    finished = run_sweep(CELLS, tmp_path)
    assert calls == [[0, 1], [2, 3, 4]]
    assert finished.done_before == 2
    assert [row["seed"] for row in table(tmp_path)] == [0, 1, 2, 3, 4]
    run_sweep(CELLS[1:3], tmp_path)
    assert [row["seed"] for row in table(tmp_path)] == [1, 2]


@pytest.mark.parametrize("damage", ["lost", "cut"])
def test_a_damaged_cell_is_done_again(fake, tmp_path, damage):
    calls, _ = fake
    run_sweep(CELLS, tmp_path)
    file = tmp_path / "cells" / f"{name_of(CELLS[3])}.safetensors"
    file.unlink() if damage == "lost" else file.write_bytes(file.read_bytes()[:-9])
    assert len(run_sweep(CELLS, tmp_path).rows) == 5
    assert calls[1:] == [[3]]


def test_a_failing_cell_is_tried_again_alone_then_told_while_the_rest_go_on(fake, tmp_path):
    calls, failing = fake
    failing[2] = 99
    finished = run_sweep(CELLS, tmp_path, retries=2)
    assert [row.config.first_seed for row in finished.rows] == [0, 1, 3, 4]
    assert finished.failed == {name_of(CELLS[2]): "ArithmeticError: seed 2 would not train"}
    assert listing_of(tmp_path).failed == finished.failed
    assert calls.count([2]) == 2
    failing.clear()
    again = run_sweep(CELLS, tmp_path)
    assert calls[-1] == [2]
    assert (len(again.rows), again.failed, listing_of(tmp_path).failed) == (5, {}, {})


def test_a_cell_that_fails_once_is_saved_by_a_retry(fake, tmp_path):
    _, failing = fake
    failing[0] = 2
    assert run_sweep(CELLS[:1], tmp_path, retries=2).failed == {}
    failing[1] = 2
    assert list(run_sweep(CELLS[1:2], tmp_path, retries=1).failed) == [name_of(CELLS[1])]


def test_the_command_ends_with_1_if_a_cell_failed(fake, file, tmp_path, capsys, as_users_run_it):
    _, failing = fake
    failing[1] = 99
    with pytest.raises(SystemExit) as leaving:
        main(["sweep", str(file), "--out", str(tmp_path), "--report"])
    assert leaving.value.code == 1
    told = capsys.readouterr()
    assert "2 of 4 cells are finished" in told.out
    assert "seed 1 would not train" in told.out
    assert "would not train" in (tmp_path / "report.html").read_text()


def test_an_interruption_keeps_what_is_finished(fake, tmp_path):
    calls, _ = fake

    def stop(progress):
        if int(progress.note.split()[0]) >= 8:
            raise KeyboardInterrupt

    many = [replace(QUICK_CELL, first_seed=seed) for seed in range(24)]
    with pytest.raises(KeyboardInterrupt):
        run_sweep(many, tmp_path, on_progress=stop)
    kept = {row["seed"] for row in table(tmp_path)}
    assert len(kept) >= 8
    before = len(calls)
    assert len(run_sweep(many, tmp_path).rows) == 24
    assert not kept & {seed for batch in calls[before:] for seed in batch}


def test_progress_rises_to_all(fake, tmp_path):
    told = []
    run_sweep(CELLS, tmp_path, on_progress=told.append)
    assert [at.done for at in told] == sorted(at.done for at in told)
    assert told[-1] == ("sweep", 1.0, 1.0, "5 of 5 cells")


def test_two_commands_in_one_folder_are_refused(fake, tmp_path):
    with Store(tmp_path).held(), pytest.raises(ValueError, match="another process is at work in"):
        run_sweep(CELLS, tmp_path)
    assert len(run_sweep(CELLS, tmp_path).rows) == 5


def test_a_copied_cell_is_not_taken_for_another(fake, tmp_path):
    calls, _ = fake
    run_sweep(CELLS[:1], tmp_path)
    mine, other = (tmp_path / "cells" / f"{name_of(c)}.safetensors" for c in CELLS[:2])
    shutil.copy(mine, other)
    run_sweep(CELLS[:2], tmp_path)
    assert calls == [[0], [1]]


def test_a_worker_with_another_regrax_is_refused():
    with pytest.raises(RuntimeError, match=r"must have the regrax of the command, 0\.0\.0, got"):
        run_checked(work, CELLS[:1], "0.0.0")


@pytest.mark.slow
def test_a_divergence_fails_the_cell_and_not_its_neighbours(tmp_path):
    wild, tame = (
        completed(TrainConfig("linear", 2, 5, operator="ball", steps=60, batch=64, rate=rate))
        for rate in (1e30, 0.03)
    )
    finished = run_sweep([wild, tame], tmp_path, retries=0)
    assert [row.config.rate for row in finished.rows] == [0.03]
    assert "TrainingDiverged: the loss must be finite, got" in "".join(finished.failed.values())


@pytest.mark.slow
def test_operations_are_counted_as_by_hand_and_as_by_the_compiler():
    def loop(x):
        return jax.lax.scan(lambda c, _: (c @ c, None), x, None, 7)[0]

    square = jax.ShapeDtypeStruct((4, 4), "float32")
    assert operations(loop, square) == 7 * 2 * 4**3
    assert (
        operations(lambda x: jax.lax.while_loop(lambda y: y < 1, lambda y: y + 1, x), 0.0) is None
    )
    config = TrainConfig("transformer", 3, 20)
    model = config.build_models()
    objective = config.build_objective()
    data = objective.draw(64, key=jax.random.key(0))
    gradient = jax.value_and_grad(objective.loss)
    theirs = jax.jit(gradient).lower(model, data).cost_analysis()["flops"]
    assert operations(gradient, model, data) == pytest.approx(theirs, rel=0.1)


@pytest.mark.slow
def test_kill_9_in_the_middle_then_the_same_command_finishes(file, tmp_path):
    out = tmp_path / "killed"
    many = tmp_path / "many.toml"
    many.write_text(TEXT.replace("seeds = 2", "seeds = 40").replace("steps = 30", "steps = 400"))
    command = [sys.executable, "-m", "regrax", "sweep", str(many), "--out", str(out), "--json"]
    here = {**os.environ, "PYTHONPATH": str(Path(regrax.__file__).parents[1])}
    process = subprocess.Popen(command, env=here, stdout=subprocess.DEVNULL)
    limit = time.monotonic() + 120
    while len(list(out.glob("cells/*.safetensors"))) < 3:
        assert process.poll() is None
        assert time.monotonic() < limit
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    before = {name: at for name, at in stamps(out).items() if not name.startswith(".")}
    finished = subprocess.run(command, env=here, capture_output=True, timeout=300, check=True)
    assert json.loads(finished.stdout)["finished"] == 80
    assert before.items() <= stamps(out).items()
    # what the killed process had not finished lies below the folder, where nothing is removed
    assert all(left.match(f".*.{process.pid}.regrax.tmp") for left in out.glob("cells/.*"))
