"""Hedge without a horizon: AdaHedge tunes its step on the losses, doubling Hedge restarts with ever smaller steps."""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from regrax import _checks as checks
from regrax.learners._base import Learner
from regrax.learners._simple import leaders
from regrax.learners._steps import Scalar


class Mixability(NamedTuple):
    """State of AdaHedge."""

    total: Float[Array, "d"]  # S_{t-1}
    gap: Float[Array, ""]  # Delta_{t-1}, the sum of past mixability gaps


class AdaHedge(Learner):
    r"""$\pi_t = \mathrm{softmax}(-k_t S_{t-1})$, $k_t = \ln d / \Delta_{t-1}$ ($\Delta_0 = 0$: the leaders).

    $\Delta_t = \Delta_{t-1} + \langle \ell_t, \pi_t \rangle + \frac{1}{k_t} \ln \sum_j \pi_{t,j} e^{-k_t \ell_{t,j}}$
    adds up what the policy lost beyond its mix loss. No hyperparameter; multiplying or shifting the losses changes
    nothing. Regret $\le w \sqrt{T \ln d} + w' (\frac43 \ln d + 2)$ with $w'$ the span of the widest round.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(AdaHedge(), jnp.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.2, 0.8]]

    Reference: de Rooij, van Erven, Grünwald, Koolen (2014), Follow the leader if you can, hedge if you must.
    """

    name: ClassVar[str] = "ada_hedge"
    about: ClassVar[str] = "Hedge that tunes its own step to the losses it meets"
    examples: ClassVar[tuple[str, ...]] = ("ada_hedge()",)

    def init(
        self, actions: int, rounds: int | None = None, *, key: PRNGKeyArray | None = None
    ) -> Mixability:
        return Mixability(jnp.zeros(actions), jnp.zeros(()))

    def policy(self, state: Mixability) -> Float[Array, "d"]:
        hedged = jax.nn.softmax(-_step(state) * (state.total - state.total.min()))
        return jnp.where(_tuned(state), hedged, leaders(state.total))

    def update(self, state: Mixability, feedback: Float[Array, "d"]) -> Mixability:
        # from the smallest total and the smallest loss, so that equal losses have no gap at all
        total, loss = state.total - state.total.min(), feedback - feedback.min()
        mixed = _mix_loss(state, total + loss) - _mix_loss(state, total)
        gap = jnp.maximum(self.policy(state) @ loss - mixed, 0)
        return Mixability(state.total + feedback, state.gap + gap)

    def bound(
        self, actions: int, rounds: int, width: float = 1.0, largest: float | None = None
    ) -> float | None:
        log = np.log(actions)
        return float(width * np.sqrt(rounds * log) + (largest or width) * (4 / 3 * log + 2))


def _mix_loss(state: Mixability, total: Float[Array, "d"]) -> Float[Array, ""]:
    r"""$-\frac1k \ln \sum_j e^{-k S_j}$; the mix loss of a round is its growth."""
    step = _step(state)
    return jnp.where(_tuned(state), -jax.nn.logsumexp(-step * total) / step, total.min())


def _tuned(state: Mixability) -> Array:
    """Whether the step is finite (in numbers that can still be divided by)."""
    return state.gap > jnp.finfo(state.gap.dtype).tiny ** 0.25


def _step(state: Mixability) -> Float[Array, ""]:
    r"""$\ln d / \Delta$, or 1 where $\Delta = 0$ and the step is not used."""
    return jnp.log(float(state.total.size)) / jnp.where(_tuned(state), state.gap, 1)


class Epoch(NamedTuple):
    """State of doubling Hedge."""

    total: Float[Array, "d"]  # losses of this epoch
    left: Int[Array, ""]  # rounds left in it, this one included
    length: Int[Array, ""]


class DoublingHedge(Learner):
    r"""Hedge in epochs of $n = 1, 2, 4, \dots$ rounds, each started afresh with the step $c / \sqrt n$.

    Needs no horizon. Regret is at most the sum of the epochs' bounds $\ln d / k + k w^2 n / 8$ with $k = c / \sqrt n$;
    $c = \sqrt{8 \ln d}$ makes it $w \sqrt{T \ln d / 2}$ times at most $\sqrt2 / (\sqrt2 - 1)$, about 3.4.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> losses = jnp.array([[9.0, 0.0], [2**0.5, 0.0], [0.0, 0.0], [0.0, 0.0]])
    >>> rollout(DoublingHedge(1.0), losses).tolist()
    [[0.5, 0.5], [0.5, 0.5], [0.269, 0.731], [0.5, 0.5]]

    Reference: Cesa-Bianchi, Freund, Haussler, Helmbold, Schapire, Warmuth (1997), How to use expert advice.
    """

    name: ClassVar[str] = "doubling_hedge"
    about: ClassVar[str] = "Hedge restarted in epochs of doubling length, the step fitted to each"
    examples: ClassVar[tuple[str, ...]] = ("doubling_hedge(2.0)",)
    scale: Scalar

    def __check_init__(self) -> None:
        checks.positive("scale", self.scale)

    def init(
        self, actions: int, rounds: int | None = None, *, key: PRNGKeyArray | None = None
    ) -> Epoch:
        return Epoch(jnp.zeros(actions), jnp.ones((), int), jnp.ones((), int))

    def policy(self, state: Epoch) -> Float[Array, "d"]:
        step = self.scale / jnp.sqrt(state.length.astype(state.total.dtype))
        return jax.nn.softmax(-step * state.total)

    def update(self, state: Epoch, feedback: Float[Array, "d"]) -> Epoch:
        over = state.left == 1
        length = jnp.where(over, 2 * state.length, state.length)
        total = jnp.where(over, 0, state.total + feedback)
        return Epoch(total, jnp.where(over, length, state.left - 1), length)

    def bound(
        self, actions: int, rounds: int, width: float = 1.0, largest: float | None = None
    ) -> float | None:
        lengths = 2 ** np.arange(rounds.bit_length())
        played = np.minimum(lengths, rounds - lengths + 1)  # the last epoch may be cut short
        steps = float(self.scale) / np.sqrt(lengths)
        return float(np.sum(np.log(actions) / steps + width**2 / 8 * steps * played))
