r"""The minimax regret, and the learner that attains it.

The minimax value is $V_0(0)$, with $V_T(S) = -\min_j S_j$ and

$$V_{t-1}(S) = \min_{\pi \in \Delta} \max_{A} \pi(A) + f(A), \qquad f(A) = V_t(S + 1_A),$$

where $\pi(A) = \sum_{j \in A} \pi_j$ and $A$ runs over all subsets of the actions. By duality it is the maximum of
$c + \sum_A P(A) f(A)$ over distributions $P$ under which every action is in $A$ with the same probability $c$. This
polytope is the same in every state, and its vertices are the minimal balanced collections of Bondareva and Shapley: 2,
6, 42 and 1,292 for 2 to 5 actions. So a state's value is the maximum of that many sums; no linear program is needed.

The optimal policies in a state are all $\pi$ with $\pi(A) \le g(A) = v - f(A)$, the core of a cooperative game.
With caps $g$ the core is nonempty if and only if $\sum_A P(A) g(A) \ge c$ for every vertex. Lowering the cap of one
action after another as far as this allows leaves a single policy, $\pi_j = g(\{j\})$. A cap of 1 on every set of all
actions but one rules out negative entries. Actions with equal sums get equal probabilities.

Reference: Cover (1966), Behavior of sequential predictors of binary sequences; Shapley (1967), On balanced sets and
cores; Gravin, Peres, Sivan (2016), Towards optimal algorithms for prediction with expert advice.
"""

from functools import cache
from itertools import combinations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy import ndarray

from regrax import _checks as checks
from regrax.learners import Count, SumLearner
from regrax.simplex import Vector
from regrax.specs import register
from regrax.theory.lattice import Lattice, binary_lattice, grid_losses
from regrax.theory.optimal import optimal_policy

MAX_ACTIONS = 5  # six actions have 200,214 minimal balanced collections
DENOMINATOR = 60  # weights are integers over a 5 x 5 determinant of zeros and ones: at most 5


@cache
def balanced_collections(actions: int) -> tuple[Float[ndarray, "b m"], Float[ndarray, "b"]]:
    r"""Return $P$ (one per row) and $c$ of all vertices of $\{P \ge 0: \sum_A P(A) = 1, \sum_{A \ni j} P(A) = c\}$.

    A vertex is a set of at most $d$ linearly independent subsets $A$ with $\sum_A \lambda_A 1_A = 1$, $\lambda > 0$;
    each extends to $d$ independent subsets. Columns are subsets, written as zeros and ones, in lexicographic order;
    the first, the empty set, also represents the set of all actions.

    >>> [len(balanced_collections(actions)[1]) for actions in (2, 3, 4)]
    [2, 6, 42]
    """
    subsets = grid_losses(actions)[:-1]
    bases = np.array(list(combinations(range(1, len(subsets)), actions)))
    members = subsets[bases].transpose(0, 2, 1)
    regular = np.abs(np.linalg.det(members)) > 0.5  # an integer
    weights = np.linalg.solve(members[regular], np.ones((regular.sum(), actions, 1)))[..., 0]
    balanced = weights.min(1) > -0.5 / DENOMINATOR
    rows = np.zeros((balanced.sum(), len(subsets)), int)
    exact = np.rint(DENOMINATOR * weights[balanced]).astype(int)
    np.put_along_axis(rows, bases[regular][balanced], exact, 1)
    empty = np.eye(1, len(subsets), dtype=int)
    rows = np.vstack([empty, np.unique(rows, axis=0)])
    totals = rows.sum(1)
    return rows / totals[:, None], (rows @ subsets[:, 0]) / totals


def minimax(actions: int, rounds: int) -> float:
    r"""Compute the minimax regret: the smallest worst-case regret any learner can have on losses in $\{0, 1\}^d$.

    Losses in $[0, 1]^d$ give the same value, because $V_t$ is convex.

    Args:
        actions: number of actions $d$, from 2 to 5.
        rounds: number of rounds $T$.

    >>> minimax(3, 20)
    2.4080263774
    """
    lattice = binary_lattice(actions, rounds, MAX_ACTIONS)
    probabilities, share = balanced_collections(actions)
    return float(lattice.solve(lambda _, later: (later @ probabilities.T + share).max(1)))


@cache
def _policy_table(actions: int, rounds: int) -> tuple[Lattice, ndarray, ndarray]:
    """Return the lattice, the minimax policy in every round and state, and the row of each round's first state."""
    lattice = binary_lattice(actions, rounds, MAX_ACTIONS)
    needed = 16.0 * actions * lattice.counts.sum()
    checks.fits_in_memory("the Minimax policy table", needed, "use fewer rounds or actions")
    probabilities, share = balanced_collections(actions)
    sizes = lattice.losses.sum(1)
    single = np.flatnonzero(sizes == 1)[::-1]  # in the order of actions
    policies = []

    def best(_: int, later: ndarray) -> ndarray:
        value = (later @ probabilities.T + share).max(1)
        caps = value[:, None] - later
        caps[:, sizes == actions - 1] = np.minimum(caps[:, sizes == actions - 1], 1.0)
        for column in single:
            used = probabilities[:, column] > 0
            rows, weight = probabilities[used], probabilities[used, column]
            rest = caps @ rows.T - caps[:, [column]] * weight
            caps[:, column] = ((share[used] - rest) / weight).max(1)
        states = lattice.states[: len(value)]
        equal = (states[:, :, None] == states[:, None]).astype(float)
        policies.insert(0, (equal @ caps[:, single, None])[..., 0] / equal.sum(2))
        return value

    lattice.solve(best)
    return lattice, np.concatenate(policies), np.cumsum(lattice.counts) - lattice.counts


@register("learner", "minimax(20)")
class Minimax(SumLearner):
    r"""The policy with the smallest worst-case regret on binary losses over a known number of rounds.

    On losses in $\{0, 1\}^d$ its regret never exceeds `minimax(d, rounds)`.

    Works for 2 to 5 actions. Sums that are not integers are rounded, so the guarantee is for binary losses only. After
    `rounds` rounds it follows the leader. The policies for all sums are computed on first use.

    Args:
        rounds: number of rounds $T$.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> rollout(Minimax(3), jnp.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.25, 0.75], [0.0, 1.0]]

    Reference: Cover (1966), Behavior of sequential predictors of binary sequences.
    """

    rounds: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        checks.at_least("rounds", self.rounds, 1)

    def policy_from_sums(self, sums: Vector, round: Count) -> Vector:
        if len(sums) == 1:
            return jnp.ones_like(sums)
        lattice, policies, first = _policy_table(len(sums), self.rounds)
        order = jnp.argsort(sums)
        last = jnp.minimum(jnp.asarray(round), self.rounds - 1)
        gaps = jnp.clip(jnp.rint(sums - sums.min()).astype(int)[order], 0, last)
        rank = jnp.asarray(lattice.table, int)[jnp.arange(len(sums)), gaps].sum()
        row = jnp.asarray(policies, sums.dtype)[jnp.asarray(first, int)[last] + rank]
        leader = optimal_policy(sums, 0)
        return jnp.where(round < self.rounds, jnp.zeros_like(sums).at[order].set(row), leader)
