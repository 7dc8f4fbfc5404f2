r"""Where loss sequences come from: distributions over `losses[t, j, n]`, sequence last.

`mean` is what makes plain regret training cheap: when every action's loss has the same known mean in every round,
whatever the past rounds, the expected regret is the same for every policy (see `regrax.training._objectives`).
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from regrax import _checks as checks

Batch = Float[Array, "T d n"]
Shape = tuple[int, int, int]  # of a batch: rounds, actions, sequences


class Distribution(eqx.Module):
    """Draws loss sequences; the same key gives the same sequences. A kind writes `_draw`."""

    centred: ClassVar[bool] = False  # whether `mean` is 0

    def draw(self, rounds: int, actions: int, count: int, *, key: PRNGKeyArray) -> Batch:
        """`count` sequences of `rounds` losses for `actions` actions."""
        for name, size in (("rounds", rounds), ("actions", actions), ("count", count)):
            checks.at_least(name, size, 1)
        return self._draw((rounds, actions, count), key)

    @abstractmethod
    def _draw(self, shape: Shape, key: PRNGKeyArray) -> Batch:
        """`draw`, of rounds, actions and a count that are known to be integers of at least 1."""

    @property
    def mean(self) -> float | None:
        """The mean of every action's loss given all earlier rounds, if it is the same for all; else None."""
        return 0.0 if self.centred else None


class Gaussian(Distribution):
    r"""$\ell_t \sim N(0, C)$ i.i.d. over rounds; $C = I$ unless `covariance` is given.

    >>> import jax
    >>> Gaussian().draw(20, 3, 100, key=jax.random.key(0)).shape
    (20, 3, 100)
    """

    centred: ClassVar[bool] = True
    covariance: Float[np.ndarray, "d d"] | None
    root: Float[np.ndarray, "d d"] | None = eqx.field(repr=False)  # L L^T = C, in double precision

    def __init__(self, covariance: Any = None) -> None:
        self.covariance = self.root = None
        if covariance is not None:
            checks.finite("covariance", covariance)
            self.covariance = np.array(covariance, float)
            self.root = _cholesky(self.covariance)

    def _draw(self, shape: Shape, key: PRNGKeyArray) -> Batch:
        noise = jax.random.normal(key, shape)
        if self.root is None:
            return noise
        square = (shape[1], shape[1])
        checks.shape("covariance", self.covariance, f"{square}", self.root.shape == square)
        return jnp.einsum("ij,tjn->tin", jnp.asarray(self.root, float), noise)


class BiasedGaussian(Distribution):
    r"""$\ell_t = m + \epsilon_t$ with $m \sim N(0, s^2 I)$ once per sequence and $\epsilon_t \sim N(0, I)$.

    >>> import jax
    >>> BiasedGaussian().draw(20, 3, 100, key=jax.random.key(0)).shape
    (20, 3, 100)
    """

    spread: float = 0.35

    def __check_init__(self) -> None:
        checks.finite("spread", self.spread)

    def _draw(self, shape: Shape, key: PRNGKeyArray) -> Batch:
        bias, noise = jax.random.split(key)
        means = self.spread * jax.random.normal(bias, (1, *shape[1:]))
        return jnp.broadcast_to(means, shape) + jax.random.normal(noise, shape)


class UniformLosses(Distribution):
    r"""$\ell_{t,j}$ uniform between `low` and `high`, independent.

    >>> import jax
    >>> bool((abs(UniformLosses().draw(20, 3, 100, key=jax.random.key(0))) <= 1).all())
    True
    """

    low: float = -1.0
    high: float = 1.0

    def __check_init__(self) -> None:
        checks.finite("low", self.low)
        checks.finite("high", self.high)
        if checks.are_concrete(self.low, self.high) and not self.low < self.high:
            raise ValueError(f"low must be below high, got {self.low} and {self.high}")

    @property
    def mean(self) -> float:
        return (self.low + self.high) / 2

    def _draw(self, shape: Shape, key: PRNGKeyArray) -> Batch:
        return jax.random.uniform(key, shape, minval=self.low, maxval=self.high)


class Rademacher(Distribution):
    r"""$\ell_{t,j} = \pm 1$ with equal chances, independent.

    >>> import jax
    >>> bool((abs(Rademacher().draw(20, 3, 100, key=jax.random.key(0))) == 1).all())
    True
    """

    centred: ClassVar[bool] = True

    def _draw(self, shape: Shape, key: PRNGKeyArray) -> Batch:
        return jax.random.rademacher(key, shape, jnp.zeros(()).dtype)


class Laplace(Distribution):
    r"""$\ell_{t,j}$ Laplace with variance 1: density $e^{-\sqrt2 |x|} / \sqrt2$, independent.

    >>> import jax
    >>> Laplace().draw(20, 3, 100, key=jax.random.key(0)).shape
    (20, 3, 100)
    """

    centred: ClassVar[bool] = True

    def _draw(self, shape: Shape, key: PRNGKeyArray) -> Batch:
        return jax.random.laplace(key, shape) / 2**0.5


