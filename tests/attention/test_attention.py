"""The contract every model keeps; and at the stationary parameters they are the classical algorithms."""

from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from regrax import attention
from regrax.attention import FullLinearAttention, LinearAttention, SwapAttention, Transformer
from regrax.checkpoints import load_model, save_model
from regrax.domains import Ball
from regrax.games import play, weighted_rps
from regrax.learners import BlumMansour, EuclideanFTRL, Hedge, rollout
from regrax.simplex import project_simplex, stationary

ROUNDING = 1e-12
FIXED_POINT = 1e-9  # Blum-Mansour stops its power steps at 1e-10

KEYS = jax.random.split(jax.random.key(7))
KEY = KEYS[0]
D, T, N = 3, 11, 4

MODELS = {
    "linear": lambda key: LinearAttention(D, key=key),
    "full": lambda key: FullLinearAttention(D, key=key),
    "linear-ball": lambda key: LinearAttention(D, key=key, operator="ball", radius=1e6),
    "full-ball": lambda key: FullLinearAttention(D, key=key, operator="ball", radius=1e6),
    "transformer": lambda key: Transformer(D, key=key, layers=2, width=8),
    "swap": lambda key: SwapAttention(D, key=key),
}
BALLS = (MODELS["linear-ball"], MODELS["full-ball"])


def draws(*shape: int):
    """Drawn by NumPy, which has nothing to compile."""
    return np.random.default_rng(7).normal(size=shape).astype(jax.dtypes.canonicalize_dtype(float))


@cache
def stacked(make):
    """A program that makes two models."""
    return jax.jit(jax.vmap(make))


def two(make):
    """Each of two models, and both stacked."""
    models = stacked(make)(KEYS)
    pick = lambda i: jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf)[i]), models)  # noqa: E731
    return [pick(0), pick(1)], models


@pytest.fixture(params=MODELS, ids=MODELS)
def make(request):
    return MODELS[request.param]


