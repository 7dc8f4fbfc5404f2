"""`evaluate` against exact losses and plain averages; `fit_step_size` against known steps."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import regrax as rx
from regrax.theory import loss, optimal_loss, step_size

KEY = jax.random.key(11)


@pytest.mark.parametrize("kind", [rx.RegretObjective, rx.HindsightObjective])
def test_evaluation_is_exact_at_known_policies(kind):
    step = step_size(3, 20)
    for learner, exact in (
        (rx.Hedge(step), loss(step, 3, 20)),
        (rx.Optimal(20), optimal_loss(3, 20)),
    ):
        measured = rx.evaluate(learner, kind(3, 20), key=KEY, sequences=4000)
        assert measured.optimal_loss == optimal_loss(3, 20)
        assert abs(measured.loss - exact) <= 4 * measured.error + 1e-5
        assert measured.error < 3e-3


@pytest.mark.parametrize(
    ("make", "kind", "sizes"),
    [
        (rx.LinearAttention, rx.RegretObjective, (3, 20)),
        (rx.SwapAttention, rx.SwapRegretObjective, (2, 5)),
    ],
)
def test_evaluation_agrees_with_the_plain_average(make, kind, sizes):
    model = make(sizes[0], key=KEY)
    exact = rx.evaluate(model, kind(*sizes), key=KEY, sequences=4000)
    # a function is not recognised as the square, so its loss is averaged
    plain = rx.evaluate(model, kind(*sizes, surrogate=jnp.square), key=KEY, sequences=50_000)
    assert plain.optimal_loss is None
    assert abs(exact.loss - plain.loss) < 4 * np.hypot(exact.error, plain.error)


@pytest.mark.parametrize("sequences", [60, 2000, 50_000])
def test_sequences_are_evaluated_in_whole_groups(sequences):
    grouped = rx.RegretObjective(2, 5, group_size=3, sharpness=1e-9)  # all weights are equal
    measured = rx.evaluate("hedge(0.5)", grouped, key=KEY, sequences=sequences)
    assert measured.loss == pytest.approx(loss(0.5, 2, 5), abs=6 * measured.error)
    with pytest.raises(ValueError, match="sequences must be an integer >= 6, got 5"):
        rx.evaluate("hedge(0.5)", grouped, key=KEY, sequences=5)


def test_one_sequence_at_a_time_has_a_finite_loss():
    model, objective = rx.SwapAttention(2, key=KEY), rx.SwapRegretObjective(2, 5)
    assert np.isfinite(rx.evaluate(model, objective, key=KEY, sequences=30).loss)
    assert np.isfinite(rx.fit(model, objective, key=KEY, steps=2, batch=1).losses).all()


OTHER_GOALS = [
    rx.RegretObjective(3, 20, rx.training.BiasedGaussian()),
    rx.RegretObjective(3, 20, feedback=rx.training.DelayedFeedback(1)),
    rx.RegretObjective(3, 20, group_size=2),
    rx.RegretObjective(3, 20, surrogate="softplus"),
    rx.HindsightObjective(3, 20, rx.training.Gaussian(2 * np.eye(3))),
    rx.ClosedLoopSwapObjective(3, 20),
]


def test_objectives_know_the_optimum_where_theory_does():
    hedge, swap = rx.Hedge(0.4), rx.SwapRegretObjective(3, 20)
    ball = rx.LinearAttention(3, key=KEY, operator="ball", radius=2.0)
    assert swap.optimal_loss(hedge) == pytest.approx(129.826, rel=1e-5)
    on_ball = optimal_loss(3, 20, operator="ball", radius=2.0)
    for kind in (rx.RegretObjective, rx.HindsightObjective):
        assert kind(3, 20).optimal_loss(ball) == on_ball
    assert [objective.optimal_loss(hedge) for objective in OTHER_GOALS] == [None] * 6


def test_objectives_know_the_recipe_of_a_model():
    transformer = rx.Transformer(2, key=KEY, width=4)
    assert rx.RegretObjective(2, 5).recipe(rx.Hedge(0.1)).batch == 2048
    assert rx.RegretObjective(2, 5).recipe(transformer).batch == 256
    assert rx.HindsightObjective(2, 5).recipe(transformer).batch == 512
    assert rx.HindsightObjective(2, 5, conditional=True).recipe(transformer).batch == 256


STATIONARY = {
    "linear": rx.LinearAttention.hedge,
    "swap": rx.SwapAttention.hedge,
    "ball": partial(rx.LinearAttention.hedge, operator="ball"),
}


@pytest.mark.parametrize("make", STATIONARY.values(), ids=STATIONARY)
def test_the_step_of_stationary_parameters_is_found(x64, make):
    model = make(3, 0.31)
    nearest = rx.fit_step_size(model, 10, key=KEY, sequences=64)
    np.testing.assert_allclose(nearest.step, 0.31, rtol=1e-9)
    assert nearest.total_variation < 1e-9


def test_the_fitted_step_minimises_the_squared_error(x64):
    model = rx.LinearAttention(3, key=KEY, scale=0.2)
    nearest = rx.fit_step_size(model, 10, key=KEY, sequences=256)
    losses = jax.random.normal(KEY, (10, 3, 256))
    before = jnp.cumsum(losses, 0) - losses

    def difference(step):
        return jax.nn.softmax(-step * before, 1) - model.policies(losses)

    at_step = difference(nearest.step)
    assert nearest.mse == pytest.approx(float(jnp.mean(at_step**2)), rel=1e-9)
    for step in (nearest.step - 1e-3, nearest.step + 1e-3):
        assert step < 0 or jnp.mean(difference(step) ** 2) > nearest.mse
    assert nearest.l1 == pytest.approx(float(jnp.abs(at_step).sum(1).mean()))
    assert nearest.total_variation == pytest.approx(nearest.l1 / 2)
    assert nearest.per_action == pytest.approx(nearest.l1 / 3)
