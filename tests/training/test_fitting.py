"""`fit`: bit-exact resume, several seeds in one `vmap`, divergence, and the models that training arrives at."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from regrax import games
from regrax.attention import FullLinearAttention, LinearAttention, SwapAttention, Transformer
from regrax.learners import Hedge
from regrax.theory import optimal_loss, step_size
from regrax.training import (
    BanditFeedback,
    BiasedGaussian,
    ClosedLoopSwapObjective,
    DelayedFeedback,
    Laplace,
    Rademacher,
    RegretObjective,
    StudentT,
    SwapRegretObjective,
    TrainingDiverged,
    evaluate,
    fit,
    fit_step_size,
)

KEY = jax.random.key(11)
MODEL = LinearAttention(2, key=KEY)
OBJECTIVE = RegretObjective(2, 5)
QUICK = {"key": KEY, "steps": 10, "batch": 32, "every": 4}


@pytest.mark.parametrize("chunk", [32, 8])
def test_a_resumed_run_gives_the_same_bits(chunk):
    reports = []
    whole = fit(MODEL, OBJECTIVE, chunk=chunk, callback=reports.append, **QUICK)
    assert [report.step for report in reports] == [4, 8, 10]
    losses = np.concatenate([report.losses for report in reports])
    np.testing.assert_array_equal(losses, whole.losses)
    for report in reports:
        resumed = fit(MODEL, OBJECTIVE, chunk=chunk, state=report.state, **QUICK)
        assert eqx.tree_equal(resumed.state, whole.state)
        np.testing.assert_array_equal(resumed.losses, whole.losses[report.step :])


def test_seeds_in_one_vmap_train_as_they_do_alone(x64):
    keys = jax.random.split(KEY, 2)
    models = jax.vmap(lambda key: LinearAttention(2, key=key))(keys)
    together = fit(models, OBJECTIVE, **QUICK | {"key": keys})
    assert together.losses.shape == (10, 2)
    for index, key in enumerate(keys):
        alone = fit(LinearAttention(2, key=key), OBJECTIVE, **QUICK | {"key": key})
        np.testing.assert_allclose(together.model.values[index], alone.model.values, rtol=1e-9)


def test_divergence_stops_with_the_last_good_state():
    growing = optax.scale_by_schedule(lambda n: 10.0 ** jnp.minimum(n, 30))
    sizes = {"steps": 60, "batch": 32, "every": 1}
    model = LinearAttention(2, key=KEY, operator="ball")
    with pytest.raises(TrainingDiverged, match="loss became nan or inf at step") as stop:
        fit(model, OBJECTIVE, key=KEY, optimizer=optax.chain(optax.scale(-1.0), growing), **sizes)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(stop.value.state.model))


def test_any_optimizer_trains_any_learner():
    sizes = {"steps": 150, "batch": 512, "optimizer": optax.adam(0.02)}
    fitted = fit(Hedge(0.2), RegretObjective(3, 20), key=KEY, **sizes)
    np.testing.assert_allclose(fitted.model.step_size, step_size(3, 20), rtol=0.03)


def test_wrong_sizes_are_rejected():
    with pytest.raises(ValueError, match="batch must be a multiple of chunk = 5, got 32"):
        fit(MODEL, OBJECTIVE, key=KEY, batch=32, chunk=5)
    with pytest.raises(ValueError, match="steps must be an integer >= 1, got 0"):
        fit(MODEL, OBJECTIVE, key=KEY, steps=0)
    with pytest.raises(ValueError, match="tail must be a fraction between 0 and 1, got 2"):
        fit(MODEL, OBJECTIVE, key=KEY, tail=2.0)


def test_linear_attention_becomes_hedge():
    model = LinearAttention(3, key=KEY)
    fitted = fit(model, RegretObjective(3, 20), key=KEY, steps=300, batch=256)
    step = fit_step_size(fitted.model, 20, key=KEY).step
    assert step == pytest.approx(step_size(3, 20), rel=0.02)


OTHER_LOSSES = {
    "rademacher": {"distribution": Rademacher()},
    "laplace": {"distribution": Laplace()},
    "student-t": {"distribution": StudentT(5.0)},
    "delayed": {"feedback": DelayedFeedback(2)},
    "bandit": {"feedback": BanditFeedback()},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHER_LOSSES)
def test_on_other_losses_it_becomes_the_best_hedge(name):
    """No exact step is known for these losses, so it is compared with the best Hedge on common draws."""
    objective = RegretObjective(3, 20, **OTHER_LOSSES[name])
    model = fit(LinearAttention(3, key=KEY), objective, key=KEY, steps=500).model
    nearest = fit_step_size(model, 20, key=KEY)
    assert nearest.total_variation < 0.005
    regrets = jax.jit(lambda learner, data: objective.regrets(learner, data))
    data = objective.draw(20_000, key=jax.random.key(77))
    steps = np.linspace(0.8, 1.2, 9) * nearest.step
    # E[R] is the same for every step, so the lowest variance is the lowest E[R^2]
    variances = [float(jnp.var(regrets(LinearAttention.hedge(3, k), data))) for k in steps]
    curve = np.polyfit(steps, variances, 2)
    assert -curve[1] / (2 * curve[0]) == pytest.approx(nearest.step, rel=0.05)


@pytest.mark.slow
def test_closed_loop_training_beats_calibrated_heads():
    objective = ClosedLoopSwapObjective(3, 20)
    model = fit(SwapAttention(3, key=KEY), objective, key=KEY, batch=1024, chunk=256).model
    classical = SwapAttention.hedge(3, step_size(3, 20)).calibrated()
    trained = evaluate(model, objective, key=KEY, sequences=20_000)
    calibrated = evaluate(classical, objective, key=KEY, sequences=20_000)
    assert trained.loss < calibrated.loss - 3 * calibrated.error


@pytest.mark.slow
def test_a_transformer_comes_close_to_the_optimum():
    """Half of the recipe's steps."""
    objective = RegretObjective(3, 20)
    model = fit(Transformer(3, layers=2, key=KEY), objective, key=KEY, steps=1500).model
    loss = evaluate(model, objective, key=KEY).loss
    assert loss == pytest.approx(optimal_loss(3, 20), rel=0.003)
    biased = RegretObjective(3, 20, BiasedGaussian(), surrogate="identity")
    assert evaluate(model, biased, key=KEY).loss <= 4.05


