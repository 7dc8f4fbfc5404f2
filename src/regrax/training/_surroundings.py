"""Losses that come from somewhere: play against learners in a game, and what a learner gets to see of its losses."""

from abc import abstractmethod
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


class Feedback(eqx.Module):
    """What a learner sees of its losses; regret always counts the losses themselves."""

    name: ClassVar[str]

    @abstractmethod
    def observe(self, losses: Batch, *, key: PRNGKeyArray) -> Batch:
        """Row `t` is what arrives after round `t`."""


class DelayedFeedback(Feedback):
    r"""The loss of round $t$ arrives after round $t + D$; nothing (zero) arrives before round $D + 1$.

    >>> import jax
    >>> import jax.numpy as jnp
    >>> losses = jnp.arange(3.0).reshape(3, 1, 1) + 1
    >>> DelayedFeedback(1).observe(losses, key=jax.random.key(0)).ravel().tolist()
    [0.0, 1.0, 2.0]
    """

    name: ClassVar[str] = "delayed"
    delay: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        checks.at_least("delay", self.delay, 0)

    def observe(self, losses: Batch, *, key: PRNGKeyArray) -> Batch:
        arrived = losses[: max(losses.shape[0] - self.delay, 0)]
        return jnp.pad(arrived, ((losses.shape[0] - arrived.shape[0], 0), (0, 0), (0, 0)))


class BanditFeedback(Feedback):
    r"""Each round shows one action $a$ drawn uniformly: the estimate $d\,\ell_{t,a} e_a$, whose mean is $\ell_t$.

    What is shown does not depend on the policy, so the objective stays differentiable.

    >>> import jax
    >>> import jax.numpy as jnp
    >>> seen = BanditFeedback().observe(jnp.ones((5, 3, 2)), key=jax.random.key(0))
    >>> (seen.sum(1) == 3).all().item()
    True
    """

    name: ClassVar[str] = "bandit"

    def observe(self, losses: Batch, *, key: PRNGKeyArray) -> Batch:
        rounds, actions, count = losses.shape
        shown = jax.random.randint(key, (rounds, count), 0, actions)
        return actions * losses * jax.nn.one_hot(shown, actions, axis=1, dtype=losses.dtype)
