"""Models on disk: they load as they were saved, and any other file raises an error with the reason."""

import json
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load, save

from regrax.attention import MODELS, LinearAttention, SwapAttention, Transformer
from regrax.checkpoints import Checkpoint, load_model, save_model
from regrax.cli import main
from regrax.experiments.sweep import rows_of
from regrax.games import play, weighted_rps
from regrax.learners import Agent, rollout
from regrax.specs import import_own, parse_learner

KEY = jax.random.key(0)
OLD_FILES = sorted((Path(__file__).parent / "data").glob("*-88700cf.safetensors"))


@pytest.mark.parametrize("file", OLD_FILES, ids=lambda file: file.stem)
def test_files_of_an_earlier_version_play_as_they_did(file):
    """The files of commit 88700cf hold a model, losses, and the policies that it played on them."""
    assert len(OLD_FILES) == 5
    model, about = load_model(file)
    played = rollout(model, np.array(about["losses"], np.float32))
    np.testing.assert_allclose(played, about["policies"], rtol=1e-5, atol=1e-6)


def test_a_model_loads_with_or_without_the_suffix(tmp_path):
    model = Transformer(3, key=KEY, layers=1, heads=2, width=4, hidden=6)
    save_model(tmp_path / "m", model, seed=3)
    for name in ("m", "m.safetensors"):
        saved = load_model(tmp_path / name)
        assert eqx.tree_equal(saved.model, model)
        assert saved.about["seed"] == 3
    assert [path.name for path in tmp_path.iterdir()] == ["m.safetensors"]


def test_a_learner_is_saved_as_its_spec(tmp_path):
    save_model(tmp_path / "nested", parse_learner("blum_mansour(hedge(0.3))"))
    assert str(load_model(tmp_path / "nested").model) == "blum_mansour(hedge(0.3))"


def test_parameters_load_in_the_default_precision(tmp_path, x64):
    with jax.enable_x64(False):
        save_model(tmp_path / "m", LinearAttention(3, key=KEY))
    assert load_model(tmp_path / "m").model.values.dtype == np.float64


def test_a_checkpoint_plays_and_prints_its_spec(tmp_path):
    save_model(tmp_path / "m", SwapAttention.hedge(3, 0.4))
    learner = Checkpoint(f"{tmp_path}/m", calibrated=True)
    assert str(learner) == f'checkpoint("{tmp_path}/m", calibrated=true)'
    played = play(weighted_rps(), learner, rounds=5)
    expected = play(weighted_rps(), SwapAttention.hedge(3, 0.4).calibrated(), rounds=5)
    np.testing.assert_array_equal(played.joint, expected.joint)


PROJECTED = LinearAttention(3, key=KEY, operator="ball", projection=jnp.tanh)


@pytest.mark.parametrize(
    ("path", "model", "message"),
    [
        (3, PROJECTED, "path must be a path, got 3"),
        ("m", 3, "model must be a trained model or a learner, got 3"),
        ("m", PROJECTED, "cannot be saved: its projection is a Python function"),
        ("m", Agent(lambda losses: [1.0, 0.0]), r"cannot be saved: .*specs.register"),
    ],
)
def test_save_model_rejects_wrong_arguments(as_users_run_it, tmp_path, path, model, message):
    with pytest.raises(ValueError, match=message):
        save_model(path if path == 3 else tmp_path / path, model)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def saved(tmp_path):
    save_model(tmp_path / "m", LinearAttention(3, key=KEY))
    return tmp_path / "m.safetensors"


def edited(data, file, **changes):
    """The same arrays under a changed header."""
    with safe_open(file, "np") as opened:
        about = json.loads(opened.metadata()["regrax"]) | changes
    return save(load(data), {"regrax": json.dumps(about)})


def with_huge_array(data):
    """The file with an array in its table that is not there."""
    size = 8 + int.from_bytes(data[:8], "little")
    huge = {"dtype": "F32", "shape": [10**12], "data_offsets": [0, 4 * 10**12]}
    text = json.dumps(json.loads(data[8:size]) | {"more": huge}).encode()
    return len(text).to_bytes(8, "little") + text + data[size:]


