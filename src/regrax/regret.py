r"""Regret of a trajectory: how much less it would have lost if some of its actions had been replaced.

With policies $\pi_1, \dots, \pi_T$, losses $\ell_1, \dots, \ell_T$, $S_T = \sum_t \ell_t$ and
$M = \sum_t \pi_t \ell_t^\top$ (row: action played, column: action swapped to),

    external   sum_t <l_t, pi_t> - min_j (S_T)_j        one fixed action for every round
    internal   max_ij (M_ii - M_ij)                     one action replaced by another, wherever it was played
    swap       sum_i (M_ii - min_j M_ij)                every action replaced by its own best alternative

All three are functions of the gains $G_{ij} = M_{ii} - M_{ij}$ of playing $j$ wherever $i$ was played: `external_of`,
`internal_of` and `swap_of` compute them for NumPy and JAX arrays, with any leading axes. `running_*` computes the
regret of every prefix. Pass play as policies of shape `(T, d)` or as integer actions of shape `(T,)`; a batch of
sequences has leading axes, and the result has one regret per sequence. Results are NumPy doubles, or JAX's default
float inside `jit`, `vmap` and `grad`.
"""

import itertools
import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from regrax import _checks as checks

__all__ = [
    "best_action",
    "best_pair",
    "best_swap",
    "external_of",
    "external_regret",
    "gains_of",
    "internal_of",
    "internal_regret",
    "running_external_regret",
    "running_internal_regret",
    "running_swap_regret",
    "swap_matrix",
    "swap_of",
    "swap_regret",
]

AnyArray = Any  # of NumPy or JAX
Played = Float[AnyArray, "*n T d"] | Int[AnyArray, "*n T"]
Losses = Float[AnyArray, "*n T d"]
Regret = Float[AnyArray, "*n"] | np.floating
Index = Int[AnyArray, "*n"] | np.integer
MAX_RUNNING_NUMBERS = 1 << 20
"""Limit on the total size of the prefix matrices that are computed at once."""
ROUNDS_PER_BLOCK = 256
"""Number of rounds in each partial sum in single precision."""


def gains_of(matrix: Any) -> Any:
    r"""Return $G_{ij} = M_{ii} - M_{ij}$, the saving from playing $j$ wherever $i$ was played.

    >>> import numpy as np
    >>> gains_of(np.array([[3.0, 2.0], [0.0, 5.0]])).tolist()
    [[0.0, 1.0], [5.0, 0.0]]
    """
    return matrix.diagonal(0, -2, -1)[..., None] - matrix


def external_of(gains: Any) -> Any:
    r"""Return $\max_j \sum_i G_{ij}$, the gain from the best fixed action."""
    return gains.sum(-2).max(-1)


def internal_of(gains: Any) -> Any:
    r"""Return $\max_{ij} G_{ij}$, the gain from the best replacement of one action by another."""
    return gains.max((-2, -1))


def swap_of(gains: Any) -> Any:
    r"""Return $\sum_i \max_j G_{ij}$, the gain from the best map from actions to actions."""
    return gains.max(-1).sum(-1)


def external_regret(policies: Played, losses: Losses) -> Regret:
    r"""Regret against the best fixed action, $\sum_t \langle \ell_t, \pi_t \rangle - \min_j \sum_t \ell_{t,j}$.

    >>> import jax.numpy as jnp
    >>> float(external_regret(jnp.full((2, 2), 0.5), jnp.array([[1.0, 0.0], [1.0, 0.0]])))
    1.0
    >>> external_regret(np.array([[0, 1], [1, 1]]), np.array([[[1.0, 0.0], [1.0, 0.0]]] * 2)).tolist()
    [1.0, 0.0]
    """
    policies, losses = _checked(policies, losses)
    return (policies * losses).sum((-2, -1)) - losses.sum(-2).min(-1)


def swap_matrix(policies: Played, losses: Losses) -> Float[AnyArray, "*n d d"]:
    r"""Return $M_{ij} = \sum_t \pi_{t,i} \ell_{t,j}$, the loss of playing $j$ wherever $i$ was played.

    >>> import jax.numpy as jnp
    >>> swap_matrix(jnp.array([[1.0, 0.0]]), jnp.array([[3.0, 2.0]])).tolist()
    [[3.0, 2.0], [0.0, 0.0]]
    """
    policies, losses = _checked(policies, losses)
    return policies.swapaxes(-2, -1) @ losses


