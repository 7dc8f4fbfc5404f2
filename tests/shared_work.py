"""Work computed on one device, on several, and by several processes, printed as JSON; run by `test_sharding.py`.

python shared_work.py NAMES none,2,8                              in one process, a line per count
python shared_work.py NAMES all COORDINATOR PROCESSES PROCESS_ID  in several; the first prints
"""

import json
import sys

import jax
import numpy as np
from jax.flatten_util import ravel_pytree

from regrax import certify, distributed, games, learners, sharding, theory, tournament
from regrax.attention import LinearAttention, Transformer
from regrax.training import Rademacher, RegretObjective, evaluate, fit


def key():
    """A function, because processes join before the first array is created."""
    return jax.random.key(5)


def flat(tree):
    return np.asarray(ravel_pytree(tree)[0], float)


def linear(devices):
    """Two seeds at once. With four pieces, 3 and 8 devices also share sequences."""
    keys = jax.random.split(key(), 2)
    models = jax.vmap(lambda key: LinearAttention(3, key=key))(keys)
    sizes = {"steps": 20, "batch": 64, "chunk": 16}
    fitted = fit(models, RegretObjective(3, 10), key=keys, devices=devices, **sizes)
    return [*flat(fitted.model), *fitted.losses.ravel()]


def deep(devices):
    model = Transformer(2, key=key(), layers=1, heads=2, width=8)
    sizes = {"steps": 12, "batch": 32, "chunk": 8}
    fitted = fit(model, RegretObjective(2, 6), key=key(), devices=devices, **sizes)
    return [*flat(fitted.model), *fitted.losses]


def recipe(devices):
    """The default batch of a linear layer, in single precision as users train."""
    with jax.enable_x64(False):
        model = LinearAttention(3, key=key())
        fitted = fit(model, RegretObjective(3, 20), key=key(), steps=10, devices=devices)
    return [*flat(fitted.model), *fitted.losses.astype(float)]


def evaluation(devices):
    found = evaluate(
        learners.Hedge(0.4), RegretObjective(3, 8), key=key(), sequences=5000, devices=devices
    )
    return [found.loss, found.error]


def gradients(devices):
    blocks = certify.gradient_blocks(2, 4, key=key(), sequences=4250, devices=devices)
    return np.concatenate([[*block.mean, *block.error] for block in blocks])


def curvature(devices):
    exact = theory.curvature(2, 4)
    found = certify.sampled_curvature(exact, key=key(), sequences=500, devices=devices)
    return found.mean


def identities(devices):
    found = certify.check_expectations(3, 5, key=key(), sequences=1001, devices=devices)
    return np.ravel([[check.mean, check.error] for check in found])


def steps(devices):
    """Four estimators, on a number of sequences that no device count divides."""
    every = [
        certify.monte_carlo_steps(
            3, 6, key=key(), estimator=name, architecture=kind, samples=37, runs=2, devices=devices
        )
        for name, kind in (("paper", "swap"), ("conditional", "single"), ("antithetic", "single"),
                           ("quasi", "single"))
    ]  # fmt: skip
    return np.concatenate([np.asarray(found, float) for found in every])


def numerical(devices):
    found = certify.numerical_step(Rademacher(), 2, 6, key=key(), sequences=1001, devices=devices)
    return list(found)


def matches(devices):
    """Drawn games and drawn actions: three games of one shape, one of another."""
    drawn = {"random": [games.random(2, 3, seed=i) for i in range(3)], "chicken": [games.chicken()]}
    seated = [learners.Hedge(0.3), learners.RegretMatching(), learners.Exp3(0.1)]
    found = tournament.round_robin(seated, drawn, 20, seeds=3, key=key(), devices=devices)
    return np.concatenate([rows.ravel() for rows in found.values.values()])


WORK = {
    work.__name__: work
    for work in (linear, deep, recipe, evaluation, gradients, curvature, identities, steps,
                 numerical, matches)
}  # fmt: skip


def main(names, counts, coordinator=None, number=None, own=None):
    if coordinator is not None:
        distributed.join(coordinator, int(number), int(own))
    names = list(WORK) if names == "all" else names.split(",")
    with distributed.guard(), jax.enable_x64(True):
        for count in counts.split(","):
            every = {"none": None, "all": jax.devices()}
            devices = every[count] if count in every else jax.devices()[: int(count)]
            found = {name: np.asarray(WORK[name](devices), float).tolist() for name in names}
            if sharding.is_first():
                print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
