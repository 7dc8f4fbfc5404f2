r"""Swap and internal regret.

Two learners reduce swap regret to external regret: Blum-Mansour runs a copy of its base per action, TreeSwap one per
time scale. Two others weight the pairs $i \to j$ directly. They track the gains
$R_{ij} = \sum_t \pi_{t,i} (\ell_{t,i} - \ell_{t,j})$ of playing $j$ wherever $i$ was played, turn them into rates
$A_{ij} \ge 0$, and play the distribution whose flow balances: $\sum_j \pi_i A_{ij} = \sum_j \pi_j A_{ji}$.
"""

from abc import abstractmethod
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from regrax import _checks as checks
from regrax.learners.base import (
    Bound,
    Key,
    Learner,
    Prior,
    Reduction,
    Rounds,
    State,
    StepLearner,
    Sum,
    prior_field,
    prior_or_uniform,
    step_bound,
    where,
)
from regrax.simplex import Integer, Matrix, Vector, stationary
from regrax.specs import register

MAX_ROUNDS = 2**30  # of TreeSwap, counted in 32 bits
MAX_DEPTH = 64


class Heads(NamedTuple):
    """State of Blum-Mansour: the copies and the fixed point of their policies."""

    heads: State  # d base states, stacked
    policy: Vector
    before: Float[Array, "2 d"]  # the two previous policies, the later one first


@register(
    "learner",
    "blum_mansour(hedge(0.9944))",
    "blum_mansour(regret_matching())",
    "blum_mansour(optimistic_hedge(0.5))",
)
class BlumMansour(Reduction):
    r"""Low swap regret from any base learner: run a copy per action and play the fixed point of their policies.

    $\pi_t = P_t \pi_t$, where copy $i$ of `base` plays column $i$ of $P_t$ on losses $x_{i,t} = \pi_{t,i} \ell_t$.

    Swap regret is at most the sum of the copies' external regrets. The fixed point is computed by iteration from the
    last policies until $\|P\pi - \pi\|_1 \le$ `tolerance` (default 1e-6 in float32, 1e-10 in float64), which costs at
    most `tolerance` times the range of losses per round; see `regrax.simplex.stationary`.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import Hedge, rollout
    >>> rollout(BlumMansour(Hedge(1.0)), jnp.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.378, 0.622]]

    Reference: Blum, Mansour (2007), From external to internal regret.
    """

    regret: ClassVar = "swap"
    tolerance: float | None = eqx.field(static=True, default=None)

    def __check_init__(self) -> None:
        if self.tolerance is not None:
            checks.positive("tolerance", self.tolerance)

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Heads:
        keys = None if key is None else jax.random.split(key, actions)
        start = jax.vmap(lambda k: self.base.init(actions, rounds, key=k), axis_size=actions)
        heads = start(keys)
        columns = self._columns(heads)
        # without keys the copies are equal, and the fixed point of a matrix with equal columns is that column
        policy = columns[:, 0] if keys is None else stationary(columns)
        return Heads(heads, policy, jnp.stack([policy, policy]))

    def update(self, state: Heads, feedback: Vector) -> Heads:
        shares = state.policy[:, None] * feedback[None]
        heads = jax.vmap(self.base.update)(state.heads, shares)
        columns = self._columns(heads)
        # the parabola through the last three policies, 3 pi_t - 3 pi_{t-1} + pi_{t-2}, is close to the next one
        guess = jnp.maximum(3 * (state.policy - state.before[0]) + state.before[1], 0)
        policy = stationary(columns, guess, tolerance=self.tolerance)
        return Heads(heads, policy, jnp.stack([state.policy, state.before[0]]))

    def _bound(self, actions: int, rounds: Rounds, width: float, largest: float) -> Bound:
        if self.base.regret == "internal":
            return None
        # sum_i pi_i^2 <= 1, so the copies share the squared widths; by concavity an even share is the worst
        head = self.base.bound(actions, rounds, width / actions**0.5, largest)
        if head is None:
            return None
        return actions * head

    def _columns(self, heads: State) -> Matrix:
        return jax.vmap(self.base.policy)(heads).swapaxes(0, 1)