def internal_regret(policies: Played, losses: Losses) -> Regret:
    r"""Regret against replacing one action $i$ by one action $j$, $\max_{i,j} (M_{ii} - M_{ij})$.

    >>> import jax.numpy as jnp
    >>> float(internal_regret(jnp.eye(2), jnp.array([[3.0, 2.0], [0.0, 5.0]])))
    5.0
    """
    return internal_of(_gains(policies, losses))


def swap_regret(policies: Played, losses: Losses) -> Regret:
    r"""Regret against the best map from actions to actions, $\sum_i (M_{ii} - \min_j M_{ij})$.

    >>> import jax.numpy as jnp
    >>> float(swap_regret(jnp.eye(2), jnp.array([[3.0, 2.0], [0.0, 5.0]])))
    6.0
    """
    return swap_of(_gains(policies, losses))


def best_action(losses: Losses) -> Index:
    r"""Return the fixed action that external regret compares with, $\arg\min_j \sum_t \ell_{t,j}$.

    >>> import jax.numpy as jnp
    >>> int(best_action(jnp.array([[3.0, 2.0], [0.0, 5.0]])))
    0
    """
    checks.finite("losses", losses)
    return checks.as_floats(losses).sum(-2).argmin(-1)


def best_pair(policies: Played, losses: Losses) -> tuple[Index, Index]:
    r"""Return the pair $(i, j)$ that internal regret compares with: $j$ wherever $i$ was played.

    >>> import jax.numpy as jnp
    >>> [int(a) for a in best_pair(jnp.eye(2), jnp.array([[3.0, 2.0], [0.0, 5.0]]))]
    [1, 0]
    """
    gains = _gains(policies, losses)
    return divmod(gains.reshape(*gains.shape[:-2], -1).argmax(-1), gains.shape[-1])


def best_swap(policies: Played, losses: Losses) -> Int[AnyArray, "*n d"]:
    r"""Return the map that swap regret compares with, $\sigma(i) = \arg\min_j M_{ij}$, or $i$ if $i$ was never played.

    >>> import jax.numpy as jnp
    >>> best_swap(jnp.eye(2), jnp.array([[3.0, 2.0], [0.0, 5.0]])).tolist()
    [1, 0]
    """
    gains = _gains(policies, losses)
    own = np.broadcast_to(np.arange(gains.shape[-1]), gains.shape[:-1])
    where = gains.__array_namespace__().where
    return where(gains.max(-1) > 0, gains.argmax(-1), own)


def running_external_regret(
    policies: Played, losses: Losses, rounds: Any = None
) -> Float[AnyArray, "*n R"]:
    """External regret of every prefix: entry `t - 1` is the regret of rounds `1..t`.

    Args:
        policies: array of shape `(T, d)`, or actions of shape `(T,)`.
        losses: array of shape `(T, d)`.
        rounds: last round of each prefix to return, in any order; by default every round.

    >>> import jax.numpy as jnp
    >>> running_external_regret(jnp.full((2, 2), 0.5), jnp.array([[1.0, 0.0], [0.0, 1.0]])).tolist()
    [0.5, 0.0]
    """
    policies, losses = _checked(policies, losses)
    regrets = (policies * losses).sum(-1).cumsum(-1) - losses.cumsum(-2).min(-1)
    return regrets[..., ends_of(rounds, losses.shape[-2]) - 1]


def running_internal_regret(
    policies: Played, losses: Losses, rounds: Any = None
) -> Float[AnyArray, "*n R"]:
    """Internal regret of every prefix, or of the prefixes that end with `rounds`.

    >>> import jax.numpy as jnp
    >>> running_internal_regret(jnp.eye(2), jnp.array([[3.0, 2.0], [0.0, 5.0]])).tolist()
    [1.0, 5.0]
    """
    return _running(policies, losses, internal_of, rounds)


def running_swap_regret(
    policies: Played, losses: Losses, rounds: Any = None
) -> Float[AnyArray, "*n R"]:
    """Swap regret of every prefix, or of the prefixes that end with `rounds`.

    >>> import jax.numpy as jnp
    >>> running_swap_regret(jnp.eye(2), jnp.array([[3.0, 2.0], [0.0, 5.0]])).tolist()
    [1.0, 6.0]
    """
    return _running(policies, losses, swap_of, rounds)


