"""Many episodes of given losses played by a learner in float64, as one compiled program."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from regrax._fast_paths import compiled
from regrax.learners import Learner, Round, Seats, given_losses, init_seats, scan_rounds


def advance(
    learner: Learner, seats: PyTree, losses: Float[np.ndarray, "n t d"]
) -> tuple[PyTree, Float[np.ndarray, "n t d"]]:
    """Play `t` rounds of `n` episodes, from their states, None before the first round."""
    with jax.enable_x64(True):
        seats, played = compiled(_advance, actions=losses.shape[2])(
            learner, seats, jnp.asarray(losses, float)
        )
        return seats, np.asarray(played)


def _advance(
    learner: Learner, seats: Seats | None, losses: Float[Array, "n t d"]
) -> tuple[Seats, Float[Array, "n t d"]]:
    def one(seats: Seats | None, losses: Float[Array, "t d"]) -> tuple[Seats, Round]:
        rounds, actions = losses.shape
        start = init_seats((learner,), (actions,), None, None) if seats is None else seats
        return scan_rounds((learner,), given_losses, start, rounds, losses)

    seats, rows = jax.vmap(one)(seats, losses)
    return seats, rows.policies[0]
