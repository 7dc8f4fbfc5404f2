r"""How far joint play is from equilibrium: the most a player could gain by a kind of deviation.

For joint play $\mu$ and player $n$ let $G_n[i, j] = \sum_{a_{-n}} \mu(i, a_{-n}) (u_n(j, a_{-n}) - u_n(i, a_{-n}))$ be
what playing $j$ whenever told $i$ would gain. Then

    CCE gap    max_j sum_i G[i, j]     one fixed action          (external regret / T)
    CE gap     max_ij G[i, j]          one action for another    (internal regret / T), "pairwise"
    swap gap   sum_i max_j G[i, j]     a whole map of actions    (swap regret / T)
    Nash gap   max_j u_n(j, m_-n) - u_n(m), against the product m of mu's marginals

Every gap is the maximum over players unless `reduce` says `"sum"` or `"none"` (one number a player). Nothing is
clipped: a CCE gap can be negative. OpenSpiel's distances are `cce_dist`, which sums positive parts, and `ce_dist`,
which sums swap gaps. A Nash gap of zero makes the product of the marginals a Nash equilibrium; $\mu$ itself is one
only if it is that product. A game may be given by its spec.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from regrax import _checks as checks
from regrax.games._environment import Trajectory, outer
from regrax.games.game import Game, unfolded
from regrax.regret import (
    ends_of,
    external_of,
    internal_of,
    running_external_regret,
    running_internal_regret,
    running_swap_regret,
    swap_of,
)
from regrax.specs import as_game

Reduce = Literal["max", "sum", "none"]
Gaps = Float[Any, "*N"] | np.floating
NAMES = ("nash_gap", "cce_gap", "ce_gap", "swap_gap")
_FROM_GAINS = {"cce_gap": external_of, "ce_gap": internal_of, "swap_gap": swap_of}
MAX_NUMBERS = 1 << 22
"""Numbers of product distributions that are held at once."""


def nash_gap(joint: Any, game: Game | str, reduce: Reduce = "max") -> Gaps:
    r"""$\max_j u_n(j, m_{-n}) - u_n(m)$ with $m$ the product of the marginals of $\mu$.

    >>> import jax.numpy as jnp
    >>> from regrax.games import matching_pennies
    >>> float(nash_gap(jnp.array([[0.5, 0.0], [0.0, 0.5]]), matching_pennies()))
    0.0
    """
    return _reduced(_nash, joint, game, reduce)


def cce_gap(joint: Any, game: Game | str, reduce: Reduce = "max") -> Gaps:
    r"""$\max_j \sum_i G_n[i, j]$: gain of the best fixed action.

    >>> import jax.numpy as jnp
    >>> from regrax.games import weighted_rps
    >>> float(cce_gap(jnp.full((3, 3), 1 / 9), weighted_rps()))
    0.1111
    """
    return _reduced(_cce, joint, game, reduce)


def ce_gap(joint: Any, game: Game | str, reduce: Reduce = "max") -> Gaps:
    r"""$\max_{ij} G_n[i, j]$: gain of the best single replacement of one action by another.

    >>> import jax.numpy as jnp
    >>> from regrax.games import chicken
    >>> float(ce_gap(jnp.array([[0.0, 0.5], [0.5, 0.0]]), chicken()))
    0.0
    """
    return _reduced(_ce, joint, game, reduce)


def swap_gap(joint: Any, game: Game | str, reduce: Reduce = "max") -> Gaps:
    r"""$\sum_i \max_j G_n[i, j]$: gain of the best map of actions to actions.

    >>> import jax.numpy as jnp
    >>> from regrax.games import weighted_rps
    >>> float(swap_gap(jnp.full((3, 3), 1 / 9), weighted_rps()))
    0.1111
    """
    return _reduced(_swap, joint, game, reduce)


def cce_dist(joint: Any, game: Game | str) -> Gaps:
    r"""$\sum_n \max(0, \mathrm{CCE\ gap}_n)$: OpenSpiel's distance of that name.

    >>> import numpy as np
    >>> from regrax.games import matching_pennies
    >>> float(cce_dist(np.array([[1.0, 0.0], [0.0, 0.0]]), matching_pennies()))
    2.0
    """
    return cce_gap(joint, game, "none").clip(0).sum()


def ce_dist(joint: Any, game: Game | str) -> Gaps:
    r"""$\sum_n \mathrm{swap\ gap}_n$: OpenSpiel's distance of that name, which is of whole maps of actions.

    >>> import numpy as np
    >>> from regrax.games import matching_pennies
    >>> float(ce_dist(np.full((2, 2), 0.25), matching_pennies()))
    0.0
    """
    return swap_gap(joint, game, "sum")


def joint_gaps(joint: Any, game: Game | str, names: Sequence[str] = NAMES) -> dict[str, Any]:
    """Several gaps at once, max over players.

    Args:
        joint: a distribution over joint actions.
        game: the game, or its spec.
        names: of the gaps, by default all four.

    >>> import jax.numpy as jnp
    >>> from regrax.games import weighted_rps
    >>> {name: float(gap) for name, gap in joint_gaps(jnp.full((3, 3), 1 / 9), weighted_rps()).items()}
    {'nash_gap': 0.1111, 'cce_gap': 0.1111, 'ce_gap': 0.1111, 'swap_gap': 0.1111}
    """
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise ValueError(f"names must be among {', '.join(NAMES)}, got {unknown[0]!r}")
    game = as_game(game)
    joint = _checked(joint, game)
    gaps: dict[str, list[Any]] = {name: [] for name in names}
    if "nash_gap" in gaps:
        gaps["nash_gap"] = _nash(joint, game)
    kinds = {name: of for name, of in _FROM_GAINS.items() if name in gaps}
    if kinds:
        for gains in _all_gains(joint, game):
            for name, of in kinds.items():
                gaps[name].append(of(gains))
    return {name: _largest(per_player) for name, per_player in gaps.items()}


def deviation_gains(joint: Any, game: Game | str, player: int) -> Float[Any, "d d"]:
    r"""$G_n[i, j]$: what player `player` gains by playing $j$ whenever it would have played $i$.

    >>> import jax.numpy as jnp
    >>> from regrax.games import matching_pennies
    >>> deviation_gains(jnp.array([[1.0, 0.0], [0.0, 0.0]]), matching_pennies(), 1).tolist()
    [[0.0, 2.0], [0.0, 0.0]]
    """
    game = as_game(game)
    return _gains(_checked(joint, game), game, player)


def running_gaps(trajectory: Trajectory, game: Game | str, rounds: Any = None) -> dict[str, Any]:
    """All four gaps (max over players) of the first `t` rounds, for every `t` or those in `rounds`.

    CCE, CE and swap gaps are running regrets divided by `t`; the Nash gap follows the running marginals: no joint
    tensor is made for any round.

    >>> from regrax.games import play, weighted_rps
    >>> from regrax.learners import Uniform
    >>> gaps = running_gaps(play(weighted_rps(), Uniform(), 3), weighted_rps())
    >>> gaps["cce_gap"].tolist()
    [0.1111, 0.1111, 0.1111]
    """
    checks.instance("trajectory", trajectory, Trajectory, "what play returns")
    played = [checks.as_floats(rows) for rows in trajectory.played]
    ends = ends_of(rounds, trajectory.rounds)
    counts = ends.astype(played[0].dtype)
    means = [rows.cumsum(0)[ends - 1] / counts[:, None] for rows in played]

    def averaged(running: Callable[..., Any]) -> Any:
        pairs = zip(played, trajectory.losses, strict=True)
        per_player = [running(rows, losses, ends) for rows, losses in pairs]
        return _largest(per_player) / counts

    return {
        "nash_gap": _running_nash(means, as_game(game)),
        "cce_gap": averaged(running_external_regret),
        "ce_gap": averaged(running_internal_regret),
        "swap_gap": averaged(running_swap_regret),
    }


def _reduced(
    kind: Callable[[Any, Game], list[Any]], joint: Any, game: Game | str, reduce: Reduce
) -> Gaps:
    if reduce not in _REDUCE:
        raise ValueError(f'reduce must be "max", "sum" or "none", got {reduce!r}')
    game = as_game(game)
    return _REDUCE[reduce](kind(_checked(joint, game), game))


def _stacked(per_player: Sequence[Any]) -> Any:
    return per_player[0].__array_namespace__().stack(per_player)


def _largest(per_player: Sequence[Any]) -> Any:
    return functools.reduce(per_player[0].__array_namespace__().maximum, per_player)


_REDUCE = {"max": _largest, "sum": lambda found: _stacked(found).sum(0), "none": _stacked}


def _checked(joint: Any, game: Game) -> Any:
    fits = np.shape(joint) == game.sizes
    checks.shape("joint", joint, f"{game.sizes}, the sizes of {game}", fits)
    if checks.is_concrete(joint):
        checks.distributions("joint", np.ravel(np.asarray(joint)))
    return checks.as_floats(joint)


def _gains(joint: Any, game: Game, player: int) -> Any:
    """What playing j whenever told i would gain."""
    gains = unfolded(joint, player) @ game.own(player).T
    gains -= gains.diagonal()[:, None]  # in place: a large copy may cost as much as the product
    return gains


def _all_gains(joint: Any, game: Game) -> Iterator[Any]:
    return (_gains(joint, game, n) for n in range(joint.ndim))


def _nash(joint: Any, game: Game) -> list[Any]:
    marginals = [unfolded(joint, n).sum(1) for n in range(joint.ndim)]
    return _nash_of_product(marginals, game)


def _nash_of_product(marginals: Sequence[Any], game: Game) -> list[Any]:
    """Per player, $\\max_j u_n(j, m_{-n}) - u_n(m)$; rounds, if there are several, on the last axis."""

    def gap(player: int) -> Any:
        others = outer([m for n, m in enumerate(marginals) if n != player])
        worth = game.own(player) @ others
        return worth.max(0) - (worth * marginals[player]).sum(0)

    return [gap(n) for n in range(len(marginals))]


def _running_nash(means: list[Any], game: Game) -> Any:
    """The largest gap over players of each round's mean policies, some rounds at a time."""
    size = max(MAX_NUMBERS // max(game.payoffs[0].size, 1), 1)
    parts = [
        _largest(_nash_of_product([rows[first : first + size].T for rows in means], game))
        for first in range(0, len(means[0]), size)
    ]
    return parts[0].__array_namespace__().concatenate(parts)


def _cce(joint: Any, game: Game) -> list[Any]:
    return [external_of(gains) for gains in _all_gains(joint, game)]


def _ce(joint: Any, game: Game) -> list[Any]:
    return [internal_of(gains) for gains in _all_gains(joint, game)]


def _swap(joint: Any, game: Game) -> list[Any]:
    return [swap_of(gains) for gains in _all_gains(joint, game)]
