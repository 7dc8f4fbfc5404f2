r"""Regret of a trajectory: how much better some rule for changing one's play would have done.

With policies $\pi_1, \dots, \pi_T$, losses $\ell_1, \dots, \ell_T$, $S_T = \sum_t \ell_t$ and
$M = \sum_t \pi_t \ell_t^\top$ (row: action played, column: action swapped to),

    external   sum_t <l_t, pi_t> - min_j (S_T)_j        one fixed action for every round
    internal   max_ij (M_ii - M_ij)                     one action replaced by another, wherever it was played
    swap       sum_i (M_ii - min_j M_ij)                every action replaced by its own best other

`running_*` gives the regret of every prefix. Each function takes one sequence; use `vmap` for many. Computations are in
jax's default float.
"""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from regrax import _checks as checks

__all__ = [
    "best_action",
    "best_pair",
    "best_swap",
    "external_regret",
    "internal_regret",
    "running_external_regret",
    "running_internal_regret",
    "running_swap_regret",
    "swap_matrix",
    "swap_regret",
]

Rows = Array | np.ndarray


def external_regret(policies: Float[Rows, "T d"], losses: Float[Rows, "T d"]) -> Float[Array, ""]:
    r"""$\sum_t \langle \ell_t, \pi_t \rangle - \min_j \sum_t \ell_{t,j}$: regret against the best fixed action.

    >>> import jax.numpy as jnp
    >>> float(external_regret(jnp.full((2, 2), 0.5), jnp.array([[1.0, 0.0], [1.0, 0.0]])))
    1.0
    """
    policies, losses = _checked(policies, losses)
    return jnp.sum(policies * losses) - losses.sum(0).min()


def swap_matrix(policies: Float[Rows, "T d"], losses: Float[Rows, "T d"]) -> Float[Array, "d d"]:
    r"""$M_{ij} = \sum_t \pi_{t,i} \ell_{t,j}$: what action $i$'s play would have lost had it been action $j$.

    >>> import jax.numpy as jnp
    >>> swap_matrix(jnp.array([[1.0, 0.0]]), jnp.array([[3.0, 2.0]])).tolist()
    [[3.0, 2.0], [0.0, 0.0]]
    """
    policies, losses = _checked(policies, losses)
    return policies.T @ losses


def internal_regret(policies: Float[Rows, "T d"], losses: Float[Rows, "T d"]) -> Float[Array, ""]:
    r"""$\max_{i,j} (M_{ii} - M_{ij})$: regret against replacing one action $i$ by one action $j$.

    >>> import jax.numpy as jnp
    >>> float(internal_regret(jnp.eye(2), jnp.array([[3.0, 2.0], [0.0, 5.0]])))
    5.0
    """
    return _largest(_gains(swap_matrix(policies, losses)))


def swap_regret(policies: Float[Rows, "T d"], losses: Float[Rows, "T d"]) -> Float[Array, ""]:
    r"""$\sum_i (M_{ii} - \min_j M_{ij})$: regret against the best map of actions to actions.

    >>> import jax.numpy as jnp
    >>> float(swap_regret(jnp.eye(2), jnp.array([[3.0, 2.0], [0.0, 5.0]])))
    6.0
    """
    return _largest_per_row(_gains(swap_matrix(policies, losses)))


def best_action(losses: Float[Rows, "T d"]) -> Int[Array, ""]:
    r"""$\arg\min_j \sum_t \ell_{t,j}$: the fixed action that external regret compares with.

    >>> import jax.numpy as jnp
    >>> int(best_action(jnp.array([[3.0, 2.0], [0.0, 5.0]])))
    0
    """
    checks.finite("losses", losses)
    return jnp.argmin(jnp.sum(losses, 0))


def best_pair(
    policies: Float[Rows, "T d"], losses: Float[Rows, "T d"]
) -> tuple[Int[Array, ""], Int[Array, ""]]:
    r"""The pair $(i, j)$ that internal regret compares with: playing $j$ wherever $i$ was played.

    >>> import jax.numpy as jnp
    >>> [int(a) for a in best_pair(jnp.eye(2), jnp.array([[3.0, 2.0], [0.0, 5.0]]))]
    [1, 0]
    """
    gains = _gains(swap_matrix(policies, losses))
    played, instead = jnp.divmod(jnp.argmax(gains), gains.shape[1])
    return played, instead


