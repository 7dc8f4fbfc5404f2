"""The contract of every objective, against brute force, and the identities between their expected gradients."""

import dataclasses
import inspect
import itertools
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from jax.test_util import check_grads
from scipy.special import ndtr

from regrax import training
from regrax.attention import LinearAttention, SwapAttention
from regrax.learners import rollout
from regrax.theory import optimal_loss
from regrax.training import BiasedGaussian, Gaussian, HindsightObjective, Objective, RegretObjective

ROUNDING = 1e-10
LARGEST_Z = 4.5  # about a hundred z-scores: one run in a thousand exceeds it

KEY = jax.random.key(3)
D, T, N = 2, 3, 4
KINDS = [RegretObjective, HindsightObjective]
KINDS += [training.SwapRegretObjective, training.ClosedLoopSwapObjective]
LINEAR = partial(LinearAttention, D, key=KEY)
BALL = partial(LinearAttention, D, key=KEY, operator="ball", radius=2.0)
SWAP = partial(SwapAttention, D, key=KEY)
CORRELATED = Gaussian([[2.0, 0.5], [0.5, 1.0]])


@jax.jit
def play(model, seen):
    """Play every sequence round by round."""
    return jax.vmap(lambda sequence: rollout(model, sequence), -1, -1)(seen)


def answers(model, seen):
    """What a model plays on every sequence; without the projection on the ball, as in training."""
    if seen.ndim == 4:
        return np.asarray(model.columns(seen))
    return np.asarray(model.policies(seen) if model.domain.name == "ball" else play(model, seen))


def external(played, losses):
    return (played * losses).sum((0, 1)) - losses.sum(0).min(0)


def on_ball(played, losses):
    return (played * losses).sum((0, 1)) + 2 * np.linalg.norm(losses.sum(0), axis=0)


def of_heads(played, blocks):
    return sum(external(played[:, i], blocks[:, i]) for i in range(D))


def swap(played, losses):
    """The maximum over all maps of actions to actions."""
    maps = itertools.product(range(D), repeat=D)
    gains = [(played * (losses - losses[:, list(sigma)])).sum((0, 1)) for sigma in maps]
    return np.max(gains, 0)


def mean_of(function, regret=external):
    return lambda played, losses: np.mean(function(regret(played, losses)))


def weighted_by_groups(played, losses):
    groups = external(played, losses).reshape(-1, 2)
    weights = np.exp(0.7 * groups)
    return np.mean((groups**2 * weights).sum(1) / weights.sum(1))


def forecast(played, losses, covariance):
    """sum_t ||pi_t - x*||_C^2 - T ||x*||_C^2 and <S_T, x*> of each sequence."""
    best = np.eye(D)[losses.sum(0).argmin(0)].T
    square = lambda x: np.einsum("i...n,ij,j...n->...n", x, covariance, x)  # noqa: E731
    errors = square(np.moveaxis(played - best, 1, 0)).sum(0) - T * square(best)
    return errors, losses.sum(0).min(0)


def hindsight(covariance):
    def loss(played, losses):
        errors, least = forecast(played, losses, covariance)
        return np.mean(errors + least**2)

    return loss


def hindsight_of_heads(played, blocks):
    heads = [forecast(played[:, i], blocks[:, i], np.eye(D)) for i in range(D)]
    return np.mean(sum(errors for errors, _ in heads) + sum(least for _, least in heads) ** 2)


def conditional_mean(played, losses):
    """With r rounds to go, the first of two actions ends best with probability Phi((S_2 - S_1) / sqrt(2 r))."""
    before = losses.cumsum(0) - losses
    remaining = np.arange(T, 0, -1)[:, None]
    first = ndtr((before[:, 1] - before[:, 0]) / np.sqrt(2 * remaining))
    errors = (played - np.stack([first, 1 - first], 1)) ** 2
    return optimal_loss(D, T) + np.mean(errors.sum((0, 1)))


class Entry(NamedTuple):
    """An objective, a model that it trains, and its loss by brute force."""

    objective: Objective
    model: Callable
    loss: Callable


