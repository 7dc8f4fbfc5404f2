"""Each algorithm against an independent computation: numpy loops, fixed points, equivalences, closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads
from scipy.optimize import brentq

import regrax as rx
from regrax.games import weighted_rps
from regrax.learners.bandit import estimate
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


def hedge(step):
    return lambda losses: [softmax(-step(t) * losses[:t].sum(0)) for t in range(len(losses))]


def doubling_hedge(losses):
    """Hedge in epochs of 1, 2, 4, 8 and the first 14 of 16 rounds."""
    epochs = [losses[2**k - 1 : 2 ** (k + 1) - 1] for k in range(5)]
    return np.concatenate(
        [hedge(lambda _, k=k: 2 / 2 ** (k / 2))(epoch) for k, epoch in enumerate(epochs)]
    )


def ada_hedge(losses):
    """Weights and mix loss at the step ln d / Delta, as in the paper."""

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


def matching(add, forecast=0):
    """Regret matching, given how the sum of regrets continues from a round."""

    def play(losses):
        regrets, last, policies = np.zeros(3), np.zeros(3), []
        for t, loss in enumerate(losses, 1):
            policies.append(proportional(regrets + forecast * last))
            last = policies[-1] @ loss - loss
            regrets = add(regrets + last, t)
        return policies

    return play


def discount(regrets, t):
    return regrets * np.where(regrets > 0, t**2.0 / (t**2.0 + 1), t**-1.0 / (t**-1.0 + 1))


def positive(regrets, t):
    return np.maximum(regrets, 0)


def perturbed_leader(losses):
    return optimal_policy(jnp.array(losses.cumsum(0) - losses), 9.0)


def tree_swap(losses):
    """Level by level: blocks of 3**h rounds, each played with the base's policy on the blocks before it."""
    rounds, policies = len(losses), np.zeros_like(losses)
    for block in (1, 3, 9):
        for start in range(0, rounds, block * 3):
            inside = losses[start : start + block * 3]
            whole = len(inside) // block
            means = inside[: whole * block].reshape(whole, block, 3).mean(1)
            # and the open block
            answers = rx.rollout(rx.Hedge(0.7), np.vstack([means, np.zeros(3)]))
            policies[start : start + len(inside)] += np.repeat(answers, block, 0)[: len(inside)]
    return policies / 3


def delayed(base):
    """The base, three rounds ago."""
    return lambda losses: np.vstack([np.full((3, 3), 1 / 3), rx.rollout(base, losses)[:-3]])


BLUM_MANSOUR = rx.BlumMansour(rx.Hedge(0.5))


@pytest.mark.parametrize(
    ("learner", "by_hand"),
    [
        (rx.Hedge(rx.InverseSqrt(2.0)), hedge(lambda t: 2 / np.sqrt(t + 1))),
        (rx.Hedge(rx.PerRound(0.5, 0.4, 0.3)), hedge(lambda t: (0.5, 0.4, 0.3)[min(t, 2)])),
        (rx.OptimisticHedge(0.3), optimistic_hedge),
        (rx.DoublingHedge(2.0), doubling_hedge),
        (rx.AdaHedge(), ada_hedge),
        (rx.OnlineGradientDescent(rx.InverseSqrt(0.5)), gradient_descent),
        (rx.RegretMatching(), matching(lambda regrets, t: regrets)),
        (rx.RegretMatchingPlus(), matching(positive)),
        (rx.PredictiveRegretMatchingPlus(), matching(positive, forecast=1)),
        (rx.DiscountedRegretMatching(2.0, -1.0), matching(discount)),
        (rx.FollowThePerturbedLeader(3.0), perturbed_leader),
        (rx.Delayed(rx.FollowTheLeader(), 3), delayed(rx.FollowTheLeader())),
        pytest.param(rx.Delayed(BLUM_MANSOUR, 3), delayed(BLUM_MANSOUR), marks=pytest.mark.slow),
        pytest.param(rx.TreeSwap(rx.Hedge(0.7), 3, 3), tree_swap, marks=pytest.mark.slow),
    ],
    ids=lambda value: str(value) if isinstance(value, rx.Learner) else "",
)
def test_against_a_numpy_loop(x64, learner, by_hand):
    losses = gaussian(29)
    np.testing.assert_allclose(rx.rollout(learner, losses), by_hand(losses), atol=ROUNDING)


