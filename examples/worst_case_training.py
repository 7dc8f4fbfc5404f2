"""Train policies on their own worst case and certify the result: `python examples/worst_case_training.py`.

Three actions and 20 rounds. The worst sequence of the current model is added to the data, the model is trained on the
soft maximum of its regrets there, and so on. The script prints the exact worst case of Hedge with a step size per
round, of a small network on sums and round, and of a linear layer; for a two-layer transformer a search gives a lower
bound. It takes minutes on one core.
"""

import itertools
import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax

import regrax as rx
from regrax import theory
from regrax.training import Gaussian, Objective, policies

ACTIONS, ROUNDS = 3, 20
ALL_ORDERS = tuple(itertools.permutations(range(ACTIONS)))
POOL = 128  # number of training sequences, random at first


class SoftMaximum(Objective):
    """Soft maximum of the regrets on a pool of sequences."""

    pool: jax.Array  # (T, d, n)
    sharpness: jax.Array

    def draw(self, count, *, key):
        return self.pool

    def loss(self, model, data):
        paid = (policies(model, data) * data).sum((0, 1))
        regrets = paid - data.sum(0).min(0)
        return jax.nn.logsumexp(self.sharpness * regrets) / self.sharpness


class SumNetwork(rx.TrainableLearner):
    """A small network that scores each action by how far its sum is above the sorted sums, and the rounds left."""

    name = "sum_network"
    first: jax.Array
    second: jax.Array
    last: jax.Array

    def __init__(self, key, width=32):
        first, second = jax.random.split(key)
        self.first = jax.random.normal(first, (width, ACTIONS + 2)) / np.sqrt(ACTIONS + 2)
        self.second = jax.random.normal(second, (width, width + 1)) / np.sqrt(width)
        self.last = jnp.zeros(width)

    @property
    def actions(self):
        return ACTIONS

    @property
    def settings(self):
        return {"width": len(self.last)}

    def policy_from_sums(self, sums, round):
        left = jnp.sqrt((ROUNDS - jnp.asarray(round)).astype(sums.dtype))
        scale = jnp.ones_like(sums)[:, None]
        above = (sums[:, None] - jnp.sort(sums)[None]) / left
        features = jnp.concatenate([above, scale / left, scale], 1).T
        hidden = jnp.tanh(self.first @ features)
        hidden = jnp.tanh(self.second @ jnp.concatenate([hidden, scale.T]))
        return jax.nn.softmax(self.last @ hidden - 1.5 * sums / left)

    def policies(self, losses):
        sums = jnp.cumsum(losses, 0) - losses
        play = jax.vmap(self.policy_from_sums, (-1, None), -1)
        return jax.vmap(play)(sums, jnp.arange(len(losses)))

    def init(self, actions, rounds=None, *, key=None):
        return jnp.zeros(actions), jnp.zeros((), int)

    def policy(self, state):
        return self.policy_from_sums(*state)

    def update(self, state, feedback):
        return state[0] + feedback, state[1] + 1


class SumAttention(rx.LinearAttention):
    """Linear layer with scores a = 0, so that its policy depends on sums only."""

    @property
    def layer(self):
        return super().layer._replace(slope=jnp.zeros_like(self.scores))


def train(model, *, repeats, steps, rate, worst, orders=((0, 1, 2),)):
    """Train on a growing pool of worst sequences; return the model with the smallest worst case.

    A model that treats actions differently gets the sequence with its actions in all `orders`.
    """
    rng = np.random.default_rng(0)
    pool = rng.integers(0, 2, (ROUNDS, ACTIONS, POOL)).astype(np.float32)
    optimizer = optax.adam(rate)
    key = jax.random.key(0)  # unused: every step sees the whole pool
    best, smallest = model, np.inf
    for repeat in range(repeats):
        found = worst(model, repeat)
        if found.regret < smallest:
            best, smallest = model, found.regret
            print(f"  after {repeat} repeats: {smallest:.6f}", flush=True)
        for place, order in enumerate(orders, repeat * len(orders)):
            pool[:, :, place % POOL] = found.losses[:, order]
        objective = SoftMaximum(ACTIONS, ROUNDS, jnp.asarray(pool), jnp.asarray(10.0 + repeat))
        trained = rx.fit(
            model, objective, optimizer=optimizer, key=key, steps=steps, batch=1, every=steps
        )
        model = trained.model
    return best, smallest


def exactly(model, _repeat):
    """Return the exact worst case of a policy of sums and round."""
    return theory.worst_case(model, ACTIONS, ROUNDS)


def by_search(model, repeat):
    """Return a lower bound on the worst case of any learner."""
    key = jax.random.key(repeat)
    return theory.worst_case_search(model, ACTIONS, ROUNDS, key=key, starts=16)


def main():
    """Train each kind and write the worst cases to the file named on the command line, if any."""
    best = {}
    print("a step for each round")
    schedule = rx.Hedge(rx.PerRound(jnp.full(ROUNDS, 0.66)))
    _, best["schedule"] = train(schedule, repeats=100, steps=30, rate=0.02, worst=exactly)
    print("a network on sums and round")
    network = SumNetwork(jax.random.key(0))
    network, best["network"] = train(network, repeats=300, steps=40, rate=0.003, worst=exactly)
    best["network_weights"] = [np.asarray(leaf).tolist() for leaf in jax.tree.leaves(network)]
    print("a linear layer")
    layer = SumAttention.hedge(ACTIONS, 0.45)
    _, best["linear"] = train(
        layer, repeats=60, steps=30, rate=0.01, worst=exactly, orders=ALL_ORDERS
    )
    print("a two-layer transformer: lower bounds")
    deep = rx.Transformer(ACTIONS, layers=2, width=16, key=jax.random.key(0))
    gaussian = Gaussian(0.68**2 * np.eye(ACTIONS))  # its best policy is Optimal(20, 0.68)
    objective = rx.RegretObjective(ACTIONS, ROUNDS, gaussian)
    deep = rx.fit(deep, objective, key=jax.random.key(2), steps=2000, batch=128).model
    deep, _ = train(deep, repeats=60, steps=40, rate=0.001, worst=by_search, orders=ALL_ORDERS)
    found = theory.worst_case_search(deep, ACTIONS, ROUNDS, key=jax.random.key(1), starts=256)
    best["transformer_at_least"] = found.regret
    print(f"  a longer search: {found.regret:.6f}")
    if sys.argv[1:]:
        Path(sys.argv[1]).write_text(json.dumps(best) + "\n")


if __name__ == "__main__":
    main()