BIASED = RegretObjective(D, T, BiasedGaussian(), surrogate="identity")
DELAYED = RegretObjective(D, T, feedback=training.DelayedFeedback(1))
WEIGHTED = RegretObjective(D, T, group_size=2, sharpness=0.7)
CONDITIONAL = HindsightObjective(D, T, conditional=True)
WITH_COVARIANCE = HindsightObjective(D, T, CORRELATED)
TABLE = {
    "square": Entry(RegretObjective(D, T), LINEAR, mean_of(np.square)),
    "function": Entry(RegretObjective(D, T, surrogate=jnp.cosh), LINEAR, mean_of(np.cosh)),
    "identity": Entry(BIASED, LINEAR, mean_of(np.array)),
    "groups": Entry(WEIGHTED, LINEAR, weighted_by_groups),
    "ball": Entry(RegretObjective(D, T), BALL, mean_of(np.square, on_ball)),
    "delayed": Entry(DELAYED, LINEAR, mean_of(np.square)),
    "swap": Entry(training.SwapRegretObjective(D, T), SWAP, mean_of(np.square, of_heads)),
    "closed loop": Entry(training.ClosedLoopSwapObjective(D, T), SWAP, mean_of(np.square, swap)),
    "hindsight": Entry(HindsightObjective(D, T), LINEAR, hindsight(np.eye(D))),
    "correlated": Entry(WITH_COVARIANCE, LINEAR, hindsight(CORRELATED.covariance)),
    "conditional": Entry(CONDITIONAL, LINEAR, conditional_mean),
    "heads": Entry(HindsightObjective(D, T, swap=True), SWAP, hindsight_of_heads),
}
LONG_TO_COMPILE = ("function", "identity", "groups", "closed loop", "correlated", "heads")


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(entry, id=name, marks=[pytest.mark.slow] if name in LONG_TO_COMPILE else [])
        for name, entry in TABLE.items()
    ],
)
def test_every_objective_keeps_the_contract(x64, entry):
    model, objective = entry.model(), entry.objective
    draw = jax.jit(lambda: objective.draw(N, key=KEY))
    data = draw()
    jax.tree.map(np.testing.assert_array_equal, data, draw())
    losses, seen = data if isinstance(objective, RegretObjective) else (data, data)
    expected = entry.loss(answers(model, seen), np.asarray(losses))
    loss = jax.jit(lambda data: objective.loss(model, data))
    halves = [loss(jax.tree.map(lambda x, i=i: x[..., i : i + 2], data)) for i in (0, 2)]
    np.testing.assert_allclose([loss(data), np.mean(halves)], [expected] * 2, rtol=ROUNDING)
    # the gradient is the derivative of the loss only without a baseline
    has_baseline = getattr(objective, "baseline", False)
    plain = dataclasses.replace(objective, baseline=False) if has_baseline else objective
    check_grads(
        jax.jit(lambda model: plain.loss(model, data)), (model,), 1, "rev", rtol=1e-6, eps=1e-5
    )


def test_the_table_has_every_objective():
    kinds = {kind for kind in vars(training).values() if inspect.isclass(kind)}
    objectives = {kind for kind in kinds if issubclass(kind, Objective)} - {Objective}
    assert objectives == set(KINDS) == {type(entry.objective) for entry in TABLE.values()}


def test_surrogates_are_their_formulas():
    regrets = np.linspace(-3, 3, 7, dtype=np.float32)
    positive = np.maximum(regrets, 0)
    formulas = {
        "square": regrets**2,
        "positive": positive,
        "positive-square": positive**2,
        "softplus": np.log1p(np.exp(regrets)),
        "identity": regrets,
    }
    assert formulas.keys() == training.SURROGATES.keys()
    for name, expected in formulas.items():
        function = training.SURROGATES[name]
        np.testing.assert_allclose(function(jnp.asarray(regrets)), expected, rtol=1e-6)


def test_the_baseline_leaves_every_derivative_unbiased(x64):
    model = LinearAttention(3, key=KEY)
    data = RegretObjective(3, 5, group_size=3).draw(12, key=KEY)

    def weight(regrets, sharpness):
        return jnp.exp(sharpness * regrets)

    def loss(sharpness, baseline=True):
        settings = {"group_size": 3, "weight": weight, "baseline": baseline}
        objective = RegretObjective(3, 5, **settings)
        return eqx.tree_at(lambda own: own.sharpness, objective, sharpness).loss(model, data)

    exact = jax.grad(loss)(1.5, baseline=False)
    np.testing.assert_allclose(jax.grad(loss)(1.5), exact, rtol=1e-9)


def batch_gradients(model, objective, losses):
    """The gradient on each of 200 small batches, flattened."""
    data = (losses, losses) if isinstance(objective, RegretObjective) else losses

    def flat(batch):
        return ravel_pytree(jax.grad(objective.loss)(model, batch))[0]

    return np.asarray(jax.jit(jax.vmap(flat))(jax.tree.map(jnp.asarray, data)), float)


