"""Losses from play against learners in a game."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from regrax import _checks as checks
from regrax.games import Game, play
from regrax.learners import Learner
from regrax.specs import as_game, as_learner
from regrax.training._distributions import Batch, Distribution


class InGame(Distribution):
    r"""The losses of one seat when `learners` play `game` with sampled actions, $\ell_t = -u_n(\cdot, a_{-n,t})$.

    The learner in that seat stands in for the model: the others react to its actions.

    >>> import jax
    >>> losses = InGame("weighted-rps", ("uniform()", "hedge(0.5)")).draw(20, 3, 100, key=jax.random.key(0))
    >>> losses.shape
    (20, 3, 100)
    """

    name: ClassVar[str] = "in-game"
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

    def _draw(self, rounds: int, actions: int, count: int, key: PRNGKeyArray) -> Batch:
        fits = self.game.sizes[self.seat] == actions
        checks.shape("game", self.game.payoffs, f"with {actions} actions at seat {self.seat}", fits)

        def losses(k: PRNGKeyArray) -> Float[Array, "T d"]:
            return jnp.asarray(play(self.game, self.learners, rounds, key=k).losses[self.seat])

        return jax.vmap(losses, out_axes=-1)(jax.random.split(key, count))
