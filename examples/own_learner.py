"""Your own learner in a tournament: three methods and no registration. `python examples/own_learner.py`"""

import jax.numpy as jnp

import regrax as rx


class CopyTheWinner(rx.Learner):
    """Play the best action of the last round, and tremble with a given probability."""

    tremble: float = 0.1

    def init(self, actions, rounds=None, *, key=None):
        return jnp.ones(actions) / actions

    def policy(self, state):
        return state

    def update(self, state, feedback):
        best = jnp.zeros_like(state).at[feedback.argmin()].set(1 - self.tremble)
        return best + self.tremble / state.size


if __name__ == "__main__":
    print(rx.play("shapley", CopyTheWinner(), 100, start="random").summary().payoffs)
    learners = [CopyTheWinner(), CopyTheWinner(0.3), "hedge(0.3)", "regret_matching_plus()"]
    found = rx.round_robin(learners, ["shapley", "random(3, 3)"], 500, seeds=3)
    print(found.to_latex(rank="regret"))
