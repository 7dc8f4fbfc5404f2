"""Worst cases against published numbers, brute force and an independent recursion."""

import itertools
import math
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import softmax

import regrax as rx
from regrax import theory

HEDGE = rx.Hedge(0.7)
SKEWED = rx.Hedge(0.7, prior=[0.5, 0.3, 0.2])


def binary_sequences(actions, rounds):
    losses = np.array(list(itertools.product((0.0, 1.0), repeat=actions)))
    return losses[np.array(list(itertools.product(range(len(losses)), repeat=rounds)))]


def largest_regret(policies, sequences):
    """By definition: the policies of every sequence, and its regret."""
    sums = np.cumsum(sequences, 1)
    paid = (policies(sums - sequences) * sequences).sum((1, 2))
    return (paid - sums[:, -1].min(1)).max()


def replayed(learner, losses):
    with jax.enable_x64(True):
        return float(rx.external_regret(rx.rollout(learner, losses), losses))


@pytest.mark.parametrize(
    ("learner", "levels", "regret"),
    [
        ("hedge(0.447904905444)", 1, 3.314482),
        ("hedge(0.66)", 1, 3.077209),
        ("optimal(20, 0.60)", 1, 2.7243),
        ("optimal(20, 0.64)", 1, 2.6729),
        ("optimal(20, 0.68)", 1, 2.6408),
        ("optimal(20, 0.68)", 3, 2.656022),  # the best noise for binary losses loses more on thirds
        ("optimal(20, 0.72)", 1, 2.6878),
        ("optimal(20)", 1, 3.4226),
        ("minimax(20)", 1, 2.4080263774),
    ],
)
def test_worst_cases_have_the_published_digits(learner, levels, regret):
    found = theory.worst_case(learner, 3, 20, levels=levels)
    digits = len(str(regret).split(".")[1])
    assert round(found.regret, digits) == regret
    assert found.is_exact
    assert {round(levels * loss, 9) for loss in found.losses.ravel()} <= set(range(levels + 1))
    assert replayed(rx.specs.parse_learner(learner), found.losses) == pytest.approx(found.regret)


@pytest.mark.parametrize(
    "learner",
    [
        SKEWED,
        rx.EuclideanFTRL(0.5),
        rx.FollowThePerturbedLeader(1.3),
        rx.FollowTheLeader(),
        rx.Uniform(),
        rx.Hedge(rx.InverseSqrt(1.0)),
        rx.Hedge(rx.PerRound(1.0, 0.8, 0.6)),
        rx.Optimal(4),
        theory.Minimax(4),
        theory.Minimax(9),
    ],
    ids=str,
)
def test_playing_all_sequences_agrees(learner):
    sequences = binary_sequences(3, 4)
    with jax.enable_x64(True):
        policies = jax.vmap(lambda losses: rx.rollout(learner, losses))(jnp.asarray(sequences))
    expected = largest_regret(lambda _: np.asarray(policies), sequences)
    assert theory.worst_case(learner, 3, 4).regret == pytest.approx(expected, abs=1e-9)


def recursive_worst_case(policy, actions, rounds, losses):
    """By recursion on whole tuples of sums: no symmetry, no arrays."""

    @cache
    def value(sums, played):
        if played == rounds:
            return -min(sums)
        pi = policy(sums, played)
        best = -math.inf
        for loss in losses:
            after = tuple(s + l for s, l in zip(sums, loss, strict=True))
            paid = sum(p * l for p, l in zip(pi, loss, strict=True))
            best = max(best, paid + value(after, played + 1))
        return best

    return value((0,) * actions, 0)


@pytest.mark.parametrize(("actions", "rounds"), [(2, 30), (4, 7), (5, 4)])
@pytest.mark.parametrize("kind", ["binary", "vertices"])
def test_an_independent_recursion_agrees(actions, rounds, kind):
    losses = {
        "binary": list(itertools.product((0, 1), repeat=actions)),
        "vertices": [tuple(row) for row in np.eye(actions, dtype=int)],
    }[kind]
    expected = recursive_worst_case(
        lambda sums, played: softmax([-0.9 / math.sqrt(played + 1) * s for s in sums]),
        actions,
        rounds,
        losses,
    )
    found = theory.worst_case(rx.Hedge(rx.InverseSqrt(0.9)), actions, rounds, kind)
    assert found.regret == pytest.approx(expected, abs=1e-11)
    assert replayed(rx.Hedge(rx.InverseSqrt(0.9)), found.losses) == pytest.approx(expected)


