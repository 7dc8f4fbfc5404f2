r"""The largest regret that any losses inflict on a learner: dynamic programming over sums of losses.

For a policy $\pi_t(S_{t-1})$ the largest regret over all sequences in $\{0, 1\}^d$ is $W_0(0)$, where

$$W_T(S) = -\min_j S_j, \qquad W_{t-1}(S) = \max_{\ell \in \{0,1\}^d} \langle \ell, \pi_t(S) \rangle + W_t(S + \ell).$$

The states are those of `regrax.theory._lattice`. A learner that looks at more than the sums has no such recursion; a
search over sequences then gives a lower bound.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray
from numpy import ndarray

from regrax import _checks as checks
from regrax.domains import Simplex
from regrax.learners import BanditLearner, HostLearner, Learner, rollout
from regrax.regret import external_regret
from regrax.specs import as_learner
from regrax.theory._lattice import Lattice, grid_losses, lattice

PROBES = 8  # random sequences on which a learner is checked
ROUNDING = 1e-8  # policies closer than this are equal: far above rounding in double precision


class WorstCase(NamedTuple):
    """The largest regret, and a sequence of losses that inflicts it.

    Attributes:
        regret: of the learner on `losses`.
        losses: the sequence.
        is_exact: True if no sequence inflicts more; False if `regret` is a lower bound from a search.
    """

    regret: float
    losses: Float[ndarray, "T d"]
    is_exact: bool


def worst_case(
    learner: Learner | str, actions: int, rounds: int, losses: str = "binary", levels: int = 1
) -> WorstCase:
    r"""Compute the largest regret of a learner over all loss sequences, exactly, with a sequence that attains it.

    The learner's policy must follow from the sums of past losses and the round: it has a method
    `policy_from_sums(sums, round)`, where `round` counts the rounds already played. Hedge, FTRL, the perturbed leader,
    `Optimal`, `Minimax` and linear attention with $a = 0$ have it, and your own learner can. The method must agree
    with what the learner plays on random sequences and on reorderings of them; otherwise this is a ValueError. For
    other learners `worst_case_search` gives a lower bound.

    Shifts and relabellings of the actions merge states if the policy respects both, which is checked on random sums.

    Args:
        learner: a learner, or its spec.
        actions: number of actions $d$.
        rounds: number of rounds $T$.
        losses: `"binary"` for all of $\{0, 1\}^d$, or `"vertices"` for the unit vectors: one action loses 1.
        levels: $m$ replaces $\{0, 1\}$ by $\{0, 1/m, \dots, 1\}$.

    >>> found = worst_case("hedge(0.66)", 3, 20)
    >>> found.regret, found.losses.shape
    (3.077209, (20, 3))
    """
    learner = _checked(learner, actions, rounds)
    checks.at_least("levels", levels, 1)
    if losses not in ("binary", "vertices"):
        raise ValueError(f'losses must be "binary" or "vertices", got {losses!r}')
    possible = grid_losses(actions, levels)
    if losses == "vertices":
        possible = levels * np.eye(actions, dtype=int)
    with jax.enable_x64(True):
        arrays, rest = eqx.partition(learner, eqx.is_inexact_array)
        learner = eqx.combine(jax.tree.map(lambda array: array.astype(float), arrays), rest)
        symmetric = _is_symmetric(learner, possible / levels, rounds)
        return _solve(learner, lattice(possible, rounds, symmetric=symmetric))


@eqx.filter_jit
def _regrets(learner: Learner, sequences: Float[Array, "n T d"]) -> Any:
    return jax.vmap(lambda losses: external_regret(rollout(learner, losses), losses))(sequences)


@eqx.filter_jit
def _policies(
    learner: Any, sums: Float[Array, "n d"], round: Int[Array, "n"]
) -> Float[Array, "n d"]:
    return jax.vmap(learner.policy_from_sums)(sums, round)


def _solve(learner: Any, states: Lattice) -> WorstCase:
    sums = states.states / states.levels
    losses = states.losses / states.levels
    after, shift = states.successors()
    value = -sums.min(1)
    choices = []
    for played in reversed(range(len(states.counts))):
        count = int(states.counts[played])
        padded = max(1024, 1 << count.bit_length())  # few shapes to compile
        reached = jnp.asarray(sums[:padded])
        policy = np.asarray(_policies(learner, reached, jnp.full(len(reached), played)))[:count]
        checks.distributions("policy_from_sums", policy)
        options = policy @ losses.T + value[after[:count]] + shift[:count]
        choices.append(options.argmax(1).astype(np.int16))
        value = options.max(1)
    sequence = np.zeros((len(choices), losses.shape[1]))
    state = 0
    for played, choice in enumerate(reversed(choices)):
        order = np.arange(losses.shape[1])
        if states.symmetric:
            order = np.argsort(sequence.sum(0), kind="stable")
        sequence[played, order] = losses[choice[state]]
        state = after[state, choice[state]]
    return WorstCase(float(value[0]), sequence, True)


def _is_symmetric(learner: Any, possible: Float[ndarray, "m d"], rounds: int) -> bool:
    """True if shifts of the sums change no policy, and relabellings only relabel it.

    Raises unless the learner plays `policy_from_sums` on random sequences and on reorderings of them.
    """
    if not hasattr(learner, "policy_from_sums"):
        raise ValueError(
            f"{learner} must have policy_from_sums; worst_case_search takes any learner"
        )
    rng = np.random.default_rng(0)
    drawn = possible[rng.integers(len(possible), size=(PROBES, rounds))]
    sequences = np.concatenate([drawn, rng.permuted(drawn, axis=1)])
    played = np.concatenate([rollout(learner, sequence) for sequence in sequences])
    sums = jnp.asarray((np.cumsum(sequences, 1) - sequences).reshape(played.shape))
    round = jnp.tile(jnp.arange(rounds), len(sequences))
    policy = _policies(learner, sums, round)
    if abs(policy - played).max() > ROUNDING:
        raise ValueError(
            f"policy_from_sums of {learner} must give what it plays, in any order of losses"
        )
    away = [_policies(learner, sums + 1.0, round) - policy]
    actions = np.arange(possible.shape[1])
    for order in (np.roll(actions, 1), np.r_[1, 0, actions[2:]]):  # these generate all others
        away.append(_policies(learner, sums[:, order], round) - policy[:, order])
    return bool(abs(jnp.stack(away)).max() <= ROUNDING)


def _checked(learner: Learner | str, actions: int, rounds: int) -> Learner:
    checks.at_least("actions", actions, 2)
    checks.at_least("rounds", rounds, 1)
    learner = as_learner(learner)
    if not isinstance(learner.domain, Simplex):
        raise ValueError(f"{learner} must play on the simplex")
    if isinstance(learner, BanditLearner | HostLearner):
        raise ValueError(f"{learner} must see every loss and be traced by jax")
    return learner


def worst_case_search(
    learner: Learner | str, actions: int, rounds: int, *, key: PRNGKeyArray, starts: int = 32
) -> WorstCase:
    """Search for losses that inflict large regret: a lower bound on the worst case, for any learner.

    From random binary sequences, the loss of one round after the other is replaced by the worst for the sequence as a
    whole, until nothing changes.

    Args:
        learner: a learner, or its spec.
        actions: number of actions $d$.
        rounds: number of rounds $T$.
        key: of the random sequences.
        starts: how many sequences the search starts from.

    >>> import jax
    >>> found = worst_case_search("hedge(0.66)", 3, 5, key=jax.random.key(0))
    >>> found.is_exact, found.regret <= worst_case("hedge(0.66)", 3, 5).regret + 1e-6
    (False, True)
    """
    learner = _checked(learner, actions, rounds)
    checks.at_least("starts", starts, 1)
    possible = jnp.asarray(grid_losses(actions), float)
    best = possible[jax.random.randint(key, (starts, rounds), 0, len(possible))]
    largest = _regrets(learner, best)
    before = largest - 1
    while bool((largest > before + 1e-5).any()):  # more than rounding
        before = largest
        for round in range(rounds):
            trials = jnp.repeat(best[:, None], len(possible), 1).at[:, :, round].set(possible)
            regrets = _regrets(learner, trials.reshape(-1, rounds, actions)).reshape(starts, -1)
            best = trials[jnp.arange(starts), regrets.argmax(1)]
            largest = regrets.max(1)
    return WorstCase(float(largest.max()), np.asarray(best[int(largest.argmax())], float), False)