class Levels(NamedTuple):
    """State of TreeSwap: a copy of the base per level."""

    initial: State  # a base state before its first round
    levels: State  # L base states, stacked
    sums: Float[Array, "L d"]  # losses of each level's block so far
    round: Integer  # t - 1


@register("learner", "tree_swap(hedge(0.7), 3, 8)")
class TreeSwap(Reduction):
    r"""Low swap regret from any base learner: average copies that run on longer and longer blocks.

    $\pi_t = \frac1L \sum_{h<L} \pi_t^{(h)}$: level $h$ is `base` on the mean losses of blocks of $M^h$ rounds.

    Level $h$ keeps its policy during a block and restarts after $M$ blocks; $L$ is `depth`, $M$ `branching`. No
    replacement for a level's policy during a block beats the block's best action, with which the level below competes.
    The levels' comparators therefore telescope, and swap regret is at most $T (\epsilon + w / L)$, where $\epsilon$ is
    the base's regret per round over $M$ rounds. Unlike Blum-Mansour's, the bound has no factor of $d$ beyond the base's
    own.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import FollowTheLeader, rollout
    >>> losses = jnp.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    >>> rollout(TreeSwap(FollowTheLeader(), depth=2, branching=2), losses).tolist()
    [[0.5, 0.5], [0.25, 0.75], [0.25, 0.75]]

    Reference: Dagan, Daskalakis, Fishelson, Golowich (2023), From external to swap regret 2.0; Peng, Rubinstein
    (2023), Fast swap regret minimization and applications to approximate correlated equilibria.
    """

    regret: ClassVar = "swap"
    depth: int = eqx.field(static=True)
    branching: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        checks.at_least("depth", self.depth, 1, MAX_DEPTH)
        checks.at_least("branching", self.branching, 2)

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Levels:
        initial = self.base.init(actions, self.branching, key=key)
        levels = jax.tree.map(lambda x: jnp.stack([x] * self.depth), initial)
        sums = jnp.zeros((self.depth, actions))
        return Levels(initial, levels, sums, jnp.zeros((), int))

    def policy(self, state: Levels) -> Vector:
        return jax.vmap(self.base.policy)(state.levels).mean(0)

    def update(self, state: Levels, feedback: Vector) -> Levels:
        played = state.round + 1

        def update_level(
            level: State, sums: Vector, block: Integer, restart: Integer
        ) -> tuple[State, Vector]:
            sums = sums + feedback
            block_ends = played % block == 0
            updated = self.base.update(level, sums / block.astype(sums.dtype))
            level = where(block_ends, updated, level)
            level = where(played % restart == 0, state.initial, level)
            return level, jnp.where(block_ends, 0, sums)

        lengths = jnp.array(self._lengths())
        update_levels = jax.vmap(update_level)
        levels, sums = update_levels(state.levels, state.sums, lengths[:-1], lengths[1:])
        return Levels(state.initial, levels, sums, played)

    def _bound(self, actions: int, rounds: Rounds, width: float, largest: float) -> Bound:
        """Add up the levels' external regrets, each bounded by theory and by the most that a copy can lose."""
        if self.base.regret == "internal":
            return None
        total = width * rounds
        for block in self._lengths()[:-1]:
            copies, rest = np.divmod(rounds, block * self.branching)
            whole = self.base.bound(actions, self.branching, width, largest)
            last = self.base.bound(actions, np.maximum(-(-rest // block), 1), width, largest)
            if whole is None or last is None:
                return None
            whole = np.minimum(whole, width * self.branching)
            total = total + copies * block * whole + np.minimum(block * last, width * rest)
        return total / self.depth

    def _lengths(self) -> list[int]:
        r"""Return $M^0, \dots, M^L$, the block length of each level and of the next."""
        return [min(self.branching**h, MAX_ROUNDS) for h in range(self.depth + 1)]


class Pairs(NamedTuple):
    """State of a `PairLearner`."""

    gains: Sum  # R_ij
    policy: Vector
    round: Integer  # t - 1


def balanced(rates: Matrix) -> Vector:
    r"""Return the distribution with $\sum_j \pi_i A_{ij} = \sum_j \pi_j A_{ji}$ for every $i$.

    Rates of relative size $\epsilon$ (one rounding error) are added between all actions: if several distributions
    balance the flow, this picks one that favours no action, and changes the flow by no more than rounding.
    """
    d = rates.shape[0]
    off = jnp.where(jnp.eye(d, dtype=bool), 0, rates)
    largest = off.sum(1).max()
    scaled = off / jnp.where(largest > 0, largest, 1)
    trickle = jnp.finfo(rates.dtype).eps / d
    leave = (1 - trickle) * scaled + trickle
    # elimination reads only the rates, but its derivative reads the whole matrix
    stay = jnp.diag(1 - leave.sum(1))
    return stationary((leave + stay).T)


class PairLearner(Learner):
    """An internal-regret learner, which turns gains into rates and plays the distribution that balances them."""

    regret: ClassVar = "internal"
    prior: Prior = prior_field()

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Pairs:
        policy = prior_or_uniform(self.prior, actions)
        return Pairs(Sum.zeros(actions, actions), policy, jnp.zeros((), int))

    def update(self, state: Pairs, feedback: Vector) -> Pairs:
        gained = state.policy[:, None] * (feedback[:, None] - feedback[None, :])
        gains = state.gains.add(gained)
        round_ = state.round + 1
        return Pairs(gains, balanced(self.rates(gains.value, round_)), round_)

    @abstractmethod
    def rates(self, gains: Matrix, round_: Integer) -> Matrix:
        """Return $A_{ij}$ after `round_` rounds."""


@register("learner", "internal_regret_matching()")
class InternalRegretMatching(PairLearner):
    r"""Regret matching for internal regret: balanced flows, proportional to positive regret.

    $\sum_j \pi_{t,i} R^+_{ij} = \sum_j \pi_{t,j} R^+_{ji}$.

    $R_{ij} = \sum_{s<t} \pi_{s,i} (\ell_{s,i} - \ell_{s,j})$ and $R^+ = \max(R, 0)$. Internal regret
    $\le w \sqrt{(d-1) T}$, so joint play converges to the set of correlated equilibria.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> losses = jnp.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    >>> rollout(InternalRegretMatching(), losses).tolist()
    [[0.5, 0.5], [0.0, 1.0], [0.8, 0.2]]

    Reference: Hart, Mas-Colell (2000), A simple adaptive procedure leading to correlated equilibrium; (2001), A
    general class of adaptive strategies.
    """

    def rates(self, gains: Matrix, round_: Integer) -> Matrix:
        return jnp.maximum(gains, 0)

    def _bound(self, actions: int, rounds: Rounds, width: float, largest: float) -> Bound:
        return width * ((actions - 1) * rounds) ** 0.5


@register("learner", "stoltz_lugosi(0.5)")
class StoltzLugosi(PairLearner, StepLearner):
    r"""Hedge over pairs of actions, for internal regret.

    $\pi_t = \sum_{i \ne j} \Delta_{ij} \pi_t^{i \to j}$, $\Delta_{ij} \propto e^{k_t R_{ij}}$.

    $\pi^{i \to j}$ is $\pi$ with the weight of $i$ moved to $j$. If the step size never grows, internal regret
    $\le \ln(d(d-1)) / k_T + \frac{w^2}{8} \sum_t k_t$.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(StoltzLugosi(1.0), jnp.array([[1.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.269, 0.731]]

    Reference: Stoltz, Lugosi (2005), Internal regret in on-line portfolio selection.
    """

    def rates(self, gains: Matrix, round_: Integer) -> Matrix:
        pairs = jnp.where(jnp.eye(len(gains), dtype=bool), jnp.finfo(gains.dtype).min, gains)
        return jax.nn.softmax(self.step_at(round_) * pairs, axis=(0, 1))

    def _bound(self, actions: int, rounds: Rounds, width: float, largest: float) -> Bound:
        pairs = max(actions * (actions - 1), 1)
        # round 1 from a prior is not a fixed point and can cost one width
        first = 0.0 if self.prior is None else largest
        return step_bound(self.step_size, rounds, float(np.log(pairs)), width**2 / 8, first)