def best_swap(policies: Float[Rows, "T d"], losses: Float[Rows, "T d"]) -> Int[Array, "d"]:
    r"""$\sigma(i) = \arg\min_j M_{ij}$: the map that swap regret compares with (an action never played keeps itself).

    >>> import jax.numpy as jnp
    >>> best_swap(jnp.eye(2), jnp.array([[3.0, 2.0], [0.0, 5.0]])).tolist()
    [1, 0]
    """
    gains = _gains(swap_matrix(policies, losses))
    return jnp.where(gains.max(1) > 0, jnp.argmax(gains, 1), jnp.arange(gains.shape[0]))


def running_external_regret(
    policies: Float[Rows, "T d"], losses: Float[Rows, "T d"]
) -> Float[Array, "T"]:
    """External regret of every prefix: entry `t - 1` is the regret of rounds `1..t`.

    >>> import jax.numpy as jnp
    >>> running_external_regret(jnp.full((2, 2), 0.5), jnp.array([[1.0, 0.0], [0.0, 1.0]])).tolist()
    [0.5, 0.0]
    """
    policies, losses = _checked(policies, losses)
    suffered = jnp.cumsum(jnp.sum(policies * losses, 1))
    return suffered - jnp.cumsum(losses, 0).min(1)


def running_internal_regret(
    policies: Float[Rows, "T d"], losses: Float[Rows, "T d"]
) -> Float[Array, "T"]:
    """Internal regret of every prefix.

    >>> import jax.numpy as jnp
    >>> running_internal_regret(jnp.eye(2), jnp.array([[3.0, 2.0], [0.0, 5.0]])).tolist()
    [1.0, 5.0]
    """
    return _running(*_checked(policies, losses), _largest)


def running_swap_regret(
    policies: Float[Rows, "T d"], losses: Float[Rows, "T d"]
) -> Float[Array, "T"]:
    """Swap regret of every prefix.

    >>> import jax.numpy as jnp
    >>> running_swap_regret(jnp.eye(2), jnp.array([[3.0, 2.0], [0.0, 5.0]])).tolist()
    [1.0, 6.0]
    """
    return _running(*_checked(policies, losses), _largest_per_row)


def _gains(matrix: Float[Array, "d d"]) -> Float[Array, "d d"]:
    """`gains[i, j]`: what playing `j` wherever `i` was played would have saved."""
    return jnp.diag(matrix)[:, None] - matrix


def _largest(gains: Float[Array, "d d"]) -> Float[Array, ""]:
    return gains.max()


def _largest_per_row(gains: Float[Array, "d d"]) -> Float[Array, ""]:
    return gains.max(1).sum()


@partial(jax.jit, static_argnames="reduce")
def _running(
    policies: Float[Array, "T d"],
    losses: Float[Array, "T d"],
    reduce: Callable[[Float[Array, "d d"]], Float[Array, ""]],
) -> Float[Array, "T"]:
    """One `d x d` matrix is carried through the rounds, none is kept per round."""

    def add(matrix: Float[Array, "d d"], round_: tuple) -> tuple:
        matrix = matrix + jnp.outer(*round_)
        return matrix, reduce(_gains(matrix))

    d = losses.shape[1]
    return lax.scan(add, jnp.zeros((d, d)), (policies, losses))[1]


def _checked(
    policies: Float[Rows, "T d"], losses: Float[Rows, "T d"]
) -> tuple[Float[Array, "T d"], Float[Array, "T d"]]:
    fits = jnp.ndim(policies) == 2 and jnp.shape(policies) == jnp.shape(losses)
    checks.shape("losses", losses, f"(T, d), the shape {jnp.shape(policies)} of policies", fits)
    checks.distributions("policies", policies)
    checks.finite("losses", losses)
    return jnp.asarray(policies, float), jnp.asarray(losses, float)
