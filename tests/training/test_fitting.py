"""`fit`: bit-exact resume, several seeds in one `vmap`, divergence, and the models that training arrives at."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import regrax as rx
from regrax.theory import optimal_loss, step_size

KEY = jax.random.key(11)
MODEL = rx.LinearAttention(2, key=KEY)
OBJECTIVE = rx.RegretObjective(2, 5)
QUICK = {"key": KEY, "steps": 10, "batch": 32, "every": 4}


@pytest.mark.parametrize("chunk", [32, 8])
def test_a_resumed_run_gives_the_same_bits(chunk):
    reports = []
    whole = rx.fit(MODEL, OBJECTIVE, chunk=chunk, callback=reports.append, **QUICK)
    assert [report.step for report in reports] == [4, 8, 10]
    losses = np.concatenate([report.losses for report in reports])
    np.testing.assert_array_equal(losses, whole.losses)
    for report in reports:
        resumed = rx.fit(MODEL, OBJECTIVE, chunk=chunk, state=report.state, **QUICK)
        assert eqx.tree_equal(resumed.state, whole.state)
        np.testing.assert_array_equal(resumed.losses, whole.losses[report.step :])


def test_seeds_in_one_vmap_train_as_they_do_alone(x64):
    keys = jax.random.split(KEY, 2)
    models = jax.vmap(lambda key: rx.LinearAttention(2, key=key))(keys)
    together = rx.fit(models, OBJECTIVE, **QUICK | {"key": keys})
    assert together.losses.shape == (10, 2)
    for index, key in enumerate(keys):
        alone = rx.fit(rx.LinearAttention(2, key=key), OBJECTIVE, **QUICK | {"key": key})
        np.testing.assert_allclose(together.model.values[index], alone.model.values, rtol=1e-9)


def test_divergence_stops_with_the_last_good_state():
    growing = optax.scale_by_schedule(lambda n: -(10.0 ** jnp.minimum(n, 30)))
    settings = {"steps": 60, "batch": 32, "every": 1, "optimizer": growing}
    model = rx.LinearAttention(2, key=KEY, operator="ball")
    with pytest.raises(rx.training.TrainingDiverged, match="became nan or inf at step") as stop:
        rx.fit(model, OBJECTIVE, key=KEY, **settings)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(stop.value.state.model))


def test_any_optimizer_trains_any_learner():
    sizes = {"steps": 150, "batch": 512, "optimizer": optax.adam(0.02)}
    fitted = rx.fit(rx.Hedge(0.2), rx.RegretObjective(3, 20), key=KEY, **sizes)
    np.testing.assert_allclose(fitted.model.step_size, step_size(3, 20), rtol=0.03)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"batch": 32, "chunk": 5}, "batch must be a multiple of chunk = 5, got 32"),
        ({"steps": 0}, "steps must be an integer >= 1, got 0"),
        ({"tail": 2.0}, "tail must be a fraction between 0 and 1, got 2"),
    ],
)
def test_wrong_sizes_are_rejected(sizes, message):
    with pytest.raises(ValueError, match=message):
        rx.fit(MODEL, OBJECTIVE, key=KEY, **sizes)


def test_linear_attention_becomes_hedge():
    model = rx.LinearAttention(3, key=KEY)
    fitted = rx.fit(model, rx.RegretObjective(3, 20), key=KEY, steps=300, batch=256)
    step = rx.fit_step_size(fitted.model, 20, key=KEY).step
    assert step == pytest.approx(step_size(3, 20), rel=0.02)


OTHER_LOSSES = {
    "rademacher": {"distribution": rx.training.Rademacher()},
    "laplace": {"distribution": rx.training.Laplace()},
    "student-t": {"distribution": rx.training.StudentT(5.0)},
    "delayed": {"feedback": rx.training.DelayedFeedback(2)},
    "bandit": {"feedback": rx.training.BanditFeedback()},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHER_LOSSES)
def test_on_other_losses_it_becomes_the_best_hedge(name):
    """No exact step is known for these losses, so it is compared with the best Hedge on common draws."""
    objective = rx.RegretObjective(3, 20, **OTHER_LOSSES[name])
    model = rx.fit(rx.LinearAttention(3, key=KEY), objective, key=KEY, steps=500).model
    nearest = rx.fit_step_size(model, 20, key=KEY)
    assert nearest.total_variation < 0.005
    regrets = jax.jit(lambda learner, data: objective.regrets(learner, data))
    data = objective.draw(20_000, key=jax.random.key(77))
    steps = np.linspace(0.8, 1.2, 9) * nearest.step
    # E[R] is the same for every step, so the lowest variance is the lowest E[R^2]
    variances = [float(jnp.var(regrets(rx.LinearAttention.hedge(3, k), data))) for k in steps]
    curve = np.polyfit(steps, variances, 2)
    assert -curve[1] / (2 * curve[0]) == pytest.approx(nearest.step, rel=0.05)


@pytest.mark.slow
def test_closed_loop_training_beats_calibrated_heads():
    objective = rx.ClosedLoopSwapObjective(3, 20)
    model = rx.fit(rx.SwapAttention(3, key=KEY), objective, key=KEY, batch=1024, chunk=256).model
    classical = rx.SwapAttention.hedge(3, step_size(3, 20)).calibrated()
    trained = rx.evaluate(model, objective, key=KEY, sequences=20_000)
    calibrated = rx.evaluate(classical, objective, key=KEY, sequences=20_000)
    assert trained.loss < calibrated.loss - 3 * calibrated.error


@pytest.mark.slow
def test_a_transformer_comes_close_to_the_optimum():
    """Half of the recipe's steps."""
    objective = rx.RegretObjective(3, 20)
    model = rx.fit(rx.Transformer(3, layers=2, key=KEY), objective, key=KEY, steps=1500).model
    loss = rx.evaluate(model, objective, key=KEY).loss
    assert loss == pytest.approx(optimal_loss(3, 20), rel=0.003)
    biased = rx.RegretObjective(3, 20, rx.training.BiasedGaussian(), surrogate="identity")
    assert rx.evaluate(model, biased, key=KEY).loss <= 4.05


