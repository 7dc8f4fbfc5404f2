import jax.numpy as jnp

import regrax as rx


class LastBest(rx.Learner):
    def init(self, actions, rounds=None, *, key=None):
        return jnp.ones(actions) / actions

    def policy(self, state):
        return state

    def update(self, state, feedback):
        return jnp.zeros_like(state).at[feedback.argmin()].set(1.0)


play = rx.play("weighted-rps", [LastBest(), "hedge(0.1)"], 1000)
print(round(float(play.summary().payoffs[0]), 4))
