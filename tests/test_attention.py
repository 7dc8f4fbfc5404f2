"""Every model: the training form is the playing form, and the stationary parameters are the classical algorithms."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from regrax.attention import FullLinearAttention, LinearAttention, SwapAttention, Transformer
from regrax.attention._layer import check_operator
from regrax.domains import Ball
from regrax.games import play, weighted_rps
from regrax.learners import BlumMansour, EuclideanFTRL, Hedge, rollout
from regrax.simplex import project_simplex, stationary

ROUNDING = 1e-12
FIXED_POINT = 1e-9  # Blum-Mansour stops its power steps at 1e-10

KEY = jax.random.key(7)
D, T, N = 3, 11, 4

MODELS = {
    "linear": lambda key: LinearAttention(D, key=key),
    "full": lambda key: FullLinearAttention(D, key=key),
    "linear-ball": lambda key: LinearAttention(D, key=key, operator="ball", radius=1e6),
    "full-ball": lambda key: FullLinearAttention(D, key=key, operator="ball", radius=1e6),
    "transformer": lambda key: Transformer(D, key=key, layers=2, width=8),
    "swap": lambda key: SwapAttention(D, key=key),
}


def draws(*shape: int):
    return jax.random.normal(KEY, shape)


@pytest.fixture(params=MODELS, ids=MODELS)
def make(request):
    return MODELS[request.param]


def test_training_form_is_playing_form(x64, make):
    model, losses = make(KEY), draws(T, D, N)
    played = jax.vmap(lambda sequence: rollout(model, sequence), -1, -1)(losses)
    np.testing.assert_allclose(model.policies(losses), played, rtol=0, atol=ROUNDING)


def test_play_looks_at_the_past_only(x64, make):
    model, losses = make(KEY), draws(T, D, N)
    changed = losses.at[T // 2 :].add(1.0)
    first, second = model.policies(losses), model.policies(changed)
    np.testing.assert_allclose(first[: T // 2 + 1], second[: T // 2 + 1], rtol=0, atol=ROUNDING)
    assert np.abs(first[T // 2 + 1 :] - second[T // 2 + 1 :]).max() > 1e-3


def test_seeds_stack_in_a_vmap(make):
    models = eqx.filter_jit(jax.vmap(make))(jax.random.split(KEY, 2))
    assert models.actions == D
    policies = eqx.filter_jit(jax.vmap(lambda model: model.policies(draws(T, D, N))))(models)
    alone = make(jax.random.split(KEY, 2)[1]).policies(draws(T, D, N))
    np.testing.assert_allclose(policies[1], alone, atol=1e-5)


def test_wrong_number_of_actions_is_refused(make):
    with pytest.raises(ValueError, match="plays 3 actions, but was asked to play 4"):
        rollout(make(KEY), draws(T, 4))


def test_swap_columns_are_what_it_plays(x64):
    model, losses = SwapAttention(D, key=KEY), draws(T, D)
    policies = rollout(model, losses)
    blocks = jnp.einsum("ti,tj->tij", policies, losses)[..., None]
    columns = model.columns(blocks)[..., 0]
    fixed = jax.vmap(lambda rows: stationary(rows.T))(columns)
    np.testing.assert_allclose(fixed, policies, rtol=0, atol=FIXED_POINT)


@pytest.mark.parametrize("d", [2, 3, 5])
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


@pytest.mark.parametrize("d", [2, 3, 5])
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
    np.testing.assert_allclose(
        model.calibrated().columns(blocks), model.columns(D * blocks), rtol=0, atol=ROUNDING
    )


def test_full_form_maps_to_the_reduced_form(x64):
    model, losses = FullLinearAttention(D, key=KEY, scale=0.5), draws(T, D, N)
    np.testing.assert_allclose(
        model.policies(losses), model.reduced().policies(losses), rtol=0, atol=ROUNDING
    )


def test_full_form_is_its_formula(x64):
    m, losses = FullLinearAttention(D, key=KEY, scale=0.5), draws(T, D)
    logits = np.zeros(D)
    for l in losses:
        score = (m.keys @ l + m.key_bias) @ (m.queries @ np.ones(D) + m.query_bias)
        logits = logits + (m.values @ l + m.value_bias) * score
    state = m.init(D)
    for l in losses:
        state = m.update(state, l)
    np.testing.assert_allclose(state, logits, rtol=1e-12)


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


def test_models_take_a_seat():
    game = weighted_rps()
    for make in (MODELS["linear"], MODELS["swap"], MODELS["transformer"]):
        played = play(game, [make(KEY), Hedge(0.5)], rounds=5)
        np.testing.assert_allclose(played.joint.sum(), 1, rtol=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LinearAttention(0, key=KEY), "actions must be a whole number of at least 1"),
        (lambda: check_operator("relu", 1.0, None), 'operator must be "softmax" or "ball"'),
        (lambda: LinearAttention(3, key=KEY, projection=project_simplex), "belongs to operator"),
        (lambda: LinearAttention.hedge(3, -1.0), "step must be above 0"),
        (lambda: Transformer(3, key=KEY, width=10), "multiple of heads = 4"),
        (lambda: Transformer(3, key=KEY).init(3), "needs rounds"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(ValueError, match=message):
        make()