class StudentT(Distribution):
    r"""$\ell_{t,j}$ Student's t with `freedom` degrees of freedom, independent: heavy tails.

    Squared regret has a finite mean only above 2 degrees of freedom, its gradient a finite variance above 4. Drawn in
    polar form, $\sqrt{\nu (U^{-2/\nu} - 1)} \cos 2\pi V$ with $U, V$ uniform.

    >>> import jax
    >>> StudentT(5.0).draw(20, 3, 100, key=jax.random.key(0)).shape
    (20, 3, 100)

    Reference: Bailey (1994), Polar generation of random variates with the t-distribution.
    """

    centred: ClassVar[bool] = True
    freedom: float = 5.0

    def __check_init__(self) -> None:
        checks.finite("freedom", self.freedom)
        if checks.is_concrete(self.freedom) and not self.freedom > 2:
            raise ValueError(f"freedom must be above 2, got {self.freedom}")

    def _draw(self, shape: Shape, key: PRNGKeyArray) -> Batch:
        for_radius, for_angle = jax.random.split(key)
        log_u = jnp.log1p(-jax.random.uniform(for_radius, shape))  # of U in (0, 1]
        radius = jnp.sqrt(self.freedom * jnp.expm1(-2 / self.freedom * log_u))
        return radius * jnp.cos(2 * jnp.pi * jax.random.uniform(for_angle, shape))


class Alternating(Distribution):
    r"""$\ell_t = (-1)^t g + s\,\epsilon_t$, $g \sim N(0, I)$ once per sequence: what follow-the-leader loses to.

    >>> import jax
    >>> losses = Alternating(noise=0.0).draw(2, 3, 5, key=jax.random.key(0))
    >>> bool((losses[0] == -losses[1]).all())
    True
    """

    noise: float = 0.1

    def __check_init__(self) -> None:
        checks.finite("noise", self.noise)

    def _draw(self, shape: Shape, key: PRNGKeyArray) -> Batch:
        direction, jitter = jax.random.split(key)
        signs = jnp.where(jnp.arange(shape[0]) % 2 == 0, -1.0, 1.0)
        swing = jnp.einsum("t,jn->tjn", signs, jax.random.normal(direction, shape[1:]))
        return swing + self.noise * jax.random.normal(jitter, shape)


class Drifting(Distribution):
    r"""$\ell_t = m_t + \epsilon_t$ with a random walk $m_t = m_{t-1} + s\,\eta_t$, $m_0 = 0$: the best action changes.

    >>> import jax
    >>> Drifting().draw(20, 3, 100, key=jax.random.key(0)).shape
    (20, 3, 100)
    """

    drift: float = 0.2

    def __check_init__(self) -> None:
        checks.finite("drift", self.drift)

    def _draw(self, shape: Shape, key: PRNGKeyArray) -> Batch:
        walk, noise = jax.random.split(key)
        steps = self.drift * jax.random.normal(walk, shape)
        return jnp.cumsum(steps, 0) + jax.random.normal(noise, shape)


class FromKey(Distribution):
    """Any function of a key: `function(key)` gives one sequence, `(T, d)`.

    >>> import jax
    >>> spikes = FromKey(lambda key: jax.random.exponential(key, (20, 3)))
    >>> spikes.draw(20, 3, 100, key=jax.random.key(0)).shape
    (20, 3, 100)
    """

    function: Callable[[PRNGKeyArray], Float[Array, "T d"]] = eqx.field(static=True)

    def _draw(self, shape: Shape, key: PRNGKeyArray) -> Batch:
        drawn = jax.vmap(self.function, out_axes=-1)(jax.random.split(key, shape[2]))
        checks.shape("each sequence", drawn[..., 0], f"{shape[:2]}", drawn.shape == shape)
        return jnp.asarray(drawn, float)


def _cholesky(covariance: np.ndarray) -> np.ndarray:
    """The root of a covariance; raises ValueError unless it is one."""
    square = covariance.ndim == 2 and covariance.shape[0] == covariance.shape[1]
    checks.shape("covariance", covariance, "(d, d)", square)
    lowest = np.linalg.eigvalsh(covariance).min()
    if not np.allclose(covariance, covariance.T) or lowest <= 0:
        raise ValueError(
            f"covariance must be symmetric with eigenvalues above 0, got a lowest of {lowest:.6g}"
        )
    return np.linalg.cholesky(covariance)


def check_distribution(name: str, value: Any) -> None:
    """Raise unless `value` is a distribution of losses."""
    if not isinstance(value, Distribution):
        raise ValueError(f"{name} must be a Distribution, as in Gaussian(), got {value!r}")
