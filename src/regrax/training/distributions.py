r"""Distributions of loss sequences, drawn in batches: `losses[t, j, n]` for round $t$, action $j$ and sequence $n$.

If every action's loss has the same known `mean` in every round, whatever the past, then the expected regret is the same
for every policy, and training can use the baseline of `regrax.training.objectives`.

`PartialFeedback` is the part of the losses that a model sees in training. Regret always counts all losses.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from regrax import _checks as checks
from regrax.attention.base import Batch
from regrax.learners import Learner
from regrax.specs import as_game, as_learner, register

if TYPE_CHECKING:
    from regrax.games import Game

Shape = tuple[int, int, int]  # rounds, actions, sequences


class Distribution(eqx.Module):
    """Base class of distributions of loss sequences; subclasses implement `_draw`."""

    def draw(self, rounds: int, actions: int, count: int, *, key: PRNGKeyArray) -> Batch:
        """Draw `count` sequences; the same key gives the same sequences."""
        for name, size in {"rounds": rounds, "actions": actions, "count": count}.items():
            checks.at_least(name, size, 1)
        return self._draw((rounds, actions, count), key)

    @abstractmethod
    def _draw(self, shape: Shape, key: PRNGKeyArray) -> Batch: ...

    @property
    def mean(self) -> float | None:
        """Mean of every action's loss given all earlier rounds; None if it varies or is unknown."""
        return None


class Centred(Distribution):
    """Base class of distributions whose losses have mean 0, whatever the past."""

    @property
    def mean(self) -> float:
        return 0.0


@register("distribution", "gaussian")
class Gaussian(Centred):
    r"""$\ell_t \sim N(0, C)$, i.i.d. over rounds; by default $C = I$.

    >>> import jax
    >>> Gaussian().draw(20, 3, 100, key=jax.random.key(0)).shape
    (20, 3, 100)
    """

    covariance: Float[np.ndarray, "d d"] | None
    root: Float[np.ndarray, "d d"] | None = eqx.field(repr=False)  # L with L L^T = C, in float64

    def __init__(self, covariance: Any = None) -> None:
        self.covariance = None
        self.root = None
        if covariance is None:
            return
        checks.finite("covariance", covariance)
        matrix = np.array(covariance, float)
        square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1]
        checks.shape("covariance", matrix, "(d, d)", square)
        lowest = np.linalg.eigvalsh(matrix).min()
        if not np.allclose(matrix, matrix.T) or lowest <= 0:
            raise ValueError(
                f"covariance must be symmetric with eigenvalues above 0, got lowest eigenvalue {lowest:.6g}"
            )
        self.covariance = matrix
        self.root = np.linalg.cholesky(matrix)

    def _draw(self, shape: Shape, key: PRNGKeyArray) -> Batch:
        noise = jax.random.normal(key, shape)
        if self.root is None:
            return noise
        square = (shape[1], shape[1])
        checks.shape("covariance", self.covariance, f"{square}", self.root.shape == square)
        return jnp.einsum("ij,tjn->tin", jnp.asarray(self.root, float), noise)


@register("distribution", "biased_gaussian(0.35)")
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


@register("distribution", "uniform")
class UniformLosses(Distribution):
    r"""$\ell_{t,j}$ independent and uniform between `low` and `high`.

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


@register("distribution", "rademacher")
class Rademacher(Centred):
    r"""$\ell_{t,j} = \pm 1$, independent, with equal probability.

    >>> import jax
    >>> bool((abs(Rademacher().draw(20, 3, 100, key=jax.random.key(0))) == 1).all())
    True
    """

    def _draw(self, shape: Shape, key: PRNGKeyArray) -> Batch:
        return jax.random.rademacher(key, shape, jnp.zeros(()).dtype)


@register("distribution", "laplace")
class Laplace(Centred):
    r"""$\ell_{t,j}$ independent and Laplace with variance 1, density $e^{-\sqrt2 |x|} / \sqrt2$.

    >>> import jax
    >>> Laplace().draw(20, 3, 100, key=jax.random.key(0)).shape
    (20, 3, 100)
    """

    def _draw(self, shape: Shape, key: PRNGKeyArray) -> Batch:
        return jax.random.laplace(key, shape) / 2**0.5


@register("distribution", "student_t(5.0)")
class StudentT(Centred):
    r"""$\ell_{t,j}$ independent and Student's t with `freedom` degrees of freedom, which has heavy tails.

    Squared regret has a finite mean only above 2 degrees of freedom, and its gradient has a finite variance only above
    4. The draws use the polar form $\sqrt{\nu (U^{-2/\nu} - 1)} \cos 2\pi V$ with $U, V$ uniform.

    >>> import jax
    >>> StudentT(5.0).draw(20, 3, 100, key=jax.random.key(0)).shape
    (20, 3, 100)

    Reference: Bailey (1994), Polar generation of random variates with the t-distribution.
    """

    freedom: float = 5.0

    def __check_init__(self) -> None:
        checks.finite("freedom", self.freedom)
        if checks.is_concrete(self.freedom) and not self.freedom > 2:
            raise ValueError(f"freedom must be above 2, got {self.freedom}")

    def _draw(self, shape: Shape, key: PRNGKeyArray) -> Batch:
        for_radius, for_angle = jax.random.split(key)
        log_u = jnp.log1p(-jax.random.uniform(for_radius, shape))  # U in (0, 1]
        radius = jnp.sqrt(self.freedom * jnp.expm1(-2 / self.freedom * log_u))
        return radius * jnp.cos(2 * jnp.pi * jax.random.uniform(for_angle, shape))


@register("distribution", "alternating(0.1)")
class Alternating(Distribution):
    r"""$\ell_t = (-1)^t g + s\,\epsilon_t$, $g \sim N(0, I)$ once per sequence; follow-the-leader fails on such losses.

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