def ends_of(rounds: Any, last: int) -> Int[np.ndarray, "R"]:
    """Return the last round of each requested prefix, by default every round; raise if one was not played.

    >>> ends_of(None, 3).tolist(), ends_of([3, 1], 3).tolist()
    ([1, 2, 3], [3, 1])
    """
    if rounds is None:
        return np.arange(1, last + 1)
    ends = np.asarray(rounds)
    if ends.ndim != 1 or ends.size == 0 or not np.issubdtype(ends.dtype, np.integer):
        raise ValueError(f"rounds must be a list of integers, got {rounds!r}")
    outside = ends[(ends < 1) | (ends > last)]
    if outside.size:
        raise ValueError(f"rounds must be from 1 to {last}, got {outside[0]}")
    return ends


def _running(policies: Any, losses: Any, kind: Any, rounds: Any) -> Any:
    """Compute the regret of every prefix from running sums of $\\pi_t \\ell_t^\\top$, a few prefixes at a time."""
    policies, losses = _checked(policies, losses)
    *batch, last, d = losses.shape
    ends, order = np.unique(ends_of(rounds, last), return_inverse=True)
    size = max(MAX_RUNNING_NUMBERS // (d**2 * math.prod(batch)), 1)
    total = 0
    first = 0
    regrets = []
    for part in np.split(ends, range(size, len(ends), size)):
        matrices = total + _sums(policies, losses, first, part).cumsum(-3)
        total = matrices[..., -1:, :, :]
        first = int(part[-1])
        regrets.append(kind(gains_of(matrices)))
    return losses.__array_namespace__().concatenate(regrets, axis=-1)[..., order]


def _gains(policies: Any, losses: Any) -> Any:
    """Sum the gains over rounds; sum traced arrays in blocks, because a long sum in single precision loses digits."""
    policies, losses = _checked(policies, losses)
    *batch, rounds, d = losses.shape
    if checks.are_concrete(policies, losses) or rounds <= ROUNDS_PER_BLOCK:
        return gains_of(policies.swapaxes(-2, -1) @ losses)
    missing = [(0, 0)] * len(batch) + [(0, -rounds % ROUNDS_PER_BLOCK), (0, 0)]
    blocks = (*batch, -1, ROUNDS_PER_BLOCK, d)
    policies = jnp.pad(policies, missing).reshape(blocks)
    losses = jnp.pad(losses, missing).reshape(blocks)
    return gains_of(policies.swapaxes(-2, -1) @ losses).sum(-3)


def _sums(policies: Any, losses: Any, first: int, ends: Any) -> Any:
    """Compute $\\sum_t \\pi_t \\ell_t^\\top$ over the rounds from each end to the next."""
    if ends[-1] - first == len(ends):  # every round
        part = (..., slice(first, ends[-1]), slice(None))
        return policies[part][..., :, None] * losses[part][..., None, :]
    spans = [(..., slice(*span), slice(None)) for span in itertools.pairwise([first, *ends])]
    sums = [policies[span].swapaxes(-2, -1) @ losses[span] for span in spans]
    return losses.__array_namespace__().stack(sums, axis=-3)


def _checked(policies: Any, losses: Any) -> tuple[Any, Any]:
    shape = np.shape(losses)
    if len(shape) >= 2 and np.shape(policies) == shape[:-1]:
        policies = _one_hot(policies, shape[-1])
    fits = len(shape) >= 2 and np.shape(policies) == shape
    checks.shape("losses", losses, f"(T, d), the shape {np.shape(policies)} of policies", fits)
    checks.distributions("policies", policies)
    checks.finite("losses", losses)
    xp = np if checks.are_concrete(policies, losses) else jnp
    return xp.asarray(policies, float), xp.asarray(losses, float)


def _one_hot(actions: Any, count: int) -> Any:
    """Encode actions as one-hot policies."""
    actions = actions if hasattr(actions, "dtype") else np.asarray(actions)
    if not np.issubdtype(actions.dtype, np.integer):
        raise ValueError(
            f"actions must be integers, or policies with {count} probabilities per round"
        )
    if not checks.is_concrete(actions):
        return jnp.eye(count)[actions]
    outside = actions[(actions < 0) | (actions >= count)]
    if outside.size:
        raise ValueError(f"actions must be from 0 to {count - 1}, got {outside.ravel()[0]}")
    return np.eye(count)[np.asarray(actions)]
