"""Play one learner on a loss sequence."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial
from jaxtyping import Array, Float

from regrax import _checks as checks
from regrax.learners.base import Key, Learner
from regrax.learners.engine import (
    Round,
    Vectors,
    check_key,
    check_policies,
    init_players,
    is_traced,
    play_in_calls,
    play_in_python,
    runs_in_python,
    scan_rounds,
)
from regrax.learners.starts import as_start
from regrax.specs import as_learner

Rows = Float[Array, "T d"] | Float[np.ndarray, "T d"]


def rollout(
    learner: Learner | str, losses: Rows, *, key: Key = None, start: Any = None, prior: Any = None
) -> Rows:
    r"""Play `learner` on a loss sequence: row $t$ of the result is $\pi_t$, chosen from rows $1..t-1$ of `losses`.

    Computes in float32, or in float64 inside `jax.enable_x64(True)`, and returns a NumPy array. It can be transformed
    by `jit`, `vmap` and `grad`; for many sequences, use `vmap`.

    Args:
        learner: the learner, or its spec, as in `"hedge(0.45)"`.
        losses: the loss of every action in every round, of shape `(T, d)`.
        key: a JAX random key, for learners that need one; a bandit learner draws $a_t \sim \pi_t$ and sees only
            $\ell_{t,a_t}$.
        start: the policy in round 1, by default the learner's own choice: probabilities, an action's index,
            `"random"` or `"random(7)"`; see `as_start` and `Learner.starting_at`.
        prior: the initial distribution of the learner's weights, in the same forms; see `Learner.with_prior`.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import FollowTheLeader
    >>> rollout(FollowTheLeader(), jnp.array([[1.0, 0.0], [0.0, 0.5]])).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    fits = np.ndim(losses) == 2 and min(np.shape(losses)) >= 1
    checks.shape("losses", losses, "(T, d) with T, d >= 1", fits)
    checks.finite("losses", losses)
    learner = as_learner(learner)
    rounds, actions = np.shape(losses)
    check_key([learner], key)
    if prior is not None:
        learner = learner.with_prior(as_start(prior, actions, name="prior"))
    if start is not None:
        learner = learner.starting_at(as_start(start, actions))
    if runs_in_python([learner], losses, key):
        rows = [jnp.asarray(row, float) for row in np.asarray(losses)]
        played = play_in_python([learner], given_losses, [actions], rounds, rows, key)
        return np.stack([np.asarray(policy_of(round_)) for round_ in played])
    if is_traced(learner, losses, key):
        return _traced(learner, jnp.asarray(losses, float), key)
    try:
        return _in_calls(learner, np.asarray(losses), key)
    except jax.errors.TracerArrayConversionError:  # inside the `jit` of another function
        return _traced(learner, jnp.asarray(losses, float), key)


def _in_calls(
    learner: Learner, losses: Float[np.ndarray, "T d"], key: Key
) -> Float[np.ndarray, "T d"]:
    environment = Partial(given_losses)
    rounds, actions = losses.shape
    parts = list(play_in_calls((learner,), environment, (actions,), rounds, losses, key, policy_of))
    policies = parts[0] if len(parts) == 1 else np.concatenate(parts)
    check_policies([learner], [policies])
    return policies


def given_losses(_: Vectors, row: Float[Array, "d"]) -> Vectors:
    """Return the round's row of losses, which makes a loss sequence an environment."""
    return (row,)


def policy_of(played: Round) -> Float[Any, "*T d"]:
    """Return the policy of the only player."""
    return played.policies[0]


@jax.jit
def _traced(learner: Learner, losses: Float[Array, "T d"], key: Key) -> Float[Array, "T d"]:
    rounds, actions = losses.shape
    states, keys = init_players((learner,), (actions,), rounds, key)
    return policy_of(scan_rounds((learner,), given_losses, states, rounds, losses, keys)[1])
