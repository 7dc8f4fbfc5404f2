"""Training in a folder: the files, the errors, and that an interruption changes no bit."""

import json
import shutil
import subprocess
import sys
import time
from dataclasses import replace

import jax
import numpy as np
import pytest
from safetensors import safe_open

from regrax.attention import LinearAttention
from regrax.checkpoints import load_model, save_model
from regrax.cli import main
from regrax.experiments.runs import TrainConfig, measure, train

QUICK = TrainConfig("linear", actions=2, horizon=5, steps=40, batch=64, seeds=2, sequences=200)
COMMAND = ["train", "--model", "linear", "--actions", "2", "--horizon", "5"]


def parameters(folder, seeds=2):
    """Return a hash of the parameters of every model."""
    return [load_model(folder / f"seed-{i}").about["sha256"] for i in range(seeds)]


def metrics(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def interrupt_at(config, folder, step, save_every=0.0):
    def stop(progress):
        if progress.done == step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config, folder, on_progress=stop, save_every=save_every)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    train(QUICK, folder)
    return folder


def test_a_run_writes_models_settings_and_metrics_once(whole):
    names = {".regrax.lock", "training.json", "metrics.jsonl"}
    models = {"seed-0.safetensors", "seed-1.safetensors"}
    assert {path.name for path in whole.iterdir()} == names | models
    assert [line["step"] for line in metrics(whole)] == list(range(1, 41))
    assert len(metrics(whole)[0]["loss"]) == 2
    about = load_model(whole / "seed-1").about
    assert about["config"]["horizon"] == 5
    before = (whole / "seed-0.safetensors").stat().st_mtime_ns
    reports = []
    models = train(QUICK, whole, on_progress=reports.append)
    assert [model.seconds for model in models] == [about["seconds"]] * 2
    assert about["seconds"] > 0
    assert not reports
    with pytest.raises(ValueError, match="already contains a run: add --resume to continue it"):
        train(QUICK, whole, resume=False)
    assert (whole / "seed-0.safetensors").stat().st_mtime_ns == before


@pytest.mark.parametrize("step", [1, 17, 40])
@pytest.mark.parametrize("save_every", [0.0, 1e9], ids=["often", "never"])
def test_an_interruption_changes_no_bit(whole, tmp_path, step, save_every):
    interrupt_at(QUICK, tmp_path, step, save_every)
    (tmp_path / ".state.safetensors.1.regrax.tmp").write_bytes(b"left by a killed process")
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 4')
    train(QUICK, tmp_path)
    assert parameters(tmp_path) == parameters(whole)
    assert [line["step"] for line in metrics(tmp_path)] == list(range(1, 41))
    assert not [*tmp_path.glob("state*"), *tmp_path.glob(".*.tmp")]


def test_a_single_seed_resumes_to_the_bits_of_a_whole_run(whole, tmp_path):
    config = replace(QUICK, seeds=1, first_seed=1)
    (alone,) = train(config, tmp_path / "whole")
    together = load_model(whole / "seed-1").model
    np.testing.assert_allclose(alone.model.values, together.values, rtol=1e-5)
    interrupt_at(config, tmp_path / "cut", 17)
    (resumed,) = train(config, tmp_path / "cut")
    np.testing.assert_array_equal(resumed.model.values, alone.model.values)


@pytest.mark.parametrize(
    ("steps", "batch", "sequences"), [(2, 64, 128), (1, 1, 2), (157, 64, 10_000)]
)
def test_a_model_is_measured_on_as_many_losses_as_it_saw(steps, batch, sequences):
    config = TrainConfig("linear", 2, 5, steps=steps, batch=batch)
    model = LinearAttention(2, key=jax.random.key(0))
    assert measure(model, config) == measure(model, replace(config, sequences=sequences))