def three_trained(make, objective):
    """Three models trained by the recipe, from different seeds."""
    keys = jax.random.split(KEY, 3)
    models = fit(jax.vmap(make)(keys), objective, key=keys).model
    return [jax.tree.map(lambda leaf, seed=seed: leaf[seed], models) for seed in range(3)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [LinearAttention, FullLinearAttention])
@pytest.mark.parametrize(("operator", "step"), [("softmax", 0.4479049), ("ball", 0.1189416)])
def test_linear_models_reach_the_stationary_point(kind, operator, step):
    objective = RegretObjective(3, 20)
    for model in three_trained(lambda key: kind(3, key=key, operator=operator), objective):
        nearest = fit_step_size(model, 20, key=KEY)
        assert nearest.step == pytest.approx(step, rel=0.01)
        if operator == "softmax":
            assert nearest.total_variation <= 0.004
            assert evaluate(model, objective, key=KEY).loss == pytest.approx(14.7940792, rel=0.0005)


@pytest.mark.slow
def test_swap_heads_reach_the_stationary_point():
    game = games.weighted_rps()
    stationary = np.asarray(SwapAttention.hedge(3, 0.447904905444).values)
    expected = stationary - stationary.mean(1, keepdims=True)
    for model in three_trained(lambda key: SwapAttention(3, key=key), SwapRegretObjective(3, 20)):
        centred = np.asarray(model.values - model.values.mean(1, keepdims=True))
        np.testing.assert_allclose(centred, expected, rtol=0, atol=0.01)
        np.testing.assert_allclose(model.scores, 0, rtol=0, atol=0.01)
        blocks = centred.reshape(3, 3, 3, 3)
        steps = [-np.trace(blocks[j, :, j]) / 2 for j in range(3)]
        np.testing.assert_allclose(steps, 0.447904905444, rtol=0.01)
        played = games.play(game, model.calibrated(), rounds=20)
        assert games.ce_gap(played.joint, game) <= 0.052
