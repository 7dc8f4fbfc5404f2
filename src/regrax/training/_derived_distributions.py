"""Distributions of losses made of others: mixed, cut off at a random round, rescaled."""

from collections.abc import Sequence
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import PRNGKeyArray

from regrax import _checks as checks
from regrax.training._distributions import Batch, Distribution, check_distribution


class Mixture(Distribution):
    """Each sequence comes from one of several distributions, chosen with `weights` (equal unless given).

    >>> import jax
    >>> from regrax.training import Gaussian, Rademacher
    >>> mixed = Mixture((Gaussian(), Rademacher()), (0.9, 0.1))
    >>> mixed.draw(20, 3, 100, key=jax.random.key(0)).shape
    (20, 3, 100)
    """

    name: ClassVar[str] = "mixture"
    parts: tuple[Distribution, ...]
    weights: tuple[float, ...] = eqx.field(static=True)

    def __init__(self, parts: Sequence[Distribution], weights: Sequence[float] | None = None):
        self.parts, count = tuple(parts), len(parts)
        checks.at_least("the number of parts", count, 1)
        for part in self.parts:
            check_distribution("every part of a mixture", part)
        self.weights = (1 / count,) * count if weights is None else tuple(map(float, weights))
        checks.shape("weights", self.weights, f"({count},)", len(self.weights) == count)
        checks.distributions("weights", self.weights)

    @property
    def mean(self) -> float | None:
        means = {part.mean for part in self.parts}
        return means.pop() if len(means) == 1 else None

    def _draw(self, rounds: int, actions: int, count: int, key: PRNGKeyArray) -> Batch:
        choice, *keys = jax.random.split(key, len(self.parts) + 1)
        chosen = jax.random.categorical(choice, jnp.log(jnp.array(self.weights)), shape=(count,))
        drawn = [
            part.draw(rounds, actions, count, key=k)
            for part, k in zip(self.parts, keys, strict=True)
        ]
        which = jnp.broadcast_to(chosen, (rounds, actions, count))
        return lax.select_n(which, *drawn)


class RandomHorizon(Distribution):
    r"""The losses of `base` up to a round drawn uniformly from $1..2\bar T - 1$, zero after it: its mean is $\bar T$.

    >>> import jax
    >>> from regrax.training import Gaussian
    >>> RandomHorizon(Gaussian()).draw(9, 2, 4, key=jax.random.key(0)).shape
    (9, 2, 4)
    """

    name: ClassVar[str] = "random-horizon"
    base: Distribution

    def __check_init__(self) -> None:
        check_distribution("base", self.base)

    @property
    def mean(self) -> float | None:
        return 0.0 if self.base.mean == 0 else None  # after the last round losses are zero

    def _draw(self, rounds: int, actions: int, count: int, key: PRNGKeyArray) -> Batch:
        nature, end = jax.random.split(key)
        losses = self.base.draw(rounds, actions, count, key=nature)
        last = jax.random.randint(end, (count,), 0, rounds)
        played = jnp.arange(rounds)[:, None] <= last[None, :]
        return jnp.where(played[:, None, :], losses, 0)


class Rescaled(Distribution):
    r"""The losses of `base` divided by `deviation`: a step $k$ for `base` is `deviation` times larger here.

    >>> import jax
    >>> from regrax.training import UniformLosses
    >>> losses = Rescaled(UniformLosses(), 3**-0.5).draw(20, 3, 1000, key=jax.random.key(0))
    >>> float(losses.std())
    1.0
    """

    name: ClassVar[str] = "rescaled"
    base: Distribution
    deviation: float

    def __check_init__(self) -> None:
        check_distribution("base", self.base)
        checks.positive("deviation", self.deviation)

    @property
    def mean(self) -> float | None:
        return None if self.base.mean is None else self.base.mean / self.deviation

    def _draw(self, rounds: int, actions: int, count: int, key: PRNGKeyArray) -> Batch:
        return self.base.draw(rounds, actions, count, key=key) / self.deviation
