r"""Policy domains: the probability simplex and the L2 ball, with projections and best fixed points."""

from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from regrax import _checks as checks
from regrax.simplex import Number, Vector, project_ball, project_simplex
from regrax.specs import register

__all__ = ["Ball", "Domain", "Simplex"]

Points = Float[Array, "d *n"]
"""A vector, or a batch of vectors with the batch axes last."""


class Domain(eqx.Module):
    r"""A compact convex set $\Pi$ of policies."""

    name: ClassVar[str]

    @abstractmethod
    def project(self, point: Vector) -> Vector:
        r"""Return the nearest point of the domain, $\arg\min_{x \in \Pi} \|x - y\|_2$."""

    @abstractmethod
    def best(self, total: Points) -> Points:
        r"""Return $x^*(S) \in \arg\min_{x \in \Pi} \langle S, x \rangle$, with actions on the first axis."""

    @abstractmethod
    def least(self, total: Points) -> Float[Array, "*n"]:
        r"""Return $\min_{x \in \Pi} \langle S, x \rangle$, the loss of the best fixed point."""


@register("argument", "simplex()")
class Simplex(Domain):
    r"""Distributions over actions, $\{x \ge 0, \sum_j x_j = 1\}$.

    >>> import jax.numpy as jnp
    >>> Simplex().best(jnp.array([2.0, 1.0])).tolist(), Simplex().least(jnp.array([2.0, 1.0])).item()
    ([0.0, 1.0], 1.0)
    """

    name: ClassVar[str] = "simplex"

    def __str__(self) -> str:
        return "simplex()"

    def project(self, point: Vector) -> Vector:
        return project_simplex(point)

    def best(self, total: Points) -> Points:
        return jax.nn.one_hot(total.argmin(0), len(total), axis=0, dtype=total.dtype)

    def least(self, total: Points) -> Float[Array, "*n"]:
        return total.min(0)


@register("argument", "ball(1.0)")
class Ball(Domain):
    r"""The L2 ball of radius $R$, $\{\|x\|_2 \le R\}$.

    >>> import jax.numpy as jnp
    >>> Ball(2.0).best(jnp.array([3.0, 4.0])).tolist(), Ball(2.0).least(jnp.array([3.0, 4.0])).item()
    ([-1.2, -1.6], -10.0)
    """

    name: ClassVar[str] = "ball"
    radius: float | int | Number = 1.0

    def __check_init__(self) -> None:
        checks.positive("radius", self.radius)

    def project(self, point: Vector) -> Vector:
        return project_ball(point, self.radius)

    def best(self, total: Points) -> Points:
        return -self.radius * total / jnp.linalg.norm(total, axis=0, keepdims=True)

    def __str__(self) -> str:
        return f"ball({self.radius})"

    def least(self, total: Points) -> Float[Array, "*n"]:
        return -self.radius * jnp.linalg.norm(total, axis=0)
