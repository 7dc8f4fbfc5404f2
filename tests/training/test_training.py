"""Fitting: resumable to the bit, seeds in one `vmap`, a clear stop when it diverges, and where it ends up."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from regrax.attention import FullLinearAttention, LinearAttention, SwapAttention, Transformer
from regrax.learners import Hedge
from regrax.theory import Optimal, loss, optimal_loss, step_size
from regrax.training import (
    BanditFeedback,
    BiasedGaussian,
    ClosedLoopSwapObjective,
    DelayedFeedback,
    HindsightObjective,
    Laplace,
    Rademacher,
    RegretObjective,
    StudentT,
    SwapRegretObjective,
    TrainingDiverged,
    adam,
    evaluate,
    fit,
    fit_step_size,
)

KEY = jax.random.key(11)
QUICK_FIT = {"steps": 12, "batch": 32, "every": 4}


def small_model(key=KEY):
    return LinearAttention(2, key=key)


OBJECTIVE = RegretObjective(2, 5)


@pytest.mark.parametrize("chunk", [32, 8])
def test_a_resumed_run_gives_the_same_bits(chunk):
    states = []
    whole = fit(
        small_model(),
        OBJECTIVE,
        key=KEY,
        chunk=chunk,
        callback=lambda report: states.append(report.state),
        **QUICK_FIT,
    )
    for state in states:
        resumed = fit(small_model(), OBJECTIVE, key=KEY, chunk=chunk, state=state, **QUICK_FIT)
        assert eqx.tree_equal(resumed.state, whole.state)
        np.testing.assert_array_equal(resumed.losses, whole.losses[int(state.step) :])


def test_reports_cover_every_step():
    reports = []
    fitted = fit(
        small_model(), OBJECTIVE, key=KEY, steps=10, batch=32, every=4, callback=reports.append
    )
    assert [report.step for report in reports] == [4, 8, 10]
    np.testing.assert_array_equal(np.concatenate([r.losses for r in reports]), fitted.losses)
    assert int(fitted.state.step) == 10


def test_seeds_in_one_vmap_are_the_seeds_alone(x64):
    keys = jax.random.split(KEY, 2)
    together = fit(jax.vmap(small_model)(keys), OBJECTIVE, key=keys, **QUICK_FIT)
    assert together.losses.shape == (12, 2)
    for index, key in enumerate(keys):
        alone = fit(small_model(key), OBJECTIVE, key=key, **QUICK_FIT)
        np.testing.assert_allclose(together.model.values[index], alone.model.values, rtol=1e-9)


def test_divergence_stops_with_the_last_good_state():
    import optax

    wild = optax.chain(
        optax.scale(-1.0), optax.scale_by_schedule(lambda n: 10.0 ** jnp.minimum(n, 30))
    )
    with pytest.raises(TrainingDiverged, match="must be finite, got nan or inf at step") as stop:
        fit(
            LinearAttention(2, key=KEY, operator="ball"),
            OBJECTIVE,
            key=KEY,
            steps=60,
            batch=32,
            every=1,
            optimizer=wild,
        )
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(stop.value.state.model))


@pytest.mark.parametrize("steps", [7, 60])  # without and with a rising rate
def test_the_default_optimizer_is_clipped_adam(steps, x64):
    import optax

    schedule = optax.warmup_cosine_decay_schedule(0.0, 0.1, steps // 20, steps)
    chain = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(schedule, b2=0.99))
    model = {"a": jnp.arange(3.0), "b": jnp.ones((2, 2))}

    def moved(optimizer):
        state, models = optimizer.init(model), [model]
        for n in range(steps):
            size = 10.0 ** (n % 5 - 3)  # some gradients are clipped
            gradient = jax.tree.map(lambda leaf: size * jnp.cos(leaf), models[-1])  # noqa: B023
            with jax.numpy_dtype_promotion("standard"):
                changes, state = optimizer.update(gradient, state, models[-1])
            models.append(jax.tree.map(jnp.add, models[-1], changes))
        return models

    close = partial(np.testing.assert_allclose, rtol=1e-6, atol=1e-7)  # its rates are single
    for ours, theirs in zip(moved(adam(0.1, steps)), moved(chain), strict=True):
        jax.tree.map(close, ours, theirs)


def test_any_optimizer_and_any_learner():
    import optax

    fitted = fit(
        Hedge(0.2),
        RegretObjective(3, 20),
        key=KEY,
        steps=150,
        batch=512,
        optimizer=optax.adam(0.02),
    )
    np.testing.assert_allclose(fitted.model.step_size, step_size(3, 20), rtol=0.03)


def test_bad_sizes_are_refused():
    with pytest.raises(ValueError, match="batch must be a multiple of chunk = 5, got 32"):
        fit(small_model(), OBJECTIVE, key=KEY, batch=32, chunk=5)
    with pytest.raises(ValueError, match="steps must be an integer"):
        fit(small_model(), OBJECTIVE, key=KEY, steps=0)


@pytest.mark.parametrize(
    "objective",
    [
        pytest.param(RegretObjective(3, 20), id="regret"),
        pytest.param(HindsightObjective(3, 20), id="hindsight", marks=pytest.mark.slow),
    ],
)
def test_evaluation_is_exact_at_known_policies(objective):
    step = step_size(3, 20)
    for learner, exact in ((Hedge(step), loss(step, 3, 20)), (Optimal(20), optimal_loss(3, 20))):
        found = evaluate(learner, objective, key=KEY, sequences=4000)
        assert found.optimal_loss == optimal_loss(3, 20)
        assert abs(found.loss - exact) <= 4 * found.error + 1e-5
        assert found.error < 3e-3


def test_evaluation_agrees_with_the_plain_average():
    model = LinearAttention(3, key=KEY)
    exact = evaluate(model, RegretObjective(3, 20), key=KEY, sequences=4000)
    plain = evaluate(model, RegretObjective(3, 20, surrogate=jnp.square), key=KEY, sequences=20_000)
    assert plain.optimal_loss is None
    assert abs(exact.loss - plain.loss) < 4 * np.hypot(exact.error, plain.error)


def test_swap_evaluation_agrees_with_the_plain_average():
    model = SwapAttention(2, key=KEY)
    exact = evaluate(model, SwapRegretObjective(2, 5), key=KEY, sequences=4000)
    plain = evaluate(
        model, SwapRegretObjective(2, 5, surrogate=jnp.square), key=KEY, sequences=50_000
    )
    assert abs(exact.loss - plain.loss) < 4 * np.hypot(exact.error, plain.error)


@pytest.mark.parametrize(
    "make",
    [
        lambda: LinearAttention.hedge(3, 0.31),
        lambda: SwapAttention.hedge(3, 0.31),
        lambda: LinearAttention.hedge(3, 0.31, operator="ball"),
    ],
    ids=["linear", "swap", "ball"],
)
def test_step_of_a_model_at_the_stationary_parameters(x64, make):
    found = fit_step_size(make(), 10, key=KEY, sequences=64)
    np.testing.assert_allclose(found.step, 0.31, rtol=1e-9)
    assert found.total_variation < 1e-9


def test_step_fit_minimises_its_error(x64):
    model = LinearAttention(3, key=KEY, scale=0.2)
    found = fit_step_size(model, 10, key=KEY, sequences=256)
    losses = jax.random.normal(KEY, (10, 3, 256))
    before = jnp.cumsum(losses, 0) - losses
    gaps = [
        jax.nn.softmax(-k * before, 1) - model.policies(losses)
        for k in (found.step - 1e-3, found.step, found.step + 1e-3)
        if k >= 0
    ]
    errors = [float(jnp.mean(gap**2)) for gap in gaps]
    assert min(errors) == pytest.approx(found.mse, rel=1e-9)
    here = gaps[-2]
    assert found.l1 == pytest.approx(float(jnp.abs(here).sum(1).mean()))
    assert (found.total_variation, found.per_action) == pytest.approx((found.l1 / 2, found.l1 / 3))


def test_linear_attention_becomes_hedge_quickly():
    model = LinearAttention(3, key=KEY)
    fitted = fit(model, RegretObjective(3, 20), key=KEY, steps=300, batch=256)
    assert fit_step_size(fitted.model, 20, key=KEY).step == pytest.approx(
        step_size(3, 20), rel=0.02
    )


OTHER_LOSSES = {
    "rademacher": {"distribution": Rademacher()},
    "laplace": {"distribution": Laplace()},
    "student-t": {"distribution": StudentT(5.0)},
    "delayed": {"feedback": DelayedFeedback(2)},
    "bandit": {"feedback": BanditFeedback()},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHER_LOSSES)
def test_on_other_losses_it_becomes_hedge_with_the_step_for_them(name):
    """No exact step is known here: it is compared with the best Hedge on common draws."""
    objective = RegretObjective(3, 20, **OTHER_LOSSES[name])
    model = fit(LinearAttention(3, key=KEY), objective, key=KEY, steps=500).model
    found = fit_step_size(model, 20, key=KEY)
    assert found.total_variation < 0.005
    regrets = jax.jit(lambda learner, data: objective.regrets(learner, data))
    data = objective.draw(20_000, key=jax.random.key(77))
    near = np.linspace(0.8, 1.2, 9) * found.step
    spread = [float(jnp.var(regrets(LinearAttention.hedge(3, k), data))) for k in near]
    curve = np.polyfit(near, spread, 2)  # E[R] is the same for all: least variance is least E[R^2]
    assert -curve[1] / (2 * curve[0]) == pytest.approx(found.step, rel=0.05)


@pytest.mark.slow
def test_closed_loop_training_needs_no_calibration():
    """What it plays uncalibrated has lower swap regret than the calibrated heads trained on Gaussian blocks."""
    objective = ClosedLoopSwapObjective(3, 20)
    model = fit(SwapAttention(3, key=KEY), objective, key=KEY, batch=1024, chunk=256).model
    classical = SwapAttention.hedge(3, step_size(3, 20)).calibrated()
    trained, calibrated = (
        evaluate(m, objective, key=KEY, sequences=20_000) for m in (model, classical)
    )
    assert trained.loss < calibrated.loss - 3 * calibrated.error


@pytest.mark.slow
def test_table_transformer():
    """The row of two layers, in half the recipe's steps; `benchmarks/training_table.py` makes all of them."""
    objective = RegretObjective(3, 20)
    model = fit(Transformer(3, layers=2, key=KEY), objective, key=KEY, steps=1500).model
    assert evaluate(model, objective, key=KEY).loss == pytest.approx(14.6276164, rel=0.003)
    biased = RegretObjective(3, 20, BiasedGaussian(), surrogate="identity")
    assert evaluate(model, biased, key=KEY).loss <= 4.05


