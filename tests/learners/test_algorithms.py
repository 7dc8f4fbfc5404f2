"""Each algorithm against an independent computation: numpy loops, fixed points, equivalences, closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from scipy.optimize import brentq

from regrax.domains import Simplex
from regrax.games import play, weighted_rps
from regrax.learners import (
    AdaHedge,
    BanditLearner,
    BlumMansour,
    Delayed,
    DiscountedRegretMatching,
    DoublingHedge,
    FollowTheLeader,
    FollowThePerturbedLeader,
    Hedge,
    InternalRegretMatching,
    InverseSqrt,
    OnlineGradientDescent,
    OptimisticHedge,
    PredictiveRegretMatchingPlus,
    RegretMatching,
    StoltzLugosi,
    TreeSwap,
    rollout,
)
from regrax.learners.bandit import tsallis_leader
from regrax.learners.swap import balanced
from regrax.regret import external_regret, swap_regret
from regrax.specs import parse_learner, registered
from regrax.theory import optimal_policy

ROUNDING = 1e-10


def gaussian(rounds=12, actions=3, seed=0):
    return np.random.default_rng(seed).normal(size=(rounds, actions))


def softmax(x):
    weights = np.exp(x - x.max())
    return weights / weights.sum()


def proportional(x):
    positive = np.maximum(x, 0)
    return positive / positive.sum() if positive.sum() > 0 else np.full(len(x), 1 / len(x))


def optimistic_hedge(losses):
    padded = np.vstack([np.zeros(3), losses])
    return [softmax(-0.3 * (losses[:t].sum(0) + padded[t])) for t in range(len(losses))]


def ada_hedge(losses):
    """The algorithm as its paper lists it: weights and mix loss at the step ln d / Delta."""

    def mix(step, total):
        least = total.min()
        if np.isinf(step):
            return (total == least) / (total == least).sum(), least
        weights = np.exp(-step * (total - least))
        return weights / weights.sum(), least - np.log(weights.sum() / len(total)) / step

    total, gap, policies = np.zeros(losses.shape[1]), 0.0, []
    for loss in losses:
        step = np.log(len(loss)) / gap if gap > 0 else np.inf
        policy, before = mix(step, total)
        total = total + loss
        gap += max(0, policy @ loss - (mix(step, total)[1] - before))
        policies.append(policy)
    return policies


def gradient_descent(losses):
    policy, policies = np.full(3, 1 / 3), []
    for t, loss in enumerate(losses, 1):
        policies.append(policy)
        point = policy - 0.5 / np.sqrt(t) * loss
        level = brentq(
            lambda theta, y=point: np.maximum(y - theta, 0).sum() - 1, point.min() - 1, point.max()
        )
        policy = np.maximum(point - level, 0)
    return policies


def predictive(losses):
    regrets, last, policies = np.zeros(3), np.zeros(3), []
    for loss in losses:
        policies.append(proportional(regrets + last))
        last = policies[-1] @ loss - loss
        regrets = np.maximum(regrets + last, 0)
    return policies


def discounted(losses):
    regrets, policies = np.zeros(3), []
    for t, loss in enumerate(losses, 1):
        policies.append(proportional(regrets))
        regrets = regrets + policies[-1] @ loss - loss
        up, down = t**2.0 / (t**2.0 + 1), t**-1.0 / (t**-1.0 + 1)
        regrets = np.where(regrets > 0, up * regrets, down * regrets)
    return policies


@pytest.mark.parametrize(
    ("learner", "by_hand"),
    [
        (OptimisticHedge(0.3), optimistic_hedge),
        (AdaHedge(), ada_hedge),
        (OnlineGradientDescent(InverseSqrt(0.5)), gradient_descent),
        (PredictiveRegretMatchingPlus(), predictive),
        (DiscountedRegretMatching(2.0, -1.0), discounted),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_against_a_numpy_loop(x64, learner, by_hand):
    losses = gaussian()
    np.testing.assert_allclose(rollout(learner, losses), by_hand(losses), atol=ROUNDING)


def test_ada_hedge_is_scale_free_and_starts_as_the_leader(x64):
    losses = gaussian()
    scaled = rollout(AdaHedge(), 1e6 * losses)
    np.testing.assert_allclose(scaled, rollout(AdaHedge(), losses), atol=1e-8)
    equal = rollout(AdaHedge(), np.ones((12, 3)))
    np.testing.assert_allclose(equal, 1 / 3, rtol=1e-12)


def test_doubling_hedge_is_hedge_in_each_epoch(x64):
    losses = gaussian(12)
    epochs = [(0, 1), (1, 3), (3, 7), (7, 12)]  # the last one cut short
    steps = [2 / np.sqrt(length) for length in (1, 2, 4, 8)]
    parts = [
        [softmax(-step * losses[start:t].sum(0)) for t in range(start, end)]
        for (start, end), step in zip(epochs, steps, strict=True)
    ]
    np.testing.assert_allclose(rollout(DoublingHedge(2.0), losses), np.concatenate(parts))


def test_doubling_hedge_adds_up_the_bounds_of_its_epochs():
    parts = [
        Hedge(2 / np.sqrt(length)).bound(3, played, 0.7)
        for length, played in ((1, 1), (2, 2), (4, 4), (8, 5))
    ]
    assert DoublingHedge(2.0).bound(3, 12, 0.7) == pytest.approx(sum(parts))


def test_optimistic_hedge_has_less_regret_in_a_game(x64):
    """Against itself regret stays constant where that of Hedge grows: Syrgkanis et al. (2015)."""
    total = {}
    for learner in (OptimisticHedge(0.3), Hedge(0.3)):
        run = play(weighted_rps(), learner, 3000)
        regrets = [external_regret(*rows) for rows in zip(run.policies, run.losses, strict=True)]
        total[type(learner).__name__] = float(sum(regrets))
    assert total["OptimisticHedge"] <= 2 * np.log(3) / 0.3
    assert total["Hedge"] > 10 * total["OptimisticHedge"]


def flow_imbalance(policy, rates):
    off = rates - np.diag(np.diag(rates))
    return np.abs(policy * off.sum(1) - policy @ off).max() / max(off.sum(1).max(), 1e-300)


def test_balanced_flow_breaks_ties_evenly(x64):
    two_pairs = np.zeros((5, 5))
    two_pairs[0, 1] = two_pairs[1, 0] = two_pairs[2, 3] = two_pairs[3, 2] = 1.0
    two_pairs[4, 0] = two_pairs[4, 2] = 1.0
    flow = jax.jit(balanced)
    np.testing.assert_allclose(flow(two_pairs), [0.25, 0.25, 0.25, 0.25, 0], atol=1e-9)
    np.testing.assert_allclose(flow(np.zeros((5, 5))), 1 / 5, rtol=1e-12)


@pytest.mark.parametrize("learner", [InternalRegretMatching(), StoltzLugosi(0.5)], ids=["hm", "sl"])
def test_pairs_balance_their_gains_every_round(x64, learner):
    losses = gaussian(30)
    policies = np.asarray(rollout(learner, losses))
    for t in range(1, 30):
        past = policies[:t].T @ losses[:t]
        gains = np.diag(past)[:, None] - past
        rates = np.exp(0.5 * gains) if isinstance(learner, StoltzLugosi) else np.maximum(gains, 0)
        assert flow_imbalance(policies[t], rates) < 1e-12


def tree_swap(base, depth, branching, losses):
    """Level by level: blocks of branching**h rounds, each played with the base's policy on the blocks before it."""
    rounds, policies = len(losses), np.zeros_like(losses)
    for h in range(depth):
        block = branching**h
        for start in range(0, rounds, block * branching):
            inside = losses[start : start + block * branching]
            whole = len(inside) // block
            means = inside[: whole * block].reshape(whole, block, 3).mean(1)
            answers = rollout(base, np.vstack([means, np.zeros(3)]))  # one more for the open block
            policies[start : start + len(inside)] += np.repeat(answers, block, 0)[: len(inside)]
    return policies / depth