@register("distribution", "drifting(0.2)")
class Drifting(Distribution):
    r"""$\ell_t = m_t + \epsilon_t$ with a random walk $m_t = m_{t-1} + s\,\eta_t$, $m_0 = 0$, so the best action
    changes.

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
    """Sequences from a function: `function(key)` returns one sequence of shape `(T, d)`.

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


class Mixture(Distribution):
    """Mixture of distributions: each sequence comes from one of `parts`, with probabilities `weights`.

    Args:
        parts: the distributions.
        weights: their probabilities; by default equal.

    >>> import jax
    >>> from regrax.training import Gaussian, Rademacher
    >>> mixed = Mixture((Gaussian(), Rademacher()), (0.9, 0.1))
    >>> mixed.draw(20, 3, 100, key=jax.random.key(0)).shape
    (20, 3, 100)
    """

    parts: tuple[Distribution, ...]
    weights: tuple[float, ...] = eqx.field(static=True)

    def __init__(self, parts: Sequence[Distribution], weights: Sequence[float] | None = None):
        count = len(parts)
        checks.at_least("the number of parts", count, 1)
        for part in parts:
            check_distribution("every part of a mixture", part)
        if weights is None:
            weights = (1 / count,) * count
        self.parts = tuple(parts)
        self.weights = tuple(float(weight) for weight in weights)
        checks.shape("weights", self.weights, f"({count},)", len(self.weights) == count)
        checks.distributions("weights", self.weights)

    @property
    def mean(self) -> float | None:
        means = {part.mean for part in self.parts}
        return means.pop() if len(means) == 1 else None

    def _draw(self, shape: Shape, key: PRNGKeyArray) -> Batch:
        choice, *keys = jax.random.split(key, len(self.parts) + 1)
        chosen = jax.random.categorical(choice, jnp.log(jnp.array(self.weights)), shape=shape[2:])
        pairs = zip(self.parts, keys, strict=True)
        draws = [part.draw(*shape, key=part_key) for part, part_key in pairs]
        return lax.select_n(jnp.broadcast_to(chosen, shape), *draws)


class RandomHorizon(Distribution):
    r"""Losses of `base` up to a round drawn uniformly from $1..2\bar T - 1$ (mean $\bar T$), zeros after it.

    >>> import jax
    >>> from regrax.training import Gaussian
    >>> RandomHorizon(Gaussian()).draw(9, 2, 4, key=jax.random.key(0)).shape
    (9, 2, 4)
    """

    base: Distribution

    def __check_init__(self) -> None:
        check_distribution("base", self.base)

    @property
    def mean(self) -> float | None:
        return 0.0 if self.base.mean == 0 else None  # losses after the last round are zero

    def _draw(self, shape: Shape, key: PRNGKeyArray) -> Batch:
        for_losses, for_end = jax.random.split(key)
        losses = self.base.draw(*shape, key=for_losses)
        last = jax.random.randint(for_end, shape[2:], 0, shape[0])
        played = jnp.arange(shape[0])[:, None] <= last[None, :]
        return jnp.where(played[:, None, :], losses, 0)


