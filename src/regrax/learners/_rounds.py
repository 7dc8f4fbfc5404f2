r"""Rounds: what a learner is shown after playing, and `rollout`, which plays one on a loss sequence."""

from collections.abc import Iterable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from regrax import _checks as checks
from regrax.learners._base import Feedback, Learner, State


def draw(key: PRNGKeyArray, policy: Float[Array, "d"]) -> Int[Array, ""]:
    r"""An action $a \sim \pi$."""
    return jax.random.categorical(key, jnp.log(policy))  # log(0) is -inf, which is never drawn


def observe(
    learner: Learner, loss: Float[Array, "d *n"], action: Int[Array, ""] | None = None
) -> Feedback:
    """What `learner` is shown of a round: the loss vector, or the action it drew and the loss of that action."""
    return loss if learner.feedback == "full" else (action, loss[action])


def check_key(learners: Iterable[Learner], key: PRNGKeyArray | None) -> None:
    """Raise unless every learner that draws its actions has a key to draw with."""
    for learner in learners:
        if learner.feedback == "bandit" and key is None:
            raise ValueError(
                f"{learner} sees only the loss of an action it draws, so it needs a key (a seed), but none came"
            )


def check_on_host(learner: Learner, *arrays: object) -> None:
    """Raise if a learner that runs in Python would meet arrays without values."""
    if not all(checks.is_concrete(x) for x in jax.tree.leaves(arrays)):
        raise ValueError(f"{learner} runs in Python and cannot be traced by jit, vmap or grad")


def rollout(
    learner: Learner,
    losses: Float[Array | np.ndarray, "T d"],
    *,
    key: PRNGKeyArray | None = None,
) -> Float[Array, "T d"]:
    r"""Play `learner` on a loss sequence: row $t$ of the result is $\pi_t$, chosen from rows $1..t-1$ of `losses`.

    Computes in jax's default float, float32, or float64 inside `jax.enable_x64(True)`. `key` is for learners that
    draw random numbers; a bandit learner draws $a_t \sim \pi_t$ with it and sees $\ell_{t,a_t}$ only. For many
    sequences, `vmap` it.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import FollowTheLeader
    >>> rollout(FollowTheLeader(), jnp.array([[1.0, 0.0], [0.0, 0.5]])).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    fits = jnp.ndim(losses) == 2 and min(jnp.shape(losses)) >= 1
    checks.shape("losses", losses, "(T, d) with T, d >= 1", fits)
    checks.finite("losses", losses)
    check_key([learner], key)
    run = _rollout_on_host if learner.host else _rollout
    return run(learner, jnp.asarray(losses, float), key)


@jax.jit
def _rollout(
    learner: Learner, losses: Float[Array, "T d"], key: PRNGKeyArray | None
) -> Float[Array, "T d"]:
    def play_round(state: State, shown: tuple) -> tuple[State, Float[Array, "d"]]:
        loss, round_key = shown
        policy = learner.policy(state)
        action = None if round_key is None else draw(round_key, policy)
        return learner.update(state, observe(learner, loss, action)), policy

    rounds, actions = losses.shape
    start, draws = _split(learner, key, rounds)
    return lax.scan(play_round, learner.init(actions, rounds, key=start), (losses, draws))[1]


def _split(learner: Learner, key: PRNGKeyArray | None, rounds: int) -> tuple:
    """A key for `init`, and, if the learner draws its actions, one for every round."""
    if key is None or learner.feedback == "full":
        return key, None
    start, draws = jax.random.split(key)
    return start, jax.random.split(draws, rounds)


def _rollout_on_host(
    learner: Learner, losses: Float[Array, "T d"], key: PRNGKeyArray | None
) -> Float[Array, "T d"]:
    check_on_host(learner, losses)
    rounds, actions = losses.shape
    state, policies = learner.init(actions, rounds, key=key), []
    for loss in losses:
        policies.append(learner.policy(state))
        state = learner.update(state, loss)
    return jnp.stack(policies)