@pytest.mark.slow
def test_tree_swap_is_a_copy_a_level(x64):
    losses = gaussian(31)
    found = rollout(TreeSwap(Hedge(0.7), 3, 3), losses)
    np.testing.assert_allclose(found, tree_swap(Hedge(0.7), 3, 3, losses), atol=ROUNDING)


def test_tree_swap_bound_is_the_papers_at_whole_trees():
    base, depth, branching = Hedge(0.5), 3, 16
    rounds = branching**depth
    promised = base.bound(4, branching) / branching + 1 / depth
    assert TreeSwap(base, depth, branching).bound(4, rounds) == pytest.approx(rounds * promised)
    assert TreeSwap(FollowTheLeader(), depth, branching).bound(4, rounds) is None


@pytest.mark.parametrize(
    "base",
    [
        pytest.param(FollowTheLeader(), id="ftl"),
        pytest.param(BlumMansour(Hedge(0.5)), id="bm", marks=pytest.mark.slow),
    ],
)
def test_delayed_is_the_base_some_rounds_ago(x64, base):
    losses = gaussian(12)
    late, prompt = rollout(Delayed(base, 3), losses), rollout(base, losses)
    np.testing.assert_allclose(late[3:], prompt[:-3], atol=ROUNDING)
    np.testing.assert_allclose(late[:3], 1 / 3, rtol=1e-12)


