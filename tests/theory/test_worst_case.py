"""Worst cases: reference numbers, brute force, and programs of another construction."""

import itertools
import math
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linprog
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
    ("learner", "regret"),
    [
        ("hedge(0.447904905444)", 3.314482),
        ("hedge(0.66)", 3.077209),
        ("optimal(20, 0.60)", 2.7243),
        ("optimal(20, 0.64)", 2.6729),
        ("optimal(20, 0.68)", 2.6408),
        ("optimal(20, 0.72)", 2.6878),
        ("optimal(20)", 3.4226),
        ("minimax(20)", 2.4080263774),
    ],
)
def test_worst_cases_have_the_published_digits(learner, regret):
    found = theory.worst_case(learner, 3, 20)
    digits = len(str(regret).split(".")[1])
    assert round(found.regret, digits) == regret
    assert found.is_exact
    assert set(found.losses.ravel()) <= {0.0, 1.0}
    assert replayed(rx.specs.parse_learner(learner), found.losses) == pytest.approx(found.regret)


def test_no_constant_step_beats_0_66_by_a_digit():
    around = [theory.worst_case(rx.Hedge(step), 3, 20).regret for step in (0.65, 0.66, 0.67)]
    assert min(around) == around[1]


@pytest.mark.parametrize("rounds", range(1, 7))
@pytest.mark.parametrize("learner", [HEDGE, SKEWED], ids=["symmetric", "skewed"])
def test_brute_force_over_all_sequences(learner, rounds):
    prior = 1 if learner.prior is None else np.asarray(learner.prior)

    def policies(sums):
        return softmax(np.log(prior) - 0.7 * sums, -1)

    found = theory.worst_case(learner, 3, rounds)
    expected = largest_regret(policies, binary_sequences(3, rounds))
    assert found.regret == pytest.approx(expected, abs=1e-12)
    assert replayed(learner, found.losses) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "learner",
    [
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
def test_brute_force_by_playing_all_sequences(learner):
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


def test_a_layer_that_is_hedge_has_hedges_worst_case():
    layer = theory.worst_case(rx.LinearAttention.hedge(3, 0.66), 3, 20).regret
    assert layer == pytest.approx(3.077209, abs=1e-6)


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


def test_a_layer_with_scores_is_refused():
    model = rx.LinearAttention(3, key=jax.random.key(0))
    with pytest.raises(ValueError, match="must return what it plays"):
        theory.worst_case(model, 3, 5)
    with pytest.raises(ValueError, match="if a = 0, got"):
        model.policy_from_sums(jnp.zeros(3), 0)


class LastRoundTwice(rx.Learner):
    """Hedge that counts the last loss twice, but says that it plays from sums."""

    def init(self, actions, rounds=None, *, key=None):
        return jnp.zeros(actions), jnp.zeros(actions)

    def policy(self, state):
        return jax.nn.softmax(-sum(state))

    def update(self, state, feedback):
        return state[0] + feedback, feedback

    def policy_from_sums(self, sums, round):
        return jax.nn.softmax(-sums)


def test_the_order_of_the_past_must_not_matter():
    with pytest.raises(ValueError, match=r"policy_from_sums of .* must return what it plays"):
        theory.worst_case(LastRoundTwice(), 3, 6)


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        ("regret_matching()", "worst_case_search takes any learner"),
        ("exp3(0.1)", "must see every loss"),
        ("euclidean_ftrl(0.3, ball(1.0))", "must play on the simplex"),
    ],
)
def test_other_learners_are_refused_with_a_reason(learner, message):
    with pytest.raises(ValueError, match=message):
        theory.worst_case(learner, 3, 6)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rounds": 0}, "rounds must be an integer >= 1"),
        ({"actions": 1}, "actions must be an integer >= 2"),
        ({"levels": 0}, "levels must be an integer >= 1"),
        ({"losses": "real"}, 'losses must be "binary" or "vertices"'),
        ({"actions": 12, "rounds": 500}, "GB of memory"),
    ],
)
def test_bad_arguments_are_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        theory.worst_case(**({"learner": "hedge(0.5)", "actions": 3, "rounds": 4} | changed))


def test_a_search_is_a_lower_bound_and_finds_hedges_worst_case():
    exact = theory.worst_case(HEDGE, 3, 8).regret
    found = theory.worst_case_search(HEDGE, 3, 8, key=jax.random.key(0))
    assert not found.is_exact
    assert found.regret == pytest.approx(exact, abs=1e-5)
    other = theory.worst_case_search("regret_matching()", 3, 8, key=jax.random.key(0))
    assert other.regret == pytest.approx(replayed(rx.RegretMatching(), other.losses), abs=1e-5)