class Rescaled(Distribution):
    r"""Losses of `base` divided by `deviation`; the best step size grows by the same factor.

    >>> import jax
    >>> from regrax.training import UniformLosses
    >>> losses = Rescaled(UniformLosses(), 3**-0.5).draw(20, 3, 1000, key=jax.random.key(0))
    >>> float(losses.std())
    1.0
    """

    base: Distribution
    deviation: float

    def __check_init__(self) -> None:
        check_distribution("base", self.base)
        checks.positive("deviation", self.deviation)

    @property
    def mean(self) -> float | None:
        return None if self.base.mean is None else self.base.mean / self.deviation

    def _draw(self, shape: Shape, key: PRNGKeyArray) -> Batch:
        return self.base.draw(*shape, key=key) / self.deviation


class InGame(Distribution):
    r"""Losses $\ell_t = -u_n(\cdot, a_{-n,t})$ of player $n$ when `learners` play `game` with sampled actions.

    The learner of player $n$ stands in for the model: the other players react to its actions.

    Args:
        game: a game, or its spec.
        learners: one learner or spec per player.
        seat: the player $n$, counted from 0.

    >>> import jax
    >>> losses = InGame("weighted-rps", ("uniform()", "hedge(0.5)")).draw(20, 3, 100, key=jax.random.key(0))
    >>> losses.shape
    (20, 3, 100)
    """

    game: "Game" = eqx.field(converter=as_game)
    learners: tuple[Learner, ...] = eqx.field(converter=lambda specs: tuple(map(as_learner, specs)))
    seat: int = eqx.field(static=True, default=0)

    def __check_init__(self) -> None:
        checks.at_least("seat", self.seat, 0)
        players = len(self.game.sizes)
        if self.seat >= players:
            raise ValueError(
                f"seat must be below {players}, the number of players, got {self.seat}"
            )

    def _draw(self, shape: Shape, key: PRNGKeyArray) -> Batch:
        from regrax.games import play

        rounds, actions, count = shape
        fits = self.game.sizes[self.seat] == actions
        checks.shape("game", self.game.payoffs, f"with {actions} actions at seat {self.seat}", fits)

        def losses(own: PRNGKeyArray) -> Float[Array, "T d"]:
            return jnp.asarray(play(self.game, self.learners, rounds, key=own).losses[self.seat])

        return jax.vmap(losses, out_axes=-1)(jax.random.split(key, count))


@register("distribution", "mixture(gaussian, laplace)")
def mixture(*parts: Distribution) -> Mixture:
    """Mix distributions with equal weights; this is the function that specs call."""
    return Mixture(parts)


@register("distribution", 'in_game("weighted-rps", "hedge(0.4)")')
def in_game(game: str, *learners: str, seat: int = 0) -> InGame:
    """Draw losses from a game; this is the function that specs call."""
    return InGame(game, learners, seat)


def check_distribution(name: str, value: Any) -> None:
    """Raise ValueError unless `value` is a `Distribution`."""
    checks.instance(name, value, Distribution, "a Distribution, such as Gaussian()")


class PartialFeedback(eqx.Module):
    """Base class of partial feedback, which maps losses to what the model sees."""

    @abstractmethod
    def observe(self, losses: Batch, *, key: PRNGKeyArray) -> Batch:
        """Return the observations; row `t` arrives after round `t`."""


@register("feedback", "delayed(2)")
class DelayedFeedback(PartialFeedback):
    r"""The loss of round $t$ arrives after round $t + D$; before that the model sees zeros.

    >>> import jax
    >>> import jax.numpy as jnp
    >>> losses = jnp.arange(3.0).reshape(3, 1, 1) + 1
    >>> DelayedFeedback(1).observe(losses, key=jax.random.key(0)).ravel().tolist()
    [0.0, 1.0, 2.0]
    """

    delay: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        checks.at_least("delay", self.delay, 0)

    def observe(self, losses: Batch, *, key: PRNGKeyArray) -> Batch:
        rounds = losses.shape[0]
        delay = min(self.delay, rounds)
        return jnp.pad(losses[: rounds - delay], ((delay, 0), (0, 0), (0, 0)))


@register("feedback", "bandit()")
class BanditFeedback(PartialFeedback):
    r"""Each round reveals one uniformly drawn action $a$; the model sees $d\,\ell_{t,a} e_a$, whose mean is $\ell_t$.

    The revealed action does not depend on the policy, so the objective stays differentiable.

    >>> import jax
    >>> import jax.numpy as jnp
    >>> seen = BanditFeedback().observe(jnp.ones((5, 3, 2)), key=jax.random.key(0))
    >>> (seen.sum(1) == 3).all().item()
    True
    """

    def observe(self, losses: Batch, *, key: PRNGKeyArray) -> Batch:
        rounds, actions, count = losses.shape
        revealed = jax.random.randint(key, (rounds, count), 0, actions)
        return actions * losses * jax.nn.one_hot(revealed, actions, axis=1, dtype=losses.dtype)
