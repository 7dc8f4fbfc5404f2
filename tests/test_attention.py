"""The contract every model keeps; and at the stationary parameters they are the classical algorithms."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from regrax import attention
from regrax.attention import FullLinearAttention, LinearAttention, SwapAttention, Transformer
from regrax.attention._layer import check_operator
from regrax.checkpoints import load_model, save_model
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
BALLS = (MODELS["linear-ball"], MODELS["full-ball"])


def draws(*shape: int):
    return jax.random.normal(KEY, shape)


@pytest.fixture(params=MODELS, ids=MODELS)
def make(request):
    return MODELS[request.param]


def test_the_contract(x64, make, tmp_path):
    """Training form and playing form agree, see the past only, compile once, stack in a `vmap`, and are kept."""
    answer = jax.jit(lambda model, losses: model.policies(losses))
    play_all = jax.jit(jax.vmap(rollout, (None, -1), -1))
    model, losses = make(KEY), draws(T, D, N)
    policies, other_future = answer(model, losses), answer(model, losses.at[T // 2 :].add(1.0))
    np.testing.assert_allclose(policies, play_all(model, losses), rtol=0, atol=ROUNDING)
    seen = T // 2 + 1
    np.testing.assert_allclose(policies[:seen], other_future[:seen], rtol=0, atol=ROUNDING)
    assert np.abs(policies[seen:] - other_future[seen:]).max() > 1e-3
    if make not in BALLS:
        assert policies.min() >= 0
        np.testing.assert_allclose(policies.sum(1), 1, rtol=0, atol=ROUNDING)
    stacked = jax.jit(jax.vmap(make))(jnp.stack([KEY, jax.random.key(8)]))
    assert stacked.actions == D
    other = jax.tree.map(lambda leaf: leaf[1], stacked)
    assert np.abs(answer(other, losses) - play_all(other, losses)).max() < ROUNDING
    assert (answer._cache_size(), play_all._cache_size()) == (1, 1)
    both = jax.jit(jax.vmap(lambda model, losses: model.policies(losses), (0, None)))
    expected = np.stack([policies, answer(other, losses)])
    np.testing.assert_allclose(both(stacked, losses), expected, rtol=0, atol=ROUNDING)
    save_model(tmp_path / "model", model)
    assert eqx.tree_equal(load_model(tmp_path / "model").model, model)


def test_wrong_number_of_actions_is_refused(make):
    for run in (lambda m: rollout(m, draws(T, 4)), lambda m: m.policies(draws(T, 4, N))):
        with pytest.raises(ValueError, match="plays 3 actions, but was asked to play 4"):
            run(make(KEY))


def test_the_table_has_every_model():
    assert {type(make(KEY)) for make in MODELS.values()} == set(attention.MODELS.values())


def test_swap_columns_are_what_it_plays(x64):
    model, losses = SwapAttention(D, key=KEY), draws(T, D)
    policies = rollout(model, losses)
    blocks = jnp.einsum("ti,tj->tij", policies, losses)[..., None]
    columns = model.columns(blocks)[..., 0]
    fixed = jax.vmap(lambda rows: stationary(rows.T))(columns)
    np.testing.assert_allclose(fixed, policies, rtol=0, atol=FIXED_POINT)


@pytest.mark.parametrize("d", [2, 5])
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


@pytest.mark.parametrize("d", [2, 5])
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