def test_a_model_of_another_run_raises_an_error(whole, tmp_path):
    with pytest.raises(ValueError, match="contains a run with horizon = 5, got 6: choose another"):
        train(replace(QUICK, horizon=6), whole)
    shutil.copytree(whole, tmp_path / "run")
    shutil.copy(whole / "seed-0.safetensors", tmp_path / "run" / "seed-1.safetensors")
    with pytest.raises(
        ValueError, match=r"seed-1.* must contain a model with first_seed = 1, got 0"
    ):
        train(QUICK, tmp_path / "run")
    save_model(tmp_path / "run" / "seed-1", LinearAttention.hedge(2, 0.5))
    with pytest.raises(ValueError, match=r"seed-1.* must be a checkpoint from a training run"):
        train(QUICK, tmp_path / "run")


def test_a_damaged_or_earlier_state_raises_an_error(tmp_path):
    interrupt_at(QUICK, tmp_path, 1)
    state = tmp_path / "state.safetensors"
    data = state.read_bytes()
    state.write_bytes(data[:-1] + b"!")
    with pytest.raises(ValueError, match=r"state\.safetensors is damaged"):
        train(QUICK, tmp_path)
    state.write_bytes(data.replace(b'layout\\": 2', b'layout\\": 1'))
    with pytest.raises(ValueError, match=r"was written by regrax 0\.1\.0 and cannot be resumed"):
        train(QUICK, tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"actions": 0}, "actions must be an integer >= 2, got 0"),
        ({"seeds": 0}, "seeds must be an integer >= 1, got 0"),
        ({"rate": -1.0}, "rate must be above 0, got -1"),
        ({"objective": "swap"}, "objective of the linear model must be regret, .* got swap"),
        ({"model": "swap", "objective": "regret"}, "objective of the swap model must be swap, swap-closed"),
        ({"model": "swap", "operator": "ball"}, "operator must be softmax for the swap model"),
        ({"distribution": "gausian"}, "unknown distribution 'gausian'; did you mean gaussian"),
        ({"distribution": "cauchy(1)"}, "unknown distribution 'cauchy'"),
        ({"model": "swap", "distribution": "laplace"}, "distribution must be gaussian for the objective swap"),
        ({"feedback": "never"}, "unknown feedback 'never'"),
        ({"objective": "hindsight", "feedback": "bandit"}, "feedback needs the objective regret"),
        ({"surrogate": "cube"}, "surrogate must be one of square, .* got 'cube'"),
    ],
)  # fmt: skip
def test_bad_settings_raise_an_error(changes, message, as_users_run_it):
    with pytest.raises(ValueError, match=message):
        replace(QUICK, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"objective": "hindsight", "distribution": "laplace"}, "Gaussian"),
        ({"model": "transformer", "width": 30}, "width must be a multiple of heads = 4"),
        ({"actions": 10_000, "horizon": 1_000_000}, "this training takes .* GB of memory"),
    ],
)
def test_settings_that_cannot_be_trained_leave_no_folder(changes, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        train(replace(QUICK, **changes), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_divergence_saves_the_last_good_state(tmp_path, capsys, as_users_run_it):
    many = [*COMMAND, "--operator", "ball", "--steps", "400", "--batch", "64", "--rate", "1e30"]
    with pytest.raises(SystemExit, match="2"):
        main([*many, "--out", str(tmp_path / "run")])
    assert "the loss became nan or inf at step" in capsys.readouterr().err
    assert (tmp_path / "run" / "state.safetensors").exists()


@pytest.mark.slow
def test_kill_9_then_resume_gives_the_same_bits(tmp_path):
    command = [sys.executable, "-m", "regrax", *COMMAND, "--steps", "1000", "--batch", "1024"]
    command += ["--save-every", "0", "--resume", "--out"]
    out = tmp_path / "killed"
    with subprocess.Popen([*command, str(out)]) as process:
        while not (out / "state.safetensors").exists():
            assert process.poll() is None, "the process ended before it could be killed"
            time.sleep(0.01)
        process.kill()
    with safe_open(out / "state.safetensors", "np") as file:
        step = json.loads(file.metadata()["regrax"])["step"]
    assert 0 < step < 1000
    for folder in (out, tmp_path / "whole"):
        subprocess.run([*command, str(folder)], timeout=300, check=True)
    assert parameters(out, 1) == parameters(tmp_path / "whole", 1)