def minimax_by_programs(actions, rounds):
    """A linear program in every state, on whole sums."""
    losses = np.array(list(itertools.product((0, 1), repeat=actions)))

    @cache
    def value(sums, played):
        if played == rounds:
            return -min(sums)
        later = [value(tuple(sums + loss), played + 1) for loss in losses]
        found = linprog(
            [0] * actions + [1],
            np.column_stack([losses, -np.ones(len(losses))]),
            -np.array(later),
            [[1] * actions + [0]],
            [1],
            [(0, None)] * actions + [(None, None)],
        )
        return found.fun

    return value((0,) * actions, 0)


@pytest.mark.parametrize(("actions", "rounds"), [(2, 8), (3, 6), (4, 3)])
def test_minimax_agrees_with_linear_programs(actions, rounds):
    expected = minimax_by_programs(actions, rounds)
    assert theory.minimax(actions, rounds) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("actions", "rounds"), [(2, 40), (3, 30), (4, 12), (5, 6)])
def test_the_minimax_learner_attains_the_value(actions, rounds):
    found = theory.worst_case(theory.Minimax(rounds), actions, rounds)
    assert found.regret == pytest.approx(theory.minimax(actions, rounds), abs=1e-10)


@pytest.mark.parametrize("rounds", [1, 2, 7, 50, 10_000])
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


def test_no_learner_beats_minimax():
    least = theory.minimax(4, 9)
    for learner in ("hedge(0.7)", "optimal(9, 0.7)", "follow_the_perturbed_leader(2.0)"):
        assert theory.worst_case(learner, 4, 9).regret > least


def test_losses_between_0_and_1_can_be_worse_than_binary():
    leader = [theory.worst_case("fictitious_play()", 2, 2, levels=m).regret for m in (1, 2, 8)]
    assert leader == pytest.approx([1 / 2, 1 - 1 / 4, 1 - 1 / 16])
    hedge = [theory.worst_case("hedge(2.5)", 2, 5, levels=m).regret for m in (1, 2, 4)]
    assert hedge == pytest.approx([1.34828364, 1.35919944, 1.41178125])


@pytest.mark.parametrize("learner", ["hedge(0.447904905444)", "hedge(0.66)", "optimal(20, 0.72)"])
def test_tuned_learners_lose_no_more_on_thirds(learner):
    binary = theory.worst_case(learner, 3, 20).regret
    assert theory.worst_case(learner, 3, 20, levels=3).regret == pytest.approx(binary, abs=1e-12)


def test_the_best_noise_on_binary_losses_loses_more_on_thirds():
    found = theory.worst_case("optimal(20, 0.68)", 3, 20, levels=3)
    assert round(found.regret, 6) == 2.656022
    assert replayed(rx.Optimal(20, 0.68), found.losses) == pytest.approx(found.regret)


@pytest.mark.parametrize("step", [0.5, 2.5])
def test_finer_losses_stay_below_the_bound_by_the_modulus(step):
    regrets = {m: theory.worst_case(rx.Hedge(step), 2, 5, levels=m).regret for m in (1, 2, 4, 32)}
    for levels, regret in regrets.items():
        assert regret <= regrets[32] + 1e-12
        assert regrets[32] <= regret + (1 + step * 4 / 2) / levels


def test_rounding_what_the_learner_sees_makes_binary_losses_worst():
    """Follow the leader plays the mean over all roundings of the past; its worst case is then the binary one."""
    rounds = 3
    worst = theory.worst_case("fictitious_play()", 2, rounds).regret
    roundings = binary_sequences(2, rounds - 1).reshape(-1, 2 * (rounds - 1))

    def policy(past):
        seen = roundings[:, : past.size]
        chances = np.where(seen, past.ravel(), 1 - past.ravel()).prod(1)
        chances = chances / chances.sum()
        sums = seen.reshape(len(seen), -1, 2).sum(1)
        ties = sums == sums.min(1, keepdims=True)
        return chances @ (ties / ties.sum(1, keepdims=True))

    rng = np.random.default_rng(0)
    for losses in rng.choice([0.0, 0.01, 0.5, 0.99, 1.0], size=(500, rounds, 2)):
        past = [policy(losses[:t]) if t else np.full(2, 0.5) for t in range(rounds)]
        assert rx.external_regret(np.array(past), losses) <= worst + 1e-12
