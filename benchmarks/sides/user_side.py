"""regrax with a user's learner: Hedge again, without compensated sums."""

import jax
import jax.numpy as jnp
from games import COMPARED, payoffs
from worker import serve

import regrax as rx


class MyHedge(rx.Learner):
    """Hedge, as in the guide to writing a learner."""

    step: float

    def init(self, actions, rounds=None, *, key=None):
        """Return zero losses."""
        return jnp.zeros(actions)

    def policy(self, state):
        """Play the softmax of minus the losses."""
        return jax.nn.softmax(-self.step * state)

    def update(self, state, feedback):
        """Add the losses of the round."""
        return state + feedback


def hedge(actions, rounds, step):
    """Self-play of a random zero-sum game."""
    game = rx.Game(payoffs(actions))
    learner = MyHedge(step)

    def run():
        return rx.play(game, learner, rounds).policies[0][COMPARED].tolist()

    return run


if __name__ == "__main__":
    serve({"hedge": hedge})