def test_a_damaged_or_foreign_file_is_rejected(saved, as_users_run_it):
    data = saved.read_bytes()
    for other in (data[:-5], data[:40], b"", with_huge_array(data), save(load(data))):
        saved.write_bytes(other)
        with pytest.raises(ValueError, match=r"m\.safetensors is damaged or is not a regrax check"):
            load_model(saved)
    saved.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ValueError, match="checksum does not match"):
        load_model(saved)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "regrax checkpoint 9"}, "format .*, got 'regrax checkpoint 9'"),
        ({"model": "mamba"}, "must contain one of linear_attention, full_linear.*, got 'mamba'"),
        ({"model": []}, r"must contain one of .*got \[\]"),
        ({"settings": {"actions": 3, "layers": 2}}, "invalid settings for a linear_.*: .*layers"),
        ({"settings": {"actions": 0}}, "actions must be an integer >= 1, got 0"),
        ({"model": "transformer", "settings": {"layers": 10**9}}, "layers = 1000000000, but its"),
        ({"settings": {"actions": 2}}, r"bias must have shape \(2,\), got \(3,\)"),
        ({"model": "swap_attention", "settings": {"actions": 3}}, r"bias must have shape \(3, 3\)"),
    ],
)
def test_a_header_that_does_not_fit_is_rejected(saved, changes, message, as_users_run_it):
    saved.write_bytes(edited(saved.read_bytes(), saved, **changes))
    with pytest.raises(ValueError, match=message):
        load_model(saved)


def test_a_checkpoint_rejects_wrong_arguments(saved, as_users_run_it):
    for arguments, error, message in (
        ((3,), ValueError, "checkpoint takes a path in quotes"),
        ((str(saved), 1), ValueError, "calibrated=true or false"),
        ((str(saved), True), ValueError, r"requires a swap.* is linear_attention\(3\)"),
        ((f"{saved.parent}/nothing",), FileNotFoundError, r"nothing\.safetensors"),
    ):
        with pytest.raises(error, match=message):
            Checkpoint(*arguments)


OWN = '''
import equinox as eqx, jax, jax.numpy as jnp
from regrax.attention import TrainableLearner
from regrax.learners import Hedge
from regrax.specs import register

class Scaled(TrainableLearner):
    name = "scaled"
    scale: jax.Array
    d: int = eqx.field(static=True)
    layers: int = eqx.field(static=True)

    def __init__(self, actions, *, key, layers=1):
        self.scale = 0.1 + 0 * jax.random.normal(key)
        self.d = actions
        self.layers = layers

    @property
    def actions(self):
        return self.d

    @property
    def settings(self):
        return {"actions": self.actions, "layers": self.layers}

    def init(self, actions, rounds=None, *, key=None):
        return jnp.zeros(actions)

    def policy(self, state):
        return jax.nn.softmax(-self.scale * state)

    def update(self, state, feedback):
        return state + feedback

@register("learner")
class Doubled(Hedge):
    """Hedge under another name."""
'''


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    (tmp_path / "own_models.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    yield "own_models"
    MODELS.pop("scaled", None)
    sys.modules.pop("own_models", None)


def test_own_models_load_with_the_module_of_the_caller(own_module, tmp_path):
    with pytest.raises(ValueError, match="the module no_such cannot be imported"):
        load_model(tmp_path / "m", "no_such")
    save_model(tmp_path / "known", SwapAttention.hedge(3, 0.4))
    import_own(own_module)
    model = MODELS["scaled"](3, key=KEY)
    save_model(tmp_path / "m", model)
    save_model(tmp_path / "learner", parse_learner("doubled(0.5)"))
    MODELS.pop("scaled")
    sys.modules.pop(own_module)
    with pytest.raises(ValueError, match=r"must contain one of linear_.*got 'scaled'"):
        load_model(tmp_path / "m")
    assert float(load_model(tmp_path / "m", own_module).model.scale) == float(model.scale)
    losses = np.array([[1.0, 0.0], [0.0, 0.5], [1.0, 1.0]], np.float32)
    learner = Checkpoint(str(tmp_path / "learner"), module=own_module)
    np.testing.assert_array_equal(rollout(learner, losses), rollout("hedge(0.5)", losses))
    assert str(learner) == f'checkpoint("{tmp_path}/learner", module="own_models")'


@pytest.mark.slow
def test_own_models_are_swept(own_module, tmp_path, as_users_run_it):
    (tmp_path / "grid.toml").write_text(
        'model = ["scaled", "linear"]\nactions = 2\nhorizon = 5\nsteps = 4\nbatch = 8\nsequences = 20'
    )
    for _ in range(2):
        main(["sweep", "grid.toml", "--module", own_module])
    rows = rows_of(tmp_path / "out/grid")
    assert [row.config.model for row in rows] == ["scaled", "linear"]
    assert load_model(rows[0].checkpoint, own_module).model.actions == 2
