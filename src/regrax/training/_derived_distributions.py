"""Distributions of losses made of others, mixed, cut off at a random round or rescaled; and of play in a game."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray

from regrax import _checks as checks
from regrax.games import Game, play
from regrax.learners import Learner
from regrax.specs import as_game, as_learner
from regrax.training._distributions import Batch, Distribution, Shape, check_distribution


class Mixture(Distribution):
    """Each sequence comes from one of several distributions, chosen with `weights` (equal unless given).

    >>> import jax
    >>> from regrax.training import Gaussian, Rademacher
    >>> mixed = Mixture((Gaussian(), Rademacher()), (0.9, 0.1))
    >>> mixed.draw(20, 3, 100, key=jax.random.key(0)).shape
    (20, 3, 100)
    """

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

    def _draw(self, shape: Shape, key: PRNGKeyArray) -> Batch:
        choice, *keys = jax.random.split(key, len(self.parts) + 1)
        chosen = jax.random.categorical(choice, jnp.log(jnp.array(self.weights)), shape=shape[2:])
        pairs = zip(self.parts, keys, strict=True)
        drawn = [part.draw(*shape, key=own) for part, own in pairs]
        return lax.select_n(jnp.broadcast_to(chosen, shape), *drawn)


class RandomHorizon(Distribution):
    r"""The losses of `base` up to a round drawn uniformly from $1..2\bar T - 1$, zero after it: its mean is $\bar T$.

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
        return 0.0 if self.base.mean == 0 else None  # after the last round losses are zero

    def _draw(self, shape: Shape, key: PRNGKeyArray) -> Batch:
        nature, end = jax.random.split(key)
        losses = self.base.draw(*shape, key=nature)
        last = jax.random.randint(end, shape[2:], 0, shape[0])
        played = jnp.arange(shape[0])[:, None] <= last[None, :]
        return jnp.where(played[:, None, :], losses, 0)


class Rescaled(Distribution):
    r"""The losses of `base` divided by `deviation`: a step $k$ for `base` is `deviation` times larger here.

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
    r"""The losses of one seat when `learners` play `game` with sampled actions, $\ell_t = -u_n(\cdot, a_{-n,t})$.

    The learner in that seat stands in for the model: the others react to its actions.

    >>> import jax
    >>> losses = InGame("weighted-rps", ("uniform()", "hedge(0.5)")).draw(20, 3, 100, key=jax.random.key(0))
    >>> losses.shape
    (20, 3, 100)
    """

    game: Game = eqx.field(converter=as_game)
    learners: tuple[Learner, ...] = eqx.field(converter=lambda given: tuple(map(as_learner, given)))
    seat: int = eqx.field(static=True, default=0)

    def __check_init__(self) -> None:
        players = len(self.game.sizes)
        checks.at_least("seat", self.seat, 0)
        if self.seat >= players:
            raise ValueError(
                f"seat must be below {players}, the number of players, got {self.seat}"
            )

    def _draw(self, shape: Shape, key: PRNGKeyArray) -> Batch:
        rounds, actions, count = shape
        fits = self.game.sizes[self.seat] == actions
        checks.shape("game", self.game.payoffs, f"with {actions} actions at seat {self.seat}", fits)

        def losses(k: PRNGKeyArray) -> Float[Array, "T d"]:
            return jnp.asarray(play(self.game, self.learners, rounds, key=k).losses[self.seat])

        return jax.vmap(losses, out_axes=-1)(jax.random.split(key, count))
