"""Training in a folder: what it leaves behind, what it refuses, and that an interruption changes no bit."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest
from safetensors import safe_open

from regrax import training
from regrax.attention import LinearAttention
from regrax.checkpoints import load_model, save_model
from regrax.cli import main
from regrax.experiments import Store
from regrax.experiments.runs import TrainConfig, measure, train

QUICK_RUN = TrainConfig("linear", actions=2, horizon=5, steps=40, batch=64, seeds=2, sequences=200)
COMMAND = ["train", "--model", "linear", "--actions", "2", "--horizon", "5"]


def parameters(folder, seeds=2):
    """The bits of every model, not the seconds that its file tells, too."""
    return [load_model(folder / f"seed-{i}").about["sha256"] for i in range(seeds)]


def lines(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    train(QUICK_RUN, folder)
    return folder


def test_a_run_leaves_models_settings_and_metrics(whole):
    names = {
        ".regrax.lock",
        "training.json",
        "metrics.jsonl",
        "seed-0.safetensors",
        "seed-1.safetensors",
    }
    assert {path.name for path in whole.iterdir()} == names
    assert [line["step"] for line in lines(whole)] == list(range(1, 41))
    assert len(lines(whole)[0]["loss"]) == 2
    about = load_model(whole / "seed-1").about
    assert about["config"]["horizon"] == 5
    assert about["seconds"] > 0


@pytest.mark.parametrize("step", [1, 17, 40])
@pytest.mark.parametrize("save_every", [0.0, 1e9], ids=["often", "never"])
def test_an_interruption_changes_no_bit(whole, tmp_path, step, save_every):
    def stop(progress):
        if progress.done == step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(QUICK_RUN, tmp_path, on_progress=stop, save_every=save_every)
    (tmp_path / ".state.safetensors.1.regrax.tmp").write_bytes(
        b"left by a process killed while writing"
    )
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 4')
    train(QUICK_RUN, tmp_path)
    assert parameters(tmp_path) == parameters(whole)
    assert [line["step"] for line in lines(tmp_path)] == list(range(1, 41))
    assert not [*tmp_path.glob("state*"), *tmp_path.glob(".*.tmp")]


def test_seeds_do_not_depend_on_each_other(whole, tmp_path):
    one = TrainConfig(**{**QUICK_RUN.__dict__, "seeds": 1, "first_seed": 1})
    (alone,) = train(one, tmp_path)
    together = load_model(whole / "seed-1").model
    np.testing.assert_allclose(alone.model.values, together.values, rtol=1e-5)


@pytest.mark.parametrize(
    ("changes", "counts"),
    [
        ({}, (10_000, 4096)),
        ({"steps": 2, "batch": 64}, (128, 128)),
        ({"steps": 1, "batch": 1}, (2, 2)),
        ({"steps": 2, "batch": 64, "sequences": 500}, (500, 500)),
    ],
)
def test_a_short_training_is_measured_on_as_many_sequences_as_it_drew(monkeypatch, changes, counts):
    asked = []
    for name, found in (
        ("evaluate", training.Evaluation(1.0, 0.1, 1.0)),
        ("fit_step_size", training.StepFit(*[0.0] * 5)),
    ):
        monkeypatch.setattr(
            f"regrax.experiments.runs._measure.{name}",
            lambda *_, sequences, found=found, **__: asked.append(sequences) or found,
        )
    measure(LinearAttention.hedge(2, 0.3), TrainConfig("linear", 2, 5, **changes))
    assert tuple(asked) == counts


def test_a_finished_run_is_read_not_repeated(whole):
    before = (whole / "seed-0.safetensors").stat().st_mtime_ns
    told = []
    models = train(QUICK_RUN, whole, on_progress=told.append)
    assert not told
    assert (whole / "seed-0.safetensors").stat().st_mtime_ns == before
    assert len(models) == 2


def test_other_settings_are_refused(whole):
    other = TrainConfig(**{**QUICK_RUN.__dict__, "horizon": 6})
    with pytest.raises(ValueError, match="holds a training with horizon = 5, but 6 was asked for"):
        train(other, whole)


def test_a_copied_or_foreign_model_is_refused(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "run")
    shutil.copy(whole / "seed-0.safetensors", tmp_path / "run" / "seed-1.safetensors")
    with pytest.raises(ValueError, match=r"seed-1.* holds a model with first_seed = 0, but 1 was"):
        train(QUICK_RUN, tmp_path / "run")
    save_model(tmp_path / "run" / "seed-1", LinearAttention.hedge(2, 0.5))
    with pytest.raises(ValueError, match=r"seed-1.* must hold a model that was trained here"):
        train(QUICK_RUN, tmp_path / "run")


def test_a_second_process_in_the_folder_is_refused(whole):
    with Store(whole).held(), pytest.raises(ValueError, match="another process is at work in"):
        train(QUICK_RUN, whole)
    assert len(train(QUICK_RUN, whole)) == 2


def test_a_damaged_state_is_refused(tmp_path):
    def stop(progress):
        if progress.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(QUICK_RUN, tmp_path, on_progress=stop, save_every=0.0)
    (state,) = tmp_path.glob("state.safetensors")
    state.write_bytes(state.read_bytes()[:-1] + b"!")
    with pytest.raises(ValueError, match=r"state\.safetensors is damaged"):
        train(QUICK_RUN, tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"actions": 0}, "actions must be an integer >= 2, got 0"),
        ({"seeds": 0}, "seeds must be an integer >= 1, got 0"),
        ({"rate": -1.0}, "rate must be above 0, got -1"),
        ({"objective": "swap"}, "the linear model takes the objectives regret, .* got swap"),
        ({"model": "swap", "objective": "regret"}, "the swap model takes the objectives swap, swap-closed"),
        ({"model": "swap", "operator": "ball"}, "operator must be softmax for the swap model"),
        ({"distribution": "gausian"}, "unknown distribution 'gausian'; did you mean gaussian"),
        ({"distribution": "cauchy(1)"}, "there are gaussian, biased-gaussian"),
        ({"model": "swap", "distribution": "laplace"}, "swap draws Gaussian blocks"),
        ({"feedback": "never"}, "unknown feedback 'never'"),
        ({"objective": "hindsight", "feedback": "bandit"}, "feedback belongs to the objective regret"),
        ({"objective": "hindsight", "distribution": "laplace"}, "Gaussian"),
        ({"surrogate": "cube"}, "cube"),
        ({"model": "transformer", "width": 30}, "width must be a multiple of heads = 4"),
    ],
)  # fmt: skip
def test_settings_that_do_not_go_together_are_refused(changes, message, as_users_run_it):
    with pytest.raises(ValueError, match=message):
        TrainConfig(**{**QUICK_RUN.__dict__, **changes})


@pytest.mark.slow
def test_the_command_prints_the_measures_of_each_seed(
    tmp_path, capsys, as_users_run_it, monkeypatch
):
    monkeypatch.setattr(training, "evaluate", partial(training.evaluate, sequences=2000))
    out = tmp_path / "run"
    small = [*COMMAND, "--steps", "60", "--batch", "256", "--out", str(out), "--json"]
    main(small)
    (row,) = json.loads(capsys.readouterr().out)["seeds"]
    measured = {"loss", "loss_error", "optimal_loss", "step_size", "total_variation"}
    assert set(row) == {"seed", *measured, "seconds"}
    assert row["loss"] > row["optimal_loss"] > row["loss_error"] > 0
    with pytest.raises(SystemExit, match="2"):
        main(small)
    assert "holds a training already: --resume goes on" in capsys.readouterr().err
    main([*small, "--resume"])
    assert json.loads(capsys.readouterr().out)["seeds"] == [row]
    game = ["play", "coordination", "--rounds", "5", "--json"]
    main([*game, "--learners", f'checkpoint("{out}/seed-0")'])
    assert json.loads(capsys.readouterr().out)["learners"] == [f'checkpoint("{out}/seed-0")'] * 2


def test_a_divergence_says_so_and_keeps_the_last_good_state(tmp_path, capsys, as_users_run_it):
    many = [*COMMAND, "--operator", "ball", "--steps", "400", "--batch", "64", "--rate", "1e30"]
    with pytest.raises(SystemExit, match="2"):
        main([*many, "--out", str(tmp_path / "run")])
    assert "the loss must be finite, got nan or inf at step" in capsys.readouterr().err
    assert (tmp_path / "run" / "state.safetensors").exists()


def started(out):
    """The command as a process of its own, saving its state at every report."""
    more = ["--steps", "1000", "--batch", "1024", "--save-every", "0", "--json", "--out", str(out)]
    command = [sys.executable, "-m", "regrax", *COMMAND, *more]
    return subprocess.Popen(
        [*command, *(["--resume"] if out.exists() else [])],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.slow
def test_kill_9_in_the_middle_then_resume_gives_the_same_bits(tmp_path):
    out = tmp_path / "killed"
    process = started(out)
    wait_for(lambda: (out / "state.safetensors").exists(), process)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    with safe_open(out / "state.safetensors", "np") as held:
        kept = json.loads(held.metadata()["regrax"])["step"]
    assert 0 < kept < 1000
    for folder in (out, tmp_path / "whole"):
        finished = started(folder)
        _, errors = finished.communicate(timeout=300)
        assert finished.returncode == 0, errors.decode()
    assert parameters(out, 1) == parameters(tmp_path / "whole", 1)


def wait_for(condition, process, seconds=120):
    limit = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, "the process ended before it could be killed"
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_a_state_of_an_earlier_version_is_refused_by_name(tmp_path):
    config = TrainConfig("linear", actions=2, horizon=4, steps=40, batch=16, sequences=100)

    def stop(progress):
        if progress.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path, on_progress=stop, save_every=0.0)
    file = tmp_path / "state.safetensors"
    file.write_bytes(file.read_bytes().replace(b'layout\\": 2', b'layout\\": 1'))
    with pytest.raises(
        ValueError, match=r"was written by regrax 0\.1\.0, and later versions cannot"
    ):
        train(config, tmp_path)