def test_ada_hedge_is_scale_free_and_starts_as_the_leader(x64):
    losses, learner = gaussian(), rx.AdaHedge()
    np.testing.assert_allclose(
        rx.rollout(learner, 1e6 * losses), rx.rollout(learner, losses), atol=1e-8
    )
    np.testing.assert_allclose(rx.rollout(learner, np.ones((12, 3))), 1 / 3, rtol=1e-12)


def test_optimistic_hedge_has_less_regret_in_a_game(x64):
    """Against itself regret stays constant where that of Hedge grows: Syrgkanis et al. (2015)."""
    total = {}
    for learner in (rx.OptimisticHedge(0.3), rx.Hedge(0.3)):
        run = rx.play(weighted_rps(), learner, 3000)
        regrets = [rx.external_regret(*rows) for rows in zip(run.policies, run.losses, strict=True)]
        total[type(learner).__name__] = float(sum(regrets))
    assert total["OptimisticHedge"] <= 2 * np.log(3) / 0.3
    assert total["Hedge"] > 10 * total["OptimisticHedge"]


def flow_imbalance(policy, rates):
    off = rates - np.diag(np.diag(rates))
    return np.abs(policy * off.sum(1) - policy @ off).max() / max(off.sum(1).max(), 1e-300)


@pytest.mark.parametrize(
    "learner", [rx.InternalRegretMatching(), rx.StoltzLugosi(0.5)], ids=["hm", "sl"]
)
def test_pairs_balance_their_gains_every_round(x64, learner):
    losses = gaussian(30)
    policies = np.asarray(rx.rollout(learner, losses))
    for t in range(1, 30):
        past = policies[:t].T @ losses[:t]
        gains = np.diag(past)[:, None] - past
        rates = (
            np.exp(0.5 * gains) if isinstance(learner, rx.StoltzLugosi) else np.maximum(gains, 0)
        )
        assert flow_imbalance(policies[t], rates) < 1e-12


def tsallis_leader(sums):
    """The policy of Tsallis-INF at step size 1."""
    return rx.TsallisINF(1.0).policy_from_sums(jnp.asarray(sums), 0)


@pytest.mark.parametrize("actions", [2, 7, 1000])
def test_the_tsallis_leader_solves_its_equation(x64, actions):
    rng, leader = np.random.default_rng(actions), jax.jit(tsallis_leader)
    for size in (0.0, 1e-3, 1.0, 1e4):
        gaps = size * rng.exponential(size=actions)
        gaps -= gaps.min()
        ends = 2 - 1e-9, 2 * actions**0.5 + 1e-9
        root = brentq(lambda y, g=gaps: (4 / (g + y) ** 2).sum() - 1, *ends, xtol=1e-14)
        found = np.asarray(leader(gaps))
        np.testing.assert_allclose(found, 4 / (gaps + root) ** 2, rtol=1e-11)
        assert abs(found.sum() - 1) < 1e-14


def test_the_tsallis_leader_has_its_derivative(x64):
    point = jnp.array([0.0, 0.5, 3.0])
    check_grads(tsallis_leader, (point,), 1, modes=["fwd", "rev"], atol=1e-6)


KEY = jax.random.key(0)
COINS = np.random.default_rng(0).random((20, 3))


def test_loss_estimates_are_unbiased(x64):
    policy, losses = jnp.array([0.1, 0.2, 0.7]), jnp.array([0.3, 1.0, 0.5])
    estimates = [estimate(policy, (jnp.array(a), losses[a])) for a in range(3)]
    np.testing.assert_allclose(policy @ jnp.stack(estimates), losses, rtol=1e-12)


