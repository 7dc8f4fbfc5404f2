"""Blum-Mansour: any external-regret learner becomes a swap-regret learner, one copy per action."""

from functools import partial
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from regrax import _checks as checks
from regrax.learners._base import Bound, Key, Learner, Rounds, State, as_base, check_base
from regrax.learners._ftrl import stacked_policies
from regrax.simplex import stationary


class Heads(NamedTuple):
    """State of Blum-Mansour: the copies, and the policy their fixed point gives."""

    heads: State  # d base states, stacked
    policy: Float[Array, "d *n"]
    before: Float[Array, "2 d *n"]  # the two policies before it, the later one first

    def guess(self) -> Float[Array, "d *n"]:
        r"""The next policy if play goes on smoothly: $3\pi_t - 3\pi_{t-1} + \pi_{t-2}$, the parabola through three."""
        return jnp.maximum(3 * (self.policy - self.before[0]) + self.before[1], 0)


class BlumMansour(Learner):
    r"""$\pi_t = P_t \pi_t$, column $i$ of $P_t$ played by copy $i$ of `base` on losses $x_{i,t} = \pi_{t,i} \ell_t$.

    Swap regret is at most the sum of the copies' external regrets. The fixed point starts from the last policy and
    stops at $\|P\pi - \pi\|_1 \le$ `tolerance` (default 1e-6 in float32, 1e-10 in float64), which costs at most
    `tolerance` times the losses' span a round; see `regrax.simplex.stationary`.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import Hedge, rollout
    >>> rollout(BlumMansour(Hedge(1.0)), jnp.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.378, 0.622]]

    Reference: Blum, Mansour (2007), From external to internal regret.
    """

    regret: ClassVar = "swap"
    base: Learner = eqx.field(converter=as_base)
    tolerance: float | None = eqx.field(static=True, default=None)

    def __check_init__(self) -> None:
        check_base(self.base)
        if self.tolerance is not None:
            checks.positive("tolerance", self.tolerance)

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Heads:
        keys = None if key is None else jax.random.split(key, actions)
        start = jax.vmap(lambda k: self.base.init(actions, rounds, key=k), axis_size=actions)
        heads = start(keys)
        columns = self._columns(heads)
        # without keys the copies start alike, and a matrix of equal columns has that column as its fixed point
        policy = columns[:, 0] if keys is None else stationary(columns)
        return Heads(heads, policy, jnp.stack([policy, policy]))

    def policy(self, state: Heads) -> Float[Array, "d *n"]:
        return state.policy

    def update(self, state: Heads, feedback: Float[Array, "d *n"]) -> Heads:
        shares = state.policy[:, None] * feedback[None]
        heads = jax.vmap(self.base.update)(state.heads, shares)
        fixed_point = partial(stationary, tolerance=self.tolerance)
        if feedback.ndim > 1:
            fixed_point = jax.vmap(fixed_point, -1, -1)
        policy = fixed_point(self._columns(heads), state.guess())
        return Heads(heads, policy, jnp.stack([state.policy, state.before[0]]))

    def bound(
        self, actions: int, rounds: Rounds, width: float = 1.0, largest: float | None = None
    ) -> Bound:
        if self.base.regret == "internal":
            return None
        # sum_i pi_i^2 <= 1, so the copies share the squared widths; by concavity an even share is the worst
        head = self.base.bound(actions, rounds, width / actions**0.5, largest or width)
        return None if head is None else actions * head

    def _columns(self, heads: State) -> Float[Array, "d d *n"]:
        return stacked_policies(self.base, heads).swapaxes(0, 1)