def test_a_layer_that_sees_common_shifts_is_handled():
    rng = np.random.default_rng(1)
    values, bias = rng.normal(size=(3, 3)), rng.normal(size=3)
    model = rx.LinearAttention(3, key=jax.random.key(0))
    model = model.replaced(jnp.asarray(values), jnp.zeros(3), jnp.asarray(bias))

    def policies(sums):
        logits = sums @ np.asarray(model.values).T + np.arange(5)[:, None] * np.asarray(model.bias)
        return softmax(logits, -1)

    expected = largest_regret(policies, binary_sequences(3, 5))
    assert theory.worst_case(model, 3, 5).regret == pytest.approx(expected, abs=1e-6)


class LastRoundTwice(rx.Learner):
    """Hedge that counts the last loss twice, but claims to play from sums."""

    def init(self, actions, rounds=None, *, key=None):
        return jnp.zeros(actions), jnp.zeros(actions)

    def policy(self, state):
        return jax.nn.softmax(-sum(state))

    def update(self, state, feedback):
        return state[0] + feedback, feedback

    def policy_from_sums(self, sums, round):
        return jax.nn.softmax(-sums)


LAYER = rx.LinearAttention(3, key=jax.random.key(0))
REJECTED = {
    "no sums": ({"learner": "regret_matching()"}, "worst_case_search accepts any learner"),
    "bandit": ({"learner": "exp3(0.1)"}, "must observe every loss"),
    "ball": ({"learner": "euclidean_ftrl(0.3, ball(1.0))"}, "must play on the simplex"),
    "order": ({"learner": LastRoundTwice()}, "must return the policy it plays"),
    "scores": ({"learner": LAYER}, "must return the policy it plays"),
    "rounds": ({"rounds": 0}, "rounds must be an integer >= 1"),
    "actions": ({"actions": 1}, "actions must be an integer >= 2"),
    "levels": ({"levels": 0}, "levels must be an integer >= 1"),
    "losses": ({"losses": "real"}, 'losses must be "binary" or "vertices"'),
    "size": ({"actions": 12, "rounds": 500}, "GB of memory"),
}


@pytest.mark.parametrize(("changed", "message"), REJECTED.values(), ids=REJECTED)
def test_other_arguments_raise_with_a_reason(changed, message):
    with pytest.raises(ValueError, match=message):
        theory.worst_case(**({"learner": "hedge(0.5)", "actions": 3, "rounds": 6} | changed))


def test_a_search_finds_the_worst_case_of_hedge():
    exact = theory.worst_case(HEDGE, 3, 8).regret
    found = theory.worst_case_search(HEDGE, 3, 8, key=jax.random.key(0))
    assert not found.is_exact
    assert found.regret == pytest.approx(exact, abs=1e-5)
    other = theory.worst_case_search("regret_matching()", 3, 8, key=jax.random.key(0))
    assert other.regret == pytest.approx(replayed(rx.RegretMatching(), other.losses), abs=1e-5)


def test_losses_between_0_and_1_can_be_worse_than_binary():
    leader = [theory.worst_case("fictitious_play()", 2, 2, levels=m).regret for m in (1, 2, 8)]
    assert leader == pytest.approx([1 / 2, 1 - 1 / 4, 1 - 1 / 16])
    hedge = [theory.worst_case("hedge(2.5)", 2, 5, levels=m).regret for m in (1, 2, 4)]
    assert hedge == pytest.approx([1.34828364, 1.35919944, 1.41178125])


@pytest.mark.parametrize("step", [0.5, 2.5])
def test_finer_losses_stay_below_the_bound(step):
    regrets = {m: theory.worst_case(rx.Hedge(step), 2, 5, levels=m).regret for m in (1, 2, 4, 32)}
    for levels, regret in regrets.items():
        assert regret <= regrets[32] + 1e-12
        assert regrets[32] <= regret + (1 + step * 4 / 2) / levels
