"""Hedge without a horizon: AdaHedge tunes its step on the losses, doubling Hedge restarts with ever smaller steps."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from regrax import _checks as checks
from regrax.learners._base import (
    Bound,
    Key,
    Learner,
    Prior,
    Rounds,
    as_prior,
    check_prior,
    prior_bits,
    with_prior,
)
from regrax.learners._ftrl import Scalar, Sum
from regrax.learners._simple import leaders


class Mixability(NamedTuple):
    """State of AdaHedge."""

    losses: Sum  # S_{t-1}
    gaps: Sum  # Delta_{t-1}, the sum of past mixability gaps

    @property
    def total(self) -> Float[Array, "d"]:
        """$S_{t-1}$."""
        return self.losses.value

    @property
    def gap(self) -> Float[Array, ""]:
        r"""$\Delta_{t-1}$."""
        return self.gaps.value


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

    prior: Prior = eqx.field(converter=as_prior, default=None)

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Mixability:
        check_prior(self.prior, actions)
        return Mixability(Sum.zeros(actions), Sum.zeros())

    def policy(self, state: Mixability) -> Float[Array, "d"]:
        logits = -_step(state) * (state.total - state.total.min())
        hedged = jax.nn.softmax(with_prior(self.prior, logits))
        return jnp.where(_tuned(state), hedged, leaders(state.total, self.prior))

    def update(self, state: Mixability, feedback: Float[Array, "d"]) -> Mixability:
        # from the smallest total and the smallest loss, so that equal losses have no gap at all
        total, loss = state.total - state.total.min(), feedback - feedback.min()
        mixed = self._mix_loss(state, total + loss) - self._mix_loss(state, total)
        gap = jnp.maximum(self.policy(state) @ loss - mixed, 0)
        return Mixability(state.losses.add(feedback), state.gaps.add(gap))

    def _mix_loss(self, state: Mixability, total: Float[Array, "d"]) -> Float[Array, ""]:
        r"""$-\frac1k \ln \sum_j \pi_{1,j} e^{-k S_j}$ up to a constant; the mix loss of a round is its growth."""
        step = _step(state)
        mixed = -jax.nn.logsumexp(with_prior(self.prior, -step * total)) / step
        reachable = jnp.where(jnp.isfinite(with_prior(self.prior, total)), total, jnp.inf)
        return jnp.where(_tuned(state), mixed, reachable.min())

    def bound(
        self, actions: int, rounds: Rounds, width: float = 1.0, largest: float | None = None
    ) -> Bound:
        if self.prior is not None:
            return None
        log = np.log(actions)
        return width * np.sqrt(rounds * log) + (largest or width) * (4 / 3 * log + 2)


def _tuned(state: Mixability) -> Array:
    """Whether the step is finite (in numbers that can still be divided by)."""
    return state.gap > jnp.finfo(state.gap.dtype).tiny ** 0.25


def _step(state: Mixability) -> Float[Array, ""]:
    r"""$\ln d / \Delta$, or 1 where $\Delta = 0$ and the step is not used."""
    return jnp.log(float(state.total.size)) / jnp.where(_tuned(state), state.gap, 1)


class Epoch(NamedTuple):
    """State of doubling Hedge."""

    losses: Sum  # of this epoch
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

    scale: Scalar = eqx.field(converter=checks.as_float)
    prior: Prior = eqx.field(converter=as_prior, default=None)

    def __check_init__(self) -> None:
        checks.positive("scale", self.scale)

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Epoch:
        check_prior(self.prior, actions)
        return Epoch(Sum.zeros(actions), jnp.ones((), int), jnp.ones((), int))

    def policy(self, state: Epoch) -> Float[Array, "d"]:
        total = state.losses.value
        step = self.scale / jnp.sqrt(state.length.astype(total.dtype))
        return jax.nn.softmax(with_prior(self.prior, -step * total))

    def update(self, state: Epoch, feedback: Float[Array, "d"]) -> Epoch:
        over = state.left == 1
        length = jnp.where(over, 2 * state.length, state.length)
        losses = jax.tree.map(lambda x: jnp.where(over, 0, x), state.losses.add(feedback))
        return Epoch(losses, jnp.where(over, length, state.left - 1), length)

    def bound(
        self, actions: int, rounds: Rounds, width: float = 1.0, largest: float | None = None
    ) -> Bound:
        rounds = np.asarray(rounds)
        lengths = 2 ** np.arange(int(rounds.max()).bit_length())
        played = np.clip(
            rounds[..., None] - lengths + 1, 0, lengths
        )  # the last epoch may be cut short
        steps = float(self.scale) / np.sqrt(lengths)
        epochs = prior_bits(self.prior, actions) / steps + width**2 / 8 * steps * played
        return np.where(played > 0, epochs, 0).sum(-1)