def test_the_perturbed_leader_is_optimal_for_gaussian_losses(x64):
    losses = gaussian(6)
    totals = jnp.array(np.vstack([np.zeros(3), np.cumsum(losses, 0)[:-1]]))
    found = rollout(FollowThePerturbedLeader(3.0), losses)
    np.testing.assert_allclose(found, optimal_policy(totals, 9.0), atol=1e-12)


@pytest.mark.parametrize("actions", [2, 7, 1000])
def test_the_tsallis_leader_solves_its_equation(x64, actions):
    rng, leader = np.random.default_rng(actions), jax.jit(tsallis_leader)
    for size in (0.0, 1e-3, 1.0, 1e4):
        gaps = size * rng.exponential(size=actions)
        gaps -= gaps.min()
        root = brentq(
            lambda y, g=gaps: (4 / (g + y) ** 2).sum() - 1,
            2 - 1e-9,
            2 * actions**0.5 + 1e-9,
            xtol=1e-14,
        )
        found = np.asarray(leader(gaps))
        np.testing.assert_allclose(found, 4 / (gaps + root) ** 2, rtol=1e-11)
        assert abs(found.sum() - 1) < 1e-14


def test_the_tsallis_leader_in_float32_and_its_derivative():
    gaps = jnp.array([0.0, 0.5, 3.0, 1e6])
    assert abs(float(tsallis_leader(gaps).sum()) - 1) < 3e-7
    with jax.enable_x64(True):
        gaps = jnp.array([0.0, 0.5, 3.0])
        check_grads(tsallis_leader, (gaps,), 1, modes=["fwd", "rev"], atol=1e-6)


EXTERNAL = [
    text
    for learner in registered("learner").values()
    for text in learner.examples
    if not isinstance(parse_learner(text), BanditLearner)
    and isinstance(parse_learner(text).domain, Simplex)
    and parse_learner(text).regret != "swap"
]


@pytest.mark.slow
@pytest.mark.parametrize("text", EXTERNAL)
def test_blum_mansour_takes_any_base(x64, text):
    learner = BlumMansour(parse_learner(text))
    losses = jax.random.uniform(jax.random.key(0), (300, 4))
    policies = rollout(learner, losses)
    np.testing.assert_allclose(policies.sum(1), 1, atol=1e-9)
    bound = learner.bound(4, 300)
    assert bound is None or float(swap_regret(policies, losses)) <= bound


def test_blum_mansour_bounds_over_other_bases():
    ada = AdaHedge()
    # the widest round of every copy may be as wide as the losses: only the square-root part shrinks by sqrt(d)
    each = ada.bound(4, 100, 0.5, largest=1.0)
    assert BlumMansour(ada).bound(4, 100) == pytest.approx(4 * each)
    assert each == pytest.approx(0.5 * np.sqrt(100 * np.log(4)) + 4 / 3 * np.log(4) + 2)
    assert BlumMansour(InternalRegretMatching()).bound(4, 100) is None
    assert BlumMansour(RegretMatching()).bound(4, 100) == pytest.approx(4 * np.sqrt(300) / 2)