RANDOM = partial(LinearAttention, 3, key=KEY, scale=0.3)
THREE = Gaussian([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 0.5]])
GROUPS = RegretObjective(3, 6, group_size=4, sharpness=0.3)
HINDSIGHT = HindsightObjective(3, 20)
REGRET_FORMS = [RegretObjective(3, 20), HINDSIGHT, dataclasses.replace(HINDSIGHT, conditional=True)]
PAIR = [RegretObjective(3, 6, THREE), HindsightObjective(3, 6, THREE)]
SWAPS = [training.SwapRegretObjective(2, 5), HindsightObjective(2, 5, swap=True)]
EQUAL_GRADIENTS = {
    "random": (RANDOM, REGRET_FORMS),
    "optimum": (partial(LinearAttention.hedge, 3, 0.4479), REGRET_FORMS),
    "swap": (partial(SwapAttention, 2, key=KEY, scale=0.3), SWAPS),
    "correlated": (RANDOM, PAIR),
    "ball": (partial(LinearAttention, 3, key=KEY, scale=0.1, operator="ball"), PAIR),
    "groups": (RANDOM, [GROUPS]),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) for name in ("random", "optimum")]
    + ["swap", "correlated", "ball", "groups"],
)
def test_all_forms_have_the_expected_gradient_of_regret(name):
    make, objectives = EQUAL_GRADIENTS[name]
    model = make()
    first = objectives[0]
    shape = (first.horizon, *[first.actions] * (2 if name == "swap" else 1))
    losses = np.random.default_rng(5).normal(size=(200, *shape, 24)).astype(np.float32)
    if name in ("correlated", "ball"):
        losses = np.einsum("ij,btjn->btin", THREE.root.astype(np.float32), losses)
    plain = batch_gradients(model, dataclasses.replace(first, baseline=False), losses)
    for objective in objectives:
        gradients = batch_gradients(model, objective, losses)
        difference = plain - gradients
        error = difference.std(0, ddof=1) / len(difference) ** 0.5
        moving = error > 1e-6  # the gradient is zero along directions that softmax ignores
        assert np.abs(difference.mean(0)[moving] / error[moving]).max() < LARGEST_Z
        if objectives is REGRET_FORMS:
            assert plain.var(0).sum() > gradients.var(0).sum()


@pytest.mark.parametrize("distribution", [Gaussian(), BiasedGaussian()])
def test_the_baseline_changes_only_gradients_of_fair_losses(x64, distribution):
    objective = RegretObjective(D, T, distribution)
    plain = dataclasses.replace(objective, baseline=False)
    both = jax.jit(lambda *a: [jax.value_and_grad(kind.loss)(*a) for kind in (objective, plain)])
    (loss, gradient), (expected, slope) = both(LINEAR(), objective.draw(N, key=KEY))
    np.testing.assert_allclose(loss, expected, rtol=ROUNDING)
    assert bool(eqx.tree_equal(gradient, slope)) == (distribution.mean is None)


@pytest.mark.parametrize("kind", [RegretObjective, training.SwapRegretObjective])
def test_identity_warns_on_fair_losses(kind):
    with pytest.warns(UserWarning, match="no gradient"):
        kind(D, T, surrogate="identity")


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize("kind", KINDS)
def test_every_objective_rejects_wrong_arguments(kind):
    wrong = {"surrogate": "cube", "distribution": "gaussian", "actions": 0, "horizon": 2.5}
    for name in wrong.keys() & {field.name for field in dataclasses.fields(kind)}:
        with pytest.raises(ValueError, match=f"^{name} must be"):
            kind(**{"actions": D, "horizon": T, name: wrong[name]})
    objective = kind(D, T)
    with pytest.raises(ValueError, match=r"^count must be"):
        objective.draw(0, key=KEY)
    model = SwapAttention if "Swap" in kind.__name__ else LinearAttention
    with pytest.raises(ValueError, match="is for 3 actions, got 2"):
        objective.loss(model(3, key=KEY), objective.draw(N, key=KEY))


LOSSES = np.ones((T, D, N), np.float32)
BLOCKS = np.ones((T, D, D, N), np.float32)


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GROUPS.draw(6, key=KEY), "group_size = 4, so count, batch and chunk .* got 6"),
        (lambda: RegretObjective(D, T, feedback="bandit"), "must be a PartialFeedback or None"),
        (lambda: HindsightObjective(D, T, training.Rademacher()), "losses, got Rademacher"),
        (lambda: HindsightObjective(D, T, CORRELATED, conditional=True), "got a covariance"),
        (lambda: HindsightObjective(D, T, CORRELATED, swap=True), "got a covariance"),
        (lambda: TABLE["swap"].objective.loss(LINEAR(), BLOCKS), "requires a SwapAttention"),
        (lambda: CONDITIONAL.loss(BALL(), LOSSES), "defined on the simplex"),
        (lambda: TABLE["closed loop"].objective.loss(BALL(), LOSSES), "defined on the simplex"),
    ],
)
def test_wrong_combinations_are_rejected(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_bandit_estimates_are_unbiased():
    losses = jnp.broadcast_to(jnp.array([1.0, -2.0, 0.5])[None, :, None], (6, 3, 20_000))
    seen = np.asarray(training.BanditFeedback().observe(losses, key=KEY))
    np.testing.assert_allclose(seen.mean((0, 2)), [1.0, -2.0, 0.5], atol=0.05)


def test_renamed_functions_work_and_warn():
    objective, model = HindsightObjective(3, 20), RANDOM()
    with pytest.warns(DeprecationWarning, match=r"objective.optimal_loss\(model\)"):
        assert training.least_loss(model, objective) == objective.optimal_loss(model)
    with pytest.warns(DeprecationWarning, match=r"objective.recipe\(model\)"):
        assert training.recipe(model) == model.recipe
    with pytest.warns(DeprecationWarning, match=r"training.Feedback is now PartialFeedback"):
        assert training.Feedback is training.PartialFeedback
    with pytest.warns(DeprecationWarning, match=r"optimal_loss\(model\)"):
        assert objective.optimum == objective.optimal_loss(model)
