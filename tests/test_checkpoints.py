"""Models on disk: they come back as they were, and anything else is refused with the reason."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load, save

from regrax.attention import LinearAttention, SwapAttention, Transformer
from regrax.checkpoints import Checkpoint, load_model, save_model
from regrax.cli.inputs import read_learner
from regrax.games import play, weighted_rps

KEY = jax.random.key(0)


def test_arguments_of_save_model_in_another_order_teach(as_users_run_it, tmp_path):
    model = LinearAttention.hedge(2, 0.5)
    with pytest.raises(ValueError, match="path must be a path, got LinearAttention"):
        save_model(model, tmp_path / "model")
    with pytest.raises(ValueError, match="model must be a trained model, got 3"):
        save_model(tmp_path / "model", 3)


@pytest.mark.slow
def test_a_model_is_found_by_any_of_its_names(tmp_path):
    model = Transformer(3, key=KEY, layers=2, heads=2, width=8, hidden=12)
    save_model(tmp_path / "m", model, seed=3)
    for name in ("m", "m.safetensors"):
        saved = load_model(tmp_path / name)
        assert eqx.tree_equal(saved.model, model)
        assert saved.about["seed"] == 3
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.safetensors"]


def test_parameters_come_in_the_precision_of_the_day(tmp_path, x64):
    with jax.enable_x64(False):
        save_model(tmp_path / "m", LinearAttention(3, key=KEY))
    assert load_model(tmp_path / "m").model.values.dtype == np.float64


def test_a_checkpoint_takes_a_seat_and_prints_its_spec(tmp_path):
    save_model(tmp_path / "m", SwapAttention.hedge(3, 0.4))
    text = f'checkpoint("{tmp_path}/m", calibrated=true)'
    learner = read_learner(text)
    assert str(learner) == text
    seated = play(weighted_rps(), learner, rounds=5)
    expected = play(weighted_rps(), SwapAttention.hedge(3, 0.4).calibrated(), rounds=5)
    np.testing.assert_array_equal(seated.joint, expected.joint)
    assert eqx.tree_equal(read_learner(text), learner)


def test_a_ball_model_is_refused_a_seat(tmp_path, as_users_run_it):
    save_model(tmp_path / "m", LinearAttention(3, key=KEY, operator="ball"))
    with pytest.raises(ValueError, match=r"simplex, but checkpoint.* plays on the ball"):
        play(weighted_rps(), Checkpoint(str(tmp_path / "m")), rounds=5)


def test_a_projection_of_ones_own_is_not_written(tmp_path):
    own = LinearAttention(3, key=KEY, operator="ball", projection=jnp.tanh)
    with pytest.raises(ValueError, match="a function, which cannot be written down"):
        save_model(tmp_path / "m", own)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def saved(tmp_path):
    save_model(tmp_path / "m", LinearAttention(3, key=KEY))
    return tmp_path / "m"


def damaged(saved, change):
    file = saved.with_suffix(".safetensors")
    file.write_bytes(change(file.read_bytes()))
    return saved


def edited(saved, **changes):
    """The same arrays under another description."""

    def change(data):
        with safe_open(saved.with_suffix(".safetensors"), "np") as held:
            about = json.loads(held.metadata()["regrax"]) | changes
        return save(load(data), {"regrax": json.dumps(about)})

    return damaged(saved, change)


def header(data, **changes):
    """The file with another header."""
    size = 8 + int.from_bytes(data[:8], "little")
    text = json.dumps(json.loads(data[8:size]) | changes).encode()
    return len(text).to_bytes(8, "little") + text + data[size:]


def paired(saved):
    """Two files, as they once were."""
    saved.with_suffix(".json").write_text('{"format": "regrax checkpoint 1"}')
    return damaged(saved, lambda b: save(load(b)))


HUGE = {"dtype": "F32", "shape": [10**12], "data_offsets": [0, 4 * 10**12]}
BROKEN = {
    "flipped bit": (
        lambda s: damaged(s, lambda b: b[:-1] + bytes([b[-1] ^ 1])),
        r"m\.safetensors is damaged: its checksum is not",
    ),
    "cut short": (
        lambda s: damaged(s, lambda b: b[:-5]),
        r"m\.safetensors is damaged: it must have \d+ bytes, got \d+",
    ),
    "cut in the header": (lambda s: damaged(s, lambda b: b[:40]), r"m\.safetensors is damaged"),
    "empty": (lambda s: damaged(s, lambda b: b""), r"m\.safetensors is damaged"),
    "not safetensors": (
        lambda s: damaged(s, lambda b: b"\xff" * 100),
        r"m\.safetensors is damaged, or no safetensors file",
    ),
    "a header of sizes that are not there": (
        lambda s: damaged(s, lambda b: header(b, more=HUGE)),
        r"it must have 40000\d+ bytes, got \d+",
    ),
    "foreign": (
        lambda s: damaged(s, lambda b: save(load(b))),
        r"m\.safetensors must be of the format 'regrax checkpoint 2', got 'None'",
    ),
    "a pair of files from before": (paired, r"are a pair of files as regrax once wrote.* train it"),
    "other format": (
        lambda s: edited(s, format="regrax checkpoint 9"),
        r"got 'regrax checkpoint 9'",
    ),
    "unknown model": (
        lambda s: edited(s, model="mamba"),
        r"must describe one of linear_attention, full_linear.*, got 'mamba'",
    ),
    "a model that is no name": (lambda s: edited(s, model=[]), r"must describe one of .*got \[\]"),
    "settings of another": (
        lambda s: edited(s, settings={"actions": 3, "layers": 2}),
        r"settings that do not make a linear_attention: .*layers",
    ),
    "settings that make nothing": (
        lambda s: edited(s, settings={"actions": 0}),
        r"do not make a linear_attention: actions must be an integer >= 1, got 0",
    ),
    "settings beyond the file": (
        lambda s: edited(s, model="transformer", settings={"actions": 3, "layers": 10**9}),
        r"layers = 1000000000, but nothing in it is larger than 3",
    ),
    "other shape": (
        lambda s: edited(s, settings={"actions": 2}),
        r"does not fit its description: bias must have shape \(2,\), got \(3,\)",
    ),
    "other model": (
        lambda s: edited(s, model="swap_attention", settings={"actions": 3}),
        r"does not fit its description: bias must have shape \(3, 3\), got \(3,\)",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_damaged_or_foreign_checkpoint_is_refused(saved, name, as_users_run_it):
    damage, message = BROKEN[name]
    with pytest.raises(ValueError, match=message):
        load_model(damage(saved))


def test_a_missing_checkpoint_says_which_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.safetensors"):
        load_model(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("checkpoint(3)", "checkpoint takes a path in quotes"),
        ('checkpoint("{}", calibrated=1)', "calibrated=true or false"),
        ('checkpoint("{}", calibrated=true)', r"only the swap .* holds linear_attention\(3\)"),
    ],
)
def test_a_bad_spec_of_a_checkpoint_is_refused(saved, text, message, as_users_run_it):
    with pytest.raises(ValueError, match=message):
        read_learner(text.format(saved))
