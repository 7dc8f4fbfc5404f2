"""Worst cases and minimax against published numbers, all sequences, linear programs and known limits."""

import itertools
import math
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linprog

import regrax as rx
from regrax import theory

HEDGE = rx.Hedge(0.7)
SKEWED = rx.Hedge(0.7, prior=[0.5, 0.3, 0.2])


def binary_sequences(actions, rounds):
    losses = np.array(list(itertools.product((0.0, 1.0), repeat=actions)))
    return losses[np.array(list(itertools.product(range(len(losses)), repeat=rounds)))]


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
    worst = theory.worst_case(learner, 3, 20, levels=levels)
    digits = len(str(regret).split(".")[1])
    assert round(worst.regret, digits) == regret
    assert worst.is_exact
    assert {round(levels * loss, 9) for loss in worst.losses.ravel()} <= set(range(levels + 1))
    assert replayed(rx.specs.parse_learner(learner), worst.losses) == pytest.approx(worst.regret)


def shifted_layer():
    """A layer whose policies change when all sums do."""
    with jax.enable_x64(True):
        values, (scores, bias) = np.split(np.random.default_rng(1).normal(size=(5, 3)), [3])
        model = rx.LinearAttention(3, key=jax.random.key(0))
        return model.replaced(*map(jnp.asarray, (values, 0 * scores, bias)))


SMALL = (
    SKEWED,
    rx.EuclideanFTRL(0.5),
    rx.FollowThePerturbedLeader(1.3),
    rx.FollowTheLeader(),
    rx.Uniform(),
    rx.Hedge(rx.PerRound(1.0, 0.8, 0.6)),
    rx.Optimal(4),
    theory.Minimax(4),
    theory.Minimax(9),
    shifted_layer(),
)
DECREASING = rx.Hedge(rx.InverseSqrt(0.9))


@pytest.mark.parametrize(
    ("learner", "actions", "rounds", "kind"),
    [
        *((learner, 3, 4, "binary") for learner in SMALL),
        *((DECREASING, *size, "binary") for size in ((2, 8), (3, 4), (4, 3), (5, 2))),
        *((DECREASING, *size, "vertices") for size in ((2, 8), (4, 3), (5, 2))),
    ],
)
def test_playing_all_sequences_agrees(learner, actions, rounds, kind):
    sequences = binary_sequences(actions, rounds)
    if kind == "vertices":
        sequences = sequences[(sequences.sum(2) == 1).all(1)]
    with jax.enable_x64(True):
        policies = jax.vmap(lambda losses: rx.rollout(learner, losses))(jnp.asarray(sequences))
    paid = (np.asarray(policies) * sequences).sum((1, 2))
    expected = (paid - sequences.sum(1).min(1)).max()
    worst = theory.worst_case(learner, actions, rounds, kind)
    assert worst.regret == pytest.approx(expected, abs=1e-9)
    assert replayed(learner, worst.losses) == pytest.approx(expected)


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
    "losses": ({"losses": "real"}, "losses must be one of binary, vertices"),
    "size": ({"actions": 12, "rounds": 500}, "GB of memory"),
}


@pytest.mark.parametrize(("changed", "message"), REJECTED.values(), ids=REJECTED)
def test_other_arguments_raise_with_a_reason(changed, message):
    with pytest.raises(ValueError, match=message):
        theory.worst_case(**({"learner": "hedge(0.5)", "actions": 3, "rounds": 6} | changed))


def test_a_search_finds_the_worst_case_of_hedge():
    exact = theory.worst_case(HEDGE, 3, 8).regret
    worst = theory.worst_case_search(HEDGE, 3, 8, key=jax.random.key(0))
    assert not worst.is_exact
    assert worst.regret == pytest.approx(exact, abs=1e-5)
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


def minimax_by_programs(actions, rounds):
    """A linear program in every state, on whole sums."""
    losses = np.array(list(itertools.product((0, 1), repeat=actions)))

    @cache
    def value(sums, played):
        if played == rounds:
            return -min(sums)
        later = [value(tuple(sums + loss), played + 1) for loss in losses]
        program = linprog(
            [0] * actions + [1],
            np.column_stack([losses, -np.ones(len(losses))]),
            -np.array(later),
            [[1] * actions + [0]],
            [1],
            [(0, None)] * actions + [(None, None)],
        )
        return program.fun

    return value((0,) * actions, 0)


@pytest.mark.parametrize(("actions", "rounds"), [(2, 8), (3, 6), (4, 3)])
def test_minimax_agrees_with_linear_programs(actions, rounds):
    expected = minimax_by_programs(actions, rounds)
    assert theory.minimax(actions, rounds) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("actions", "rounds"), [(2, 40), (3, 30), (4, 12), (5, 6)])
def test_the_minimax_learner_attains_the_value(actions, rounds):
    worst = theory.worst_case(theory.Minimax(rounds), actions, rounds)
    assert worst.regret == pytest.approx(theory.minimax(actions, rounds), abs=1e-10)


@pytest.mark.parametrize("rounds", [1, 2, 7, 50, pytest.param(10_000, marks=pytest.mark.slow)])
def test_two_actions_have_covers_value(rounds):
    """Half the mean distance of a random walk from where it began."""
    ups = np.arange(rounds + 1)
    logs = [math.lgamma(rounds + 1) - math.lgamma(k + 1) - math.lgamma(rounds - k + 1) for k in ups]
    chances = np.exp(np.array(logs) - rounds * math.log(2))
    expected = chances @ np.abs(2 * ups - rounds) / 2
    assert theory.minimax(2, rounds) == pytest.approx(expected, rel=1e-9)


def test_three_actions_approach_the_known_limit():
    ratios = [theory.minimax(3, n) / math.sqrt(8 * n / (9 * math.pi)) for n in (20, 80, 320)]
    assert ratios[0] > ratios[1] > ratios[2] > 1
    assert ratios[2] == pytest.approx(1, abs=1e-3)
