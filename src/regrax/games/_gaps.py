r"""How far joint play is from equilibrium: the most a player could gain by a kind of deviation.

For joint play $\mu$ and player $n$ let $G_n[i, j] = \sum_{a_{-n}} \mu(i, a_{-n}) (u_n(j, a_{-n}) - u_n(i, a_{-n}))$ be
what playing $j$ whenever told $i$ would gain. Then

    CCE gap    max_j sum_i G[i, j]     one fixed action          (external regret / T)
    CE gap     max_ij G[i, j]          one action for another    (internal regret / T), "pairwise"
    swap gap   sum_i max_j G[i, j]     a whole map of actions    (swap regret / T)
    Nash gap   max_j u_n(j, m_-n) - u_n(m), against the product m of mu's marginals

Every gap is the maximum over players unless `reduce` says `"sum"` (as OpenSpiel and noregret do) or `"none"`
(one number a player). Nothing is clipped: a CCE gap can be negative. A Nash gap of zero makes the product of the
marginals a Nash equilibrium; $\mu$ itself is one only if it is that product.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from regrax import _checks as checks
from regrax.games._game import Game
from regrax.games._play import Trajectory
from regrax.games._rounds import outer
from regrax.regret import (
    running_external_regret,
    running_internal_regret,
    running_swap_regret,
)

Reduce = Literal["max", "sum", "none"]
Gaps = Float[Array, ""] | Float[Array, "N"]


def nash_gap(joint: Float[Array, "*d"], game: Game, reduce: Reduce = "max") -> Gaps:
    r"""$\max_j u_n(j, m_{-n}) - u_n(m)$ with $m$ the product of the marginals of $\mu$.

    >>> import jax.numpy as jnp
    >>> from regrax.games import matching_pennies
    >>> float(nash_gap(jnp.array([[0.5, 0.0], [0.0, 0.5]]), matching_pennies()))
    0.0
    """
    return _reduced(_nash, joint, game, reduce)


def cce_gap(joint: Float[Array, "*d"], game: Game, reduce: Reduce = "max") -> Gaps:
    r"""$\max_j \sum_i G_n[i, j]$: gain of the best fixed action.

    >>> import jax.numpy as jnp
    >>> from regrax.games import weighted_rps
    >>> float(cce_gap(jnp.full((3, 3), 1 / 9), weighted_rps()))
    0.1111
    """
    return _reduced(_cce, joint, game, reduce)


def ce_gap(joint: Float[Array, "*d"], game: Game, reduce: Reduce = "max") -> Gaps:
    r"""$\max_{ij} G_n[i, j]$: gain of the best single replacement of one action by another.

    >>> import jax.numpy as jnp
    >>> from regrax.games import chicken
    >>> float(ce_gap(jnp.array([[0.0, 0.5], [0.5, 0.0]]), chicken()))
    0.0
    """
    return _reduced(_ce, joint, game, reduce)


def swap_gap(joint: Float[Array, "*d"], game: Game, reduce: Reduce = "max") -> Gaps:
    r"""$\sum_i \max_j G_n[i, j]$: gain of the best map of actions to actions.

    >>> import jax.numpy as jnp
    >>> from regrax.games import weighted_rps
    >>> float(swap_gap(jnp.full((3, 3), 1 / 9), weighted_rps()))
    0.1111
    """
    return _reduced(_swap, joint, game, reduce)


def joint_gaps(joint: Float[Array, "*d"], game: Game) -> dict[str, Float[Array, ""]]:
    """All four gaps, max over players, in one program.

    >>> import jax.numpy as jnp
    >>> from regrax.games import weighted_rps
    >>> {name: float(gap) for name, gap in joint_gaps(jnp.full((3, 3), 1 / 9), weighted_rps()).items()}
    {'cce_gap': 0.1111, 'ce_gap': 0.1111, 'nash_gap': 0.1111, 'swap_gap': 0.1111}
    """
    return _all(_checked(joint, game), game)


def deviation_gains(joint: Float[Array, "*d"], game: Game, player: int) -> Float[Array, "d d"]:
    r"""$G_n[i, j]$: what player `player` gains by playing $j$ whenever it would have played $i$.

    >>> import jax.numpy as jnp
    >>> from regrax.games import matching_pennies
    >>> deviation_gains(jnp.array([[1.0, 0.0], [0.0, 0.0]]), matching_pennies(), 1).tolist()
    [[0.0, 2.0], [0.0, 0.0]]
    """
    told = _told(joint, game, player)
    return told - jnp.diag(told)[:, None]


def running_gaps(trajectory: Trajectory, game: Game) -> dict[str, Float[Array, "T"]]:
    """All four gaps (max over players) of the first `t` rounds, for every `t`, with no joint tensor per round.

    CCE, CE and swap gaps are running regrets divided by `t`; the Nash gap follows the running marginals.

    >>> from regrax.games import play, weighted_rps
    >>> from regrax.learners import Uniform
    >>> gaps = running_gaps(play(weighted_rps(), Uniform(), 3), weighted_rps())
    >>> gaps["cce_gap"].tolist()
    [0.1111, 0.1111, 0.1111]
    """
    return _running_gaps(trajectory, game)


@jax.jit
def _running_gaps(trajectory: Trajectory, game: Game) -> dict[str, Float[Array, "T"]]:
    played = trajectory.played
    counts = jnp.arange(1, trajectory.rounds + 1).astype(played[0].dtype)
    means = [jnp.cumsum(rows, 0) / counts[:, None] for rows in played]

    def averaged(running: Any) -> Float[Array, "T"]:
        per_player = [running(p, l) for p, l in zip(played, trajectory.losses, strict=True)]
        return jnp.max(jnp.stack(per_player), 0) / counts

    _, nash = jax.lax.scan(lambda _, rows: (None, _nash_of_product(rows, game).max()), None, means)
    return {
        "nash_gap": nash,
        "cce_gap": averaged(running_external_regret),
        "ce_gap": averaged(running_internal_regret),
        "swap_gap": averaged(running_swap_regret),
    }


def _reduced(gaps: Any, joint: Float[Array, "*d"], game: Game, reduce: Reduce) -> Gaps:
    if reduce not in ("max", "sum", "none"):
        raise ValueError(f'reduce must be "max", "sum" or "none", but is {reduce!r}')
    return _found(_checked(joint, game), game, gaps, reduce)


def _checked(joint: Any, game: Game) -> Array | np.ndarray:
    fits = jnp.shape(joint) == game.sizes
    checks.shape("joint", joint, f"{game.sizes}, the sizes of {game}", fits)
    if checks.is_concrete(joint):
        checks.distributions("joint", np.ravel(np.asarray(joint)))
    return joint if isinstance(joint, jax.Array) else np.asarray(joint)


@partial(jax.jit, static_argnames=("gaps", "reduce"))
def _found(joint: Float[Array, "*d"], game: Game, gaps: Any, reduce: Reduce) -> Gaps:
    per_player = gaps(joint, game)
    return {"max": jnp.max, "sum": jnp.sum, "none": lambda gap: gap}[reduce](per_player)


@jax.jit
def _all(joint: Float[Array, "*d"], game: Game) -> dict[str, Float[Array, ""]]:
    replaced = [_replaced(joint, game, n) for n in range(joint.ndim)]
    found = {
        "nash_gap": _nash(joint, game),
        "cce_gap": _cce(joint, game),
        "ce_gap": jnp.stack([gains.max() for gains in replaced]),
        "swap_gap": jnp.stack([gains.sum() for gains in replaced]),
    }
    return {name: per_player.max() for name, per_player in found.items()}


def _nash(joint: Float[Array, "*d"], game: Game) -> Float[Array, "N"]:
    marginals = [_unfolded(joint, n).sum(1) for n in range(joint.ndim)]
    return _nash_of_product(marginals, game)


def _nash_of_product(marginals: Sequence[Float[Array, "_"]], game: Game) -> Float[Array, "N"]:
    def gap(player: int) -> Float[Array, ""]:
        others = outer([m for n, m in enumerate(marginals) if n != player])
        worth = game.own(player) @ others
        return worth.max() - worth @ marginals[player]

    return jnp.stack([gap(n) for n in range(len(marginals))])


def _cce(joint: Float[Array, "*d"], game: Game) -> Float[Array, "N"]:
    def gap(player: int) -> Float[Array, ""]:
        own, rows = game.own(player), _unfolded(joint, player)
        return (own @ rows.sum(0)).max() - jnp.vdot(own, rows)

    return jnp.stack([gap(n) for n in range(joint.ndim)])


def _ce(joint: Float[Array, "*d"], game: Game) -> Float[Array, "N"]:
    return jnp.stack([_replaced(joint, game, n).max() for n in range(joint.ndim)])


def _swap(joint: Float[Array, "*d"], game: Game) -> Float[Array, "N"]:
    return jnp.stack([_replaced(joint, game, n).sum() for n in range(joint.ndim)])


def _replaced(joint: Float[Array, "*d"], game: Game, player: int) -> Float[Array, "d"]:
    r"""$\max_j G_n[i, j]$: the gain of the best replacement of each action."""
    told = _told(joint, game, player)
    return told.max(1) - jnp.diag(told)


def _told(joint: Float[Array, "*d"], game: Game, player: int) -> Float[Array, "d d"]:
    """What a player told action i is paid, in sum, for playing j."""
    return _unfolded(joint, player) @ game.own(player).T


def _unfolded(joint: Float[Array, "*d"], player: int) -> Float[Array, "d others"]:
    moved = jnp.moveaxis(jnp.asarray(joint, float), player, 0)
    return moved.reshape(moved.shape[0], -1)
