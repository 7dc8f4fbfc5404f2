"""What a learner plays on many loss sequences at once."""

import math
import threading

import equinox as eqx
import jax.numpy as jnp
from jax import lax

from regrax.learners import Learner
from regrax.training import Batch, policies

SEQUENCES_PER_CHUNK = 250
COMPILING = threading.Lock()
"""Held while a program is made, lest two experiments that share it make it twice."""


def answers(learner: Learner, losses: Batch) -> Batch:
    """Every round's policy on every sequence, a few sequences at a time so that they stay in the processor's cache."""
    with COMPILING:
        return _answers(learner, losses)


@eqx.filter_jit
def _answers(learner: Learner, losses: Batch) -> Batch:
    rounds, actions, count = losses.shape
    few = math.gcd(count, SEQUENCES_PER_CHUNK)
    parts = jnp.moveaxis(losses.reshape(rounds, actions, -1, few), 2, 0)
    played = lax.map(lambda part: policies(learner, part), parts)
    return jnp.moveaxis(played, 0, 2).reshape(losses.shape)
