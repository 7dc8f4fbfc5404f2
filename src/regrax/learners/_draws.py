"""Drawing actions: keys of seats and rounds, an action for every seat, and actions as policies."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key as KeyArray, PRNGKeyArray

Keys = PRNGKeyArray | KeyArray[Array, "B"]
"""A key, or a key per match where seats hold a batch of policies."""
Vectors = tuple[Any, ...]
"""What every seat plays, or loses: a vector per seat, or a batch of them."""


def draw(key: PRNGKeyArray, policy: Float[Array, "d"]) -> Int[Array, ""]:
    r"""An action $a \sim \pi$."""
    return jax.random.categorical(key, jnp.log(policy))  # log(0) is -inf, which is never drawn


def _is_batch(key: Keys) -> bool:
    return bool(key.ndim) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key)


def split(key: Keys, count: int) -> Any:
    """`count` keys of a key, or of each key of a batch: `count` is the first axis."""
    one = partial(jax.random.split, num=count)
    return jax.vmap(one, out_axes=1)(key) if _is_batch(key) else one(key)


def key_of_round(draws: Keys, number: Any) -> Keys:
    """What the actions of a round are drawn with."""
    if _is_batch(draws):
        return jax.vmap(jax.random.fold_in, (0, None))(draws, number)
    return jax.random.fold_in(draws, number)


def draw_all(key: Keys, policies: Vectors) -> Vectors:
    """An action for every seat; of seats that hold several policies, an action for each."""
    if _is_batch(key):
        return jax.vmap(draw_all)(key, policies)
    keys = jax.random.split(key, len(policies))
    return tuple(
        draw(own, pi) if pi.ndim == 1 else jax.vmap(draw)(jax.random.split(own, len(pi)), pi)
        for own, pi in zip(keys, policies, strict=True)
    )


def one_hots(actions: tuple, policies: tuple) -> tuple:
    """Actions as one-hot rows."""
    if isinstance(actions[0], np.ndarray):
        return tuple(
            np.eye(pi.shape[-1], dtype=pi.dtype)[a] for a, pi in zip(actions, policies, strict=True)
        )
    return tuple(
        jax.nn.one_hot(a, pi.shape[-1], dtype=pi.dtype)
        for a, pi in zip(actions, policies, strict=True)
    )
