"""The contract of every model; at the stationary parameters the models are classical algorithms."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import regrax as rx

ROUNDING = 1e-12
FIXED_POINT = 1e-9  # Blum-Mansour stops its power steps at 1e-10
KEYS = jax.random.split(jax.random.key(7))
KEY = KEYS[0]
D, T, N = 3, 11, 4

MODELS = {
    "linear": lambda key: rx.LinearAttention(D, key=key),
    "full": lambda key: rx.FullLinearAttention(D, key=key),
    "linear-ball": lambda key: rx.LinearAttention(D, key=key, operator="ball", radius=1e6),
    "full-ball": lambda key: rx.FullLinearAttention(D, key=key, operator="ball", radius=1e6),
    "transformer": lambda key: rx.Transformer(D, key=key, layers=2, width=8),
    "swap": lambda key: rx.SwapAttention(D, key=key),
}


def draws(*shape: int):
    return np.random.default_rng(7).normal(size=shape).astype(jax.dtypes.canonicalize_dtype(float))


def two(make):
    """Return two models, and both stacked."""
    models = jax.jit(jax.vmap(make))(KEYS)
    arrays = jax.tree.map(np.asarray, models)
    return [jax.tree.map(lambda leaf, i=i: jnp.asarray(leaf[i]), arrays) for i in (0, 1)], models


@pytest.mark.parametrize("name", MODELS)
def test_every_model_keeps_the_contract(x64, name, tmp_path):
    """Training and playing forms agree, see only the past, compile once, stack in a `vmap`, and can be saved."""
    answer = jax.jit(lambda model, losses: model.policies(losses))
    play_all = jax.jit(jax.vmap(rx.rollout, (None, -1), -1))
    (model, other), models = two(MODELS[name])
    assert type(model) in rx.attention.MODELS.values()
    losses = draws(T, D, N)
    changed = losses.copy()
    changed[T // 2 :] += 1.0
    policies = answer(model, losses)
    other_future = answer(model, changed)
    np.testing.assert_allclose(policies, play_all(model, losses), rtol=0, atol=ROUNDING)
    seen = T // 2 + 1
    np.testing.assert_allclose(policies[:seen], other_future[:seen], rtol=0, atol=ROUNDING)
    assert np.abs(policies[seen:] - other_future[seen:]).max() > 1e-3
    if "ball" not in name:
        assert policies.min() >= 0
        np.testing.assert_allclose(policies.sum(1), 1, rtol=0, atol=ROUNDING)
    assert models.actions == D
    assert np.abs(answer(other, losses) - play_all(other, losses)).max() < ROUNDING
    assert (answer._cache_size(), play_all._cache_size()) == (1, 1)
    both = jax.jit(jax.vmap(lambda model, losses: model.policies(losses), (0, None)))
    expected = np.stack([policies, answer(other, losses)])
    np.testing.assert_allclose(both(models, losses), expected, rtol=0, atol=ROUNDING)
    rx.save_model(tmp_path / "model", model)
    assert eqx.tree_equal(rx.load_model(tmp_path / "model").model, model)
    with pytest.raises(ValueError, match="is for 3 actions, got 4"):
        rx.rollout(model, draws(T, 4))
    with pytest.raises(ValueError, match="is for 3 actions, got 4"):
        model.policies(jnp.asarray(draws(T, 4, N)))


def shifted_hedge(d, step):
    """Softmax ignores what is added to all of its logits."""
    hedge = rx.LinearAttention.hedge(d, step)
    return hedge.replaced(hedge.values + 0.3, hedge.scores, hedge.bias + 0.7)


def ball(d, step):
    return rx.LinearAttention.hedge(d, step, operator="ball")


STATIONARY = [
    (rx.LinearAttention.hedge, rx.Hedge(0.45)),
    (shifted_hedge, rx.Hedge(0.45)),
    (ball, rx.EuclideanFTRL(0.45, rx.Ball())),
    (rx.SwapAttention.hedge, rx.BlumMansour(rx.Hedge(0.45))),
]


@pytest.mark.parametrize("d", [pytest.param(2, marks=pytest.mark.slow), 5])
@pytest.mark.parametrize(("model", "algorithm"), STATIONARY)
def test_stationary_parameters_play_an_algorithm(x64, model, algorithm, d):
    played, expected = (rx.rollout(player, draws(30, d)) for player in (model(d, 0.45), algorithm))
    np.testing.assert_allclose(played, expected, rtol=0, atol=FIXED_POINT)


def test_swap_policies_are_fixed_points_of_the_columns(x64):
    model, losses = rx.SwapAttention(D, key=KEY), draws(T, D)
    policies = rx.rollout(model, losses)
    blocks = np.einsum("ti,tj->tij", policies, losses)[..., None]
    columns = jax.jit(lambda model, blocks: model.columns(blocks))(model, blocks)[..., 0]
    fixed = jax.jit(jax.vmap(lambda rows: rx.stationary(rows.T)))(columns)
    np.testing.assert_allclose(fixed, policies, rtol=0, atol=FIXED_POINT)


def test_calibration_scales_the_features(x64):
    calibrated = rx.SwapAttention.hedge(D, 0.4).calibrated()
    np.testing.assert_allclose(calibrated.values, rx.SwapAttention.hedge(D, D * 0.4).values)
    model, blocks = rx.SwapAttention(D, key=KEY), draws(T, D, D, N)
    columns = jax.jit(lambda model, blocks: model.columns(blocks))
    expected = columns(model, D * blocks)
    np.testing.assert_allclose(columns(model.calibrated(), blocks), expected, rtol=0, atol=ROUNDING)


def test_the_reduced_form_plays_as_the_full_form(x64):
    model, losses = rx.FullLinearAttention(D, key=KEY, scale=0.5), draws(T, D, N)
    both = jax.jit(lambda model, losses: (model.policies(losses), model.reduced().policies(losses)))
    np.testing.assert_allclose(*both(model, losses), rtol=0, atol=ROUNDING)
    without_score = eqx.tree_at(lambda m: m.key_bias, model, jnp.zeros(D))
    with pytest.raises(ValueError, match=r"bias score .* must not be 0"):
        without_score.reduced()


def test_the_full_form_is_its_formula(x64):
    model, losses = rx.FullLinearAttention(D, key=KEY, scale=0.5), draws(T, D)
    m = jax.tree.map(np.asarray, model)
    logits = np.zeros(D)
    state, update = model.init(D), jax.jit(lambda state, loss: model.update(state, loss))
    for loss in losses:
        score = (m.keys @ loss + m.key_bias) @ (m.queries @ np.ones(D) + m.query_bias)
        logits = logits + (m.values @ loss + m.value_bias) * score
        state = update(state, loss)
    np.testing.assert_allclose(state.value, logits, rtol=1e-12)


def test_a_projection_replaces_the_one_onto_the_ball():
    model = rx.LinearAttention(D, key=KEY, operator="ball", projection=rx.project_simplex)
    np.testing.assert_allclose(rx.rollout(model, draws(T, D)).sum(1), 1, rtol=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rx.LinearAttention(0, key=KEY), "actions must be an integer >= 1, got 0"),
        (lambda: rx.LinearAttention(3, key=KEY, operator="relu"), "must be one of softmax, ball"),
        (lambda: rx.LinearAttention(3, key=KEY, projection=jnp.tanh), "projection requires"),
        (lambda: rx.LinearAttention.hedge(3, -1.0), "step must be above 0"),
        (lambda: rx.Transformer(3, key=KEY, width=10), "multiple of heads = 4"),
        (lambda: rx.Transformer(3, key=KEY, width=4).init(3), "rounds, the size .* >= 1, got None"),
    ],
)
def test_wrong_arguments_are_rejected(make, message, as_users_run_it):
    with pytest.raises(ValueError, match=message):
        make()