def three_trained(make, objective):
    """Three models trained by the recipe, from different seeds."""
    keys = jax.random.split(KEY, 3)
    models = rx.fit(jax.vmap(make)(keys), objective, key=keys).model
    return [jax.tree.map(lambda leaf, seed=seed: leaf[seed], models) for seed in range(3)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", [rx.LinearAttention, rx.FullLinearAttention])
@pytest.mark.parametrize(("operator", "step"), [("softmax", 0.4479049), ("ball", 0.1189416)])
def test_linear_models_reach_the_stationary_point(kind, operator, step):
    objective = rx.RegretObjective(3, 20)
    for model in three_trained(lambda key: kind(3, key=key, operator=operator), objective):
        nearest = rx.fit_step_size(model, 20, key=KEY)
        assert nearest.step == pytest.approx(step, rel=0.01)
        if operator == "softmax":
            loss = rx.evaluate(model, objective, key=KEY).loss
            assert nearest.total_variation <= 0.004
            assert loss == pytest.approx(14.7940792, rel=0.0005)


@pytest.mark.slow
def test_swap_heads_reach_the_stationary_point():
    game, objective = rx.games.weighted_rps(), rx.SwapRegretObjective(3, 20)
    stationary = np.asarray(rx.SwapAttention.hedge(3, 0.447904905444).values)
    expected = stationary - stationary.mean(1, keepdims=True)
    for model in three_trained(lambda key: rx.SwapAttention(3, key=key), objective):
        centred = np.asarray(model.values - model.values.mean(1, keepdims=True))
        np.testing.assert_allclose(centred, expected, rtol=0, atol=0.01)
        np.testing.assert_allclose(model.scores, 0, rtol=0, atol=0.01)
        blocks = centred.reshape(3, 3, 3, 3)
        steps = [-np.trace(blocks[j, :, j]) / 2 for j in range(3)]
        np.testing.assert_allclose(steps, 0.447904905444, rtol=0.01)
        played = rx.games.play(game, model.calibrated(), rounds=20)
        assert rx.games.ce_gap(played.joint, game) <= 0.052
