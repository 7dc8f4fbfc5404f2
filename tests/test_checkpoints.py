"""Models on disk: they come back as they were, and anything else is refused with the reason."""

import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from regrax.attention import LinearAttention, SwapAttention, Transformer
from regrax.checkpoints import Checkpoint, load_model, save_model
from regrax.cli._text import read_learner
from regrax.games import play, weighted_rps

KEY = jax.random.key(0)


def test_a_model_is_found_by_any_of_its_names(tmp_path):
    model = Transformer(3, key=KEY, layers=2, heads=2, width=8, hidden=12)
    save_model(tmp_path / "m", model, seed=3)
    for name in ("m", "m.safetensors", "m.json"):
        saved = load_model(tmp_path / name)
        assert eqx.tree_equal(saved.model, model)
        assert saved.about["seed"] == 3
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.json", "m.safetensors"]


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


def edited(saved, **changes):
    file = saved.with_suffix(".json")
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    return saved


def damaged(saved, suffix, change):
    file = saved.with_suffix(suffix)
    file.write_bytes(change(file.read_bytes()))
    return saved


BROKEN = {
    "flipped bit": (
        lambda s: damaged(s, ".safetensors", lambda b: b[:-1] + bytes([b[-1] ^ 1])),
        r"m\.safetensors is damaged: its checksum is not",
    ),
    "cut short": (
        lambda s: damaged(s, ".safetensors", lambda b: b[:-5]),
        r"m\.safetensors is damaged: its checksum is not",
    ),
    "cut description": (
        lambda s: damaged(s, ".json", lambda b: b[:-9]),
        r"m\.json is damaged or no checkpoint: it must hold a JSON object",
    ),
    "not text": (
        lambda s: damaged(s, ".json", lambda b: b"\xff\xfe\x00"),
        r"m\.json is damaged or no checkpoint",
    ),
    "foreign": (
        lambda s: damaged(s, ".json", lambda b: b"[1, 2]"),
        r"m\.json must be of the format 'regrax checkpoint 1', but its format is '\[1, 2\]'",
    ),
    "other format": (
        lambda s: edited(s, format="regrax checkpoint 9"),
        r"but its format is 'regrax checkpoint 9'",
    ),
    "unknown model": (
        lambda s: edited(s, model="mamba"),
        r"must describe one of linear_attention, full_linear.*, but names 'mamba'",
    ),
    "settings of another": (
        lambda s: edited(s, settings={"actions": 3, "layers": 2}),
        r"settings that do not make a linear_attention: .*layers",
    ),
    "settings that make nothing": (
        lambda s: edited(s, settings={"actions": 0}),
        r"do not make a linear_attention: actions must be a whole number of at least 1, but is 0",
    ),
    "other shape": (
        lambda s: edited(s, settings={"actions": 4}),
        r"does not fit its description: bias must have shape \(4,\), but has \(3,\)",
    ),
    "other model": (
        lambda s: edited(s, model="swap_attention", settings={"actions": 3}),
        r"does not fit its description: bias must have shape \(3, 3\), but has \(3,\)",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_damaged_or_foreign_checkpoint_is_refused(saved, name, as_users_run_it):
    damage, message = BROKEN[name]
    with pytest.raises(ValueError, match=message):
        load_model(damage(saved))


def test_a_missing_checkpoint_says_which_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.json"):
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