@pytest.mark.slow
@pytest.mark.parametrize("kind", [LinearAttention, FullLinearAttention])
def test_table_linear(kind):
    keys = jax.random.split(KEY, 3)
    models = fit(
        jax.vmap(lambda key: kind(3, key=key))(keys), RegretObjective(3, 20), key=keys
    ).model
    for seed in range(3):
        model = jax.tree.map(lambda leaf, s=seed: leaf[s], models)
        found = fit_step_size(model, 20, key=KEY)
        measured = evaluate(model, RegretObjective(3, 20), key=KEY)
        assert found.total_variation <= 0.004
        assert found.step == pytest.approx(0.4479049, rel=0.005)
        assert measured.loss == pytest.approx(14.7940792, rel=0.0005)


@pytest.mark.slow
def test_table_ball():
    keys = jax.random.split(KEY, 3)
    start = jax.vmap(lambda key: LinearAttention(3, key=key, operator="ball"))(keys)
    models = fit(start, RegretObjective(3, 20), key=keys).model
    for seed in range(3):
        model = jax.tree.map(lambda leaf, s=seed: leaf[s], models)
        assert fit_step_size(model, 20, key=KEY).step == pytest.approx(0.1189416, rel=0.01)


@pytest.mark.slow
def test_table_swap():
    from regrax.games import ce_gap, play, weighted_rps

    keys, game = jax.random.split(KEY, 3), weighted_rps()
    start = jax.vmap(lambda key: SwapAttention(3, key=key))(keys)
    models = fit(start, SwapRegretObjective(3, 20), key=keys).model
    stationary = np.asarray(SwapAttention.hedge(3, 0.447904905444).values)
    expected = stationary - stationary.mean(1, keepdims=True)
    for seed in range(3):
        model = jax.tree.map(lambda leaf, s=seed: leaf[s], models)
        centred = np.asarray(model.values - model.values.mean(1, keepdims=True))
        np.testing.assert_allclose(centred, expected, rtol=0, atol=0.01)
        np.testing.assert_allclose(model.scores, 0, rtol=0, atol=0.01)
        blocks = centred.reshape(3, 3, 3, 3)
        steps = [-np.trace(blocks[j, :, j]) / 2 for j in range(3)]
        np.testing.assert_allclose(steps, 0.447904905444, rtol=0.01)
        assert ce_gap(play(game, model.calibrated(), rounds=20).joint, game) <= 0.052
