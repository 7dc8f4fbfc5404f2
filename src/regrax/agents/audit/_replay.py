"""Many episodes of given losses played by a learner in float64, as one compiled program."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from regrax.learners import Learner, Round, given_losses, scan_rounds


def advance(
    learner: Learner, states: PyTree, losses: Float[np.ndarray, "n t d"]
) -> tuple[PyTree, Float[np.ndarray, "n t d"]]:
    """Play `t` rounds of `n` episodes, from their states, None before the first round."""
    with jax.enable_x64(True):
        states, policies = _advance(learner, states, jnp.asarray(losses, float))
        return states, np.asarray(policies)


@jax.jit
def _advance(
    learner: Learner, states: PyTree, losses: Float[Array, "n t d"]
) -> tuple[PyTree, Float[Array, "n t d"]]:
    def episode(states: PyTree, losses: Float[Array, "t d"]) -> tuple[PyTree, Round]:
        rounds, actions = losses.shape
        if states is None:
            states = (learner.init(actions),)
        return scan_rounds((learner,), given_losses, states, rounds, losses)

    states, rows = jax.vmap(episode)(states, losses)
    return states, rows.policies[0]
