r"""A learner's worst-case regret, by dynamic programming over sums of losses.

For a policy $\pi_t(S_{t-1})$ the largest regret over all sequences in $\{0, 1\}^d$ is $W_0(0)$, where

$$W_T(S) = -\min_j S_j, \qquad W_{t-1}(S) = \max_{\ell \in \{0,1\}^d} \langle \ell, \pi_t(S) \rangle + W_t(S + \ell).$$

The states come from `lattice`. The recursion does not apply to a learner whose policy depends on more than the sums;
for those a search over sequences gives a lower bound.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from numpy import ndarray

from regrax import _checks as checks
from regrax.domains import Simplex
from regrax.learners import BanditLearner, HostLearner, Learner, rollout
from regrax.regret import external_regret
from regrax.specs import as_learner
from regrax.theory.lattice import Lattice, build_lattice, grid_losses

PROBES = 8  # random sequences on which a learner is checked
ROUNDING = 1e-8  # policies closer than this count as equal; far above double-precision rounding


class WorstCase(NamedTuple):
    """The largest regret, and a loss sequence that causes it.

    Attributes:
        regret: the learner's regret on `losses`.
        losses: the sequence.
        is_exact: True if no sequence causes more regret; False if `regret` is a lower bound from a search.
    """

    regret: float
    losses: Float[ndarray, "T d"]
    is_exact: bool


def worst_case(
    learner: Learner | str, actions: int, rounds: int, losses: str = "binary", levels: int = 1
) -> WorstCase:
    r"""Compute a learner's exact worst-case regret over all loss sequences, with a sequence that attains it.

    The learner's policy must be a function of the sums of past losses and the round, in a method
    `policy_from_sums(sums, round)`, where `round` counts the rounds already played. Hedge, FTRL, the perturbed leader,
    `Optimal`, `Minimax` and linear attention with $a = 0$ have this method, and you can add it to your own learner. It
    is checked against what the learner plays on random sequences and on reorderings of them, and a mismatch raises
    ValueError. For other learners `worst_case_search` gives a lower bound.

    Args:
        learner: a learner, or its spec.
        actions: number of actions $d$.
        rounds: number of rounds $T$.
        losses: `"binary"` for all of $\{0, 1\}^d$, or `"vertices"` for the unit vectors, where one action has loss 1.
        levels: number of steps $m$ in the grid $\{0, 1/m, \dots, 1\}$ of losses; 1 for binary losses.

    >>> worst = worst_case("hedge(0.66)", 3, 20)
    >>> worst.regret, worst.losses.shape
    (3.077209, (20, 3))
    """
    learner = _checked(learner, actions, rounds)
    checks.at_least("levels", levels, 1)
    checks.one_of("losses", losses, ("binary", "vertices"))
    possible = grid_losses(actions, levels)
    if losses == "vertices":
        possible = levels * np.eye(actions, dtype=int)
    with jax.enable_x64(True):
        arrays, rest = eqx.partition(learner, eqx.is_inexact_array)
        learner = eqx.combine(jax.tree.map(lambda array: array.astype(float), arrays), rest)
        symmetric = _is_symmetric(learner, possible / levels, rounds)
        return _solve(learner, build_lattice(possible, rounds, symmetric=symmetric))


def _solve(learner: Any, lattice: Lattice) -> WorstCase:
    choices = []

    def worst(played: int, later: ndarray) -> ndarray:
        count = len(later)
        states = lattice.states[: max(1024, 1 << count.bit_length())]  # few shapes are compiled
        sums = states / lattice.levels
        policy = np.asarray(_policies(learner, sums, np.full(len(sums), played)))[:count]
        checks.distributions("policy_from_sums", policy)
        options = policy @ lattice.losses.T + later
        choices.insert(0, options.argmax(1).astype(np.int16))
        return options.max(1)

    regret = lattice.solve(worst) / lattice.levels
    sums = np.zeros(lattice.losses.shape[1], int)
    sequence = []
    for choice in choices:
        order = np.argsort(sums, kind="stable") if lattice.symmetric else np.arange(sums.size)
        loss = np.empty(sums.size, int)
        loss[order] = lattice.losses[choice[lattice.rank(sums)]]
        sequence.append(loss / lattice.levels)
        sums += loss
    return WorstCase(float(regret), np.array(sequence), True)


@eqx.filter_jit
def _policies(learner: Any, sums: Any, round: Any) -> Float[Array, "n d"]:
    return jax.vmap(learner.policy_from_sums)(sums, round)


def _is_symmetric(learner: Any, possible: ndarray, rounds: int) -> bool:
    """True if policies ignore common shifts of the sums and are equivariant to relabelling actions.

    Raise ValueError unless the learner plays `policy_from_sums` on random sequences and on reorderings of them.
    """
    if not hasattr(learner, "policy_from_sums"):
        raise ValueError(
            f"{learner} must define policy_from_sums; worst_case_search accepts any learner"
        )
    rng = np.random.default_rng(0)
    drawn = possible[rng.integers(len(possible), size=(PROBES, rounds))]
    sequences = np.concatenate([drawn, rng.permuted(drawn, axis=1)])
    played = np.concatenate([rollout(learner, sequence) for sequence in sequences])
    sums = (np.cumsum(sequences, 1) - sequences).reshape(played.shape)
    round = np.tile(np.arange(rounds), len(sequences))
    policy = _policies(learner, sums, round)
    if abs(policy - played).max() > ROUNDING:
        raise ValueError(
            f"policy_from_sums of {learner} must return the policy it plays, whatever the order of losses"
        )
    changes = [_policies(learner, sums + 1.0, round) - policy]
    actions = np.arange(possible.shape[1])
    for order in (np.roll(actions, 1), np.r_[1, 0, actions[2:]]):  # these generate all permutations
        changes.append(_policies(learner, sums[:, order], round) - policy[:, order])
    return bool(abs(jnp.stack(changes)).max() <= ROUNDING)


def _checked(learner: Learner | str, actions: int, rounds: int) -> Learner:
    checks.at_least("actions", actions, 2)
    checks.at_least("rounds", rounds, 1)
    learner = as_learner(learner)
    if not isinstance(learner.domain, Simplex):
        raise ValueError(f"{learner} must play on the simplex")
    if isinstance(learner, BanditLearner | HostLearner):
        raise ValueError(f"{learner} must observe every loss and be traceable by jax")
    return learner


def worst_case_search(
    learner: Learner | str, actions: int, rounds: int, *, key: PRNGKeyArray, starts: int = 32
) -> WorstCase:
    """Search for losses that cause large regret, which gives a lower bound on the worst case of any learner.

    Starting from random binary sequences, the search goes through the rounds and replaces each loss with the one that
    maximises the regret of the complete sequence, until nothing changes.

    Args:
        learner: a learner, or its spec.
        actions: number of actions $d$.
        rounds: number of rounds $T$.
        key: random key for the initial sequences.
        starts: number of initial sequences.

    >>> import jax
    >>> worst = worst_case_search("hedge(0.66)", 3, 5, key=jax.random.key(0))
    >>> worst.is_exact, worst.regret <= worst_case("hedge(0.66)", 3, 5).regret + 1e-6
    (False, True)
    """
    learner = _checked(learner, actions, rounds)
    checks.at_least("starts", starts, 1)

    @eqx.filter_jit
    def regrets(learner: Learner, sequences: Float[Array, "n T d"]) -> Any:
        return jax.vmap(lambda losses: external_regret(rollout(learner, losses), losses))(sequences)

    possible = jnp.asarray(grid_losses(actions), float)
    best = possible[jax.random.randint(key, (starts, rounds), 0, len(possible))]
    largest = regrets(learner, best)
    before = largest - 1
    while bool((largest > before + 1e-5).any()):  # more than rounding
        before = largest
        for round in range(rounds):
            trials = jnp.repeat(best[:, None], len(possible), 1).at[:, :, round].set(possible)
            tried = regrets(learner, trials.reshape(-1, rounds, actions)).reshape(starts, -1)
            best = trials[jnp.arange(starts), tried.argmax(1)]
            largest = tried.max(1)
    return WorstCase(float(largest.max()), np.asarray(best[int(largest.argmax())], float), False)
