"""A plain loop in jax: Hedge in one `lax.scan`, without checks and without compensated sums."""

import jax
import jax.numpy as jnp
import numpy as np
from games import COMPARED, payoffs, weighted_rps
from worker import serve


def play(table, rounds, step, times=1):
    """Self-play in a two-player game: policies and losses of both as numpy arrays, and joint play."""

    @jax.jit
    def scan(table):
        def one_round(sums, _):
            first, second = (jax.nn.softmax(-step * own) for own in sums)
            losses = -(table[0] @ second), -(first @ table[1])
            return (sums[0] + losses[0], sums[1] + losses[1]), (first, second, *losses)

        zeros = jnp.zeros(table.shape[1]), jnp.zeros(table.shape[2])
        return jax.lax.scan(one_round, zeros, None, rounds)[1]

    def run():
        for _ in range(times):
            rows = [np.asarray(part) for part in scan(table)]
            rows[0].T @ rows[1] / rounds
        return rows[0][COMPARED].tolist() if rounds > COMPARED else []

    return run


def rollout(actions, rounds, step, times):
    """Play Hedge on given losses; return its policies as a numpy array."""

    @jax.jit
    def scan(losses):
        def one_round(total, loss):
            return total + loss, jax.nn.softmax(-step * total)

        return jax.lax.scan(one_round, jnp.zeros(actions), losses)[1]

    losses = np.random.default_rng(0).random((rounds, actions), np.float32)

    def run():
        for _ in range(times):
            policies = np.asarray(scan(losses))
        return policies[-1].tolist()

    return run


if __name__ == "__main__":
    serve(
        {
            "weighted_rps": lambda **arguments: play(weighted_rps(np.float32), **arguments),
            "hedge": lambda actions, **arguments: play(
                payoffs(actions).astype(np.float32), **arguments
            ),
            "rollout": rollout,
        }
    )