@pytest.mark.parametrize(
    ("bandit", "equal"),
    [
        (rx.ImportanceWeighted(rx.Hedge(0.2), 0.1), rx.Exp3(0.2, 0.1)),
        (rx.Exp3IX(0.2, 1e-12), rx.Exp3(0.2)),
    ],
    ids=str,
)
def test_exp3_is_a_limit_of_other_bandits(x64, bandit, equal):
    one, other = (rx.rollout(learner, COINS, key=KEY) for learner in (bandit, equal))
    np.testing.assert_allclose(one, other, atol=1e-8)


def test_tsallis_inf_has_small_regret_on_iid_losses():
    """Stochastic losses with a gap: regret grows like ln T, far below the square root of the bound."""
    means = jnp.array([0.3, 0.6, 0.6, 0.6])

    def regret(key):
        losses = (jax.random.uniform(key, (1000, 4)) < means[None]).astype(float)
        policies = rx.rollout(rx.TsallisINF(), losses, key=jax.random.fold_in(key, 1))
        return jnp.sum(policies @ means - means[0])

    regrets = jax.jit(jax.vmap(regret))(jax.random.split(KEY, 32))
    assert regrets.mean() < 0.3 * rx.TsallisINF().bound(4, 1000)


EXTERNAL = [
    text
    for learner in registered("learner").values()
    for text in learner.examples
    if not isinstance(parse_learner(text), rx.BanditLearner)
    and isinstance(parse_learner(text).domain, rx.Simplex)
    and parse_learner(text).regret != "swap"
]


@pytest.mark.slow
@pytest.mark.parametrize("text", EXTERNAL)
def test_blum_mansour_takes_any_base(x64, text):
    learner = rx.BlumMansour(parse_learner(text))
    losses = jax.random.uniform(jax.random.key(0), (300, 4))
    policies = rx.rollout(learner, losses)
    np.testing.assert_allclose(policies.sum(1), 1, atol=1e-9)
    bound = learner.bound(4, 300)
    assert bound is None or float(rx.swap_regret(policies, losses)) <= bound


LOG = np.log(3)
HEDGE = rx.Hedge(0.5)
ADA = rx.AdaHedge()
MATCHING = rx.RegretMatching()
EPOCHS = 1 + 2**0.5 + 2 + 8**0.5  # of 1, 2, 4 and 8 rounds, of which 5 are played


@pytest.mark.parametrize(
    ("learner", "rounds", "bound"),
    [
        (ADA, 100, np.sqrt(100 * LOG) + 4 / 3 * LOG + 2),
        # every copy has the same widest round: only the square-root part shrinks by sqrt(d)
        (rx.BlumMansour(ADA), 100, 3 * (np.sqrt(100 * LOG / 3) + 4 / 3 * LOG + 2)),
        (rx.BlumMansour(MATCHING), 100, 3 * np.sqrt(200 / 3)),
        (rx.BlumMansour(rx.InternalRegretMatching()), 100, None),
        (rx.TreeSwap(HEDGE, 3, 16), 16**3, 16**3 * (HEDGE.bound(3, 16) / 16 + 1 / 3)),
        (rx.TreeSwap(rx.FollowTheLeader(), 3, 16), 16**3, None),
        (rx.DoublingHedge(2.0), 12, LOG / 2 * EPOCHS + 2 / 8 * (EPOCHS - 3 / 8**0.5)),
        (rx.Exp3(0.1, 0.2), 50, LOG / 0.1 + 0.1 * 3 * 50 / 2 + 10),
        (rx.Exp3IX(0.1, 0.05), 50, LOG / 0.1 + 7.5 + 7.5),
        (rx.TsallisINF(), 1, 4 * (3**0.5 - 1) / 2 + 3**0.5),
        (rx.ImportanceWeighted(MATCHING), 50, None),  # no exploration, no bound
        (rx.ImportanceWeighted(MATCHING, 0.2), 50, MATCHING.bound(3, 50, 3 / 0.2**0.5) + 10),
    ],
    ids=str,
)
def test_bounds_are_their_formulas(learner, rounds, bound):
    assert learner.bound(3, rounds) == (bound and pytest.approx(bound, rel=1e-12))