def test_the_contract(x64, make, tmp_path):
    """Training form and playing form agree, see the past only, compile once, stack in a `vmap`, and are kept."""
    answer = jax.jit(lambda model, losses: model.policies(losses))
    play_all = jax.jit(jax.vmap(rollout, (None, -1), -1))
    (model, other), models = two(make)
    losses, moved = draws(T, D, N), draws(T, D, N)
    moved[T // 2 :] += 1.0
    policies, other_future = answer(model, losses), answer(model, moved)
    np.testing.assert_allclose(policies, play_all(model, losses), rtol=0, atol=ROUNDING)
    seen = T // 2 + 1
    np.testing.assert_allclose(policies[:seen], other_future[:seen], rtol=0, atol=ROUNDING)
    assert np.abs(policies[seen:] - other_future[seen:]).max() > 1e-3
    if make not in BALLS:
        assert policies.min() >= 0
        np.testing.assert_allclose(policies.sum(1), 1, rtol=0, atol=ROUNDING)
    assert models.actions == D
    assert np.abs(answer(other, losses) - play_all(other, losses)).max() < ROUNDING
    assert (answer._cache_size(), play_all._cache_size()) == (1, 1)
    both = jax.jit(jax.vmap(lambda model, losses: model.policies(losses), (0, None)))
    expected = np.stack([policies, answer(other, losses)])
    np.testing.assert_allclose(both(models, losses), expected, rtol=0, atol=ROUNDING)
    save_model(tmp_path / "model", model)
    assert eqx.tree_equal(load_model(tmp_path / "model").model, model)


def test_wrong_number_of_actions_is_refused(make):
    for run in (
        lambda m: rollout(m, draws(T, 4)),
        lambda m: m.policies(jnp.asarray(draws(T, 4, N))),
    ):
        with pytest.raises(ValueError, match="plays 3 actions, got 4"):
            run(two(make)[0][0])


def test_the_table_has_every_model():
    assert {type(jax.eval_shape(make, KEY)) for make in MODELS.values()} == set(
        attention.MODELS.values()
    )


def test_swap_columns_are_what_it_plays(x64):
    model, losses = SwapAttention(D, key=KEY), draws(T, D)
    policies = rollout(model, losses)
    blocks = np.einsum("ti,tj->tij", policies, losses)[..., None]
    columns = jax.jit(lambda model, blocks: model.columns(blocks))(model, blocks)[..., 0]
    fixed = jax.jit(jax.vmap(lambda rows: stationary(rows.T)))(columns)
    np.testing.assert_allclose(fixed, policies, rtol=0, atol=FIXED_POINT)


@pytest.mark.parametrize("d", [pytest.param(2, marks=pytest.mark.slow), 5])
def test_stationary_parameters_are_hedge(x64, d):
    losses = draws(30, d)
    played = rollout(LinearAttention.hedge(d, 0.45), losses)
    np.testing.assert_allclose(played, rollout(Hedge(0.45), losses), rtol=0, atol=ROUNDING)


def test_any_common_bias_is_still_hedge(x64):
    hedge = LinearAttention.hedge(D, 0.45)
    shifted = hedge.replaced(hedge.values + 0.3, hedge.scores, hedge.bias + 0.7)
    losses = draws(30, D)
    np.testing.assert_allclose(
        rollout(shifted, losses), rollout(Hedge(0.45), losses), rtol=0, atol=ROUNDING
    )


def test_stationary_parameters_on_the_ball_are_lazy_descent(x64):
    losses = draws(30, D)
    model = LinearAttention.hedge(D, 0.3, operator="ball")
    classical = rollout(EuclideanFTRL(0.3, Ball()), losses)
    np.testing.assert_allclose(rollout(model, losses), classical, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("d", [pytest.param(2, marks=pytest.mark.slow), 5])
@pytest.mark.slow
def test_stationary_swap_parameters_are_blum_mansour(x64, d):
    losses = draws(30, d)
    played = rollout(SwapAttention.hedge(d, 0.9), losses)
    classical = rollout(BlumMansour(Hedge(0.9)), losses)
    np.testing.assert_allclose(played, classical, rtol=0, atol=FIXED_POINT)


def test_calibration_scales_the_features(x64):
    calibrated = SwapAttention.hedge(D, 0.4).calibrated()
    expected = SwapAttention.hedge(D, D * 0.4)
    np.testing.assert_allclose(calibrated.values, expected.values)
    model, blocks = SwapAttention(D, key=KEY), draws(T, D, D, N)
    columns = jax.jit(lambda model, blocks: model.columns(blocks))
    np.testing.assert_allclose(
        columns(model.calibrated(), blocks), columns(model, D * blocks), rtol=0, atol=ROUNDING
    )


def test_full_form_maps_to_the_reduced_form(x64):
    model, losses = FullLinearAttention(D, key=KEY, scale=0.5), draws(T, D, N)
    both = jax.jit(lambda model, losses: (model.policies(losses), model.reduced().policies(losses)))
    np.testing.assert_allclose(*both(model, losses), rtol=0, atol=ROUNDING)


def test_full_form_is_its_formula(x64):
    m, losses = FullLinearAttention(D, key=KEY, scale=0.5), draws(T, D)
    of, logits = jax.tree.map(np.asarray, m), np.zeros(D)
    for l in losses:
        score = (of.keys @ l + of.key_bias) @ (of.queries @ np.ones(D) + of.query_bias)
        logits = logits + (of.values @ l + of.value_bias) * score
    state, update = m.init(D), jax.jit(lambda m, state, l: m.update(state, l))
    for l in losses:
        state = update(m, state, l)
    np.testing.assert_allclose(state.value, logits, rtol=1e-12)


def test_no_reduced_form_without_a_bias_score():
    model = FullLinearAttention(D, key=KEY)
    model = eqx.tree_at(lambda m: m.key_bias, model, jnp.zeros(D))
    with pytest.raises(ValueError, match="must not be 0"):
        model.reduced()


def test_ball_models_take_no_seat():
    with pytest.raises(ValueError, match="plays on the ball"):
        play(weighted_rps(), LinearAttention(D, key=KEY, operator="ball"), rounds=3)


def test_another_projection_can_be_passed_in():
    model = LinearAttention(D, key=KEY, operator="ball", projection=project_simplex)
    np.testing.assert_allclose(rollout(model, draws(T, D)).sum(1), 1, rtol=1e-5)


@pytest.mark.slow
def test_models_take_a_seat():
    game = weighted_rps()
    for make in (MODELS["linear"], MODELS["swap"], MODELS["transformer"]):
        played = play(game, [two(make)[0][0], Hedge(0.5)], rounds=5)
        np.testing.assert_allclose(played.joint.sum(), 1, rtol=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LinearAttention(0, key=KEY), "actions must be an integer >= 1"),
        (
            lambda: LinearAttention(3, key=KEY, operator="relu"),
            'operator must be "softmax" or "ball"',
        ),
        (
            lambda: LinearAttention(3, key=KEY, projection=project_simplex),
            "projection requires operator",
        ),
        (lambda: LinearAttention.hedge(3, -1.0), "step must be above 0"),
        (lambda: Transformer(3, key=KEY, width=10), "multiple of heads = 4"),
        (lambda: two(MODELS["transformer"])[0][0].init(3), "needs rounds"),
    ],
)
def test_refusals(make, message, as_users_run_it):
    with pytest.raises(ValueError, match=message):
        make()
