r"""Equilibrium gaps: the most that a player could gain by deviating from the empirical distribution of play.

For a distribution $\mu$ over joint actions and player $n$, let
$G_n[i, j] = \sum_{a_{-n}} \mu(i, a_{-n}) (u_n(j, a_{-n}) - u_n(i, a_{-n}))$ be the gain from playing $j$ in place of
$i$. Then

    CCE gap    max_j sum_i G[i, j]     one fixed action               (external regret / T)
    CE gap     max_ij G[i, j]          one action in place of another (internal regret / T), "pairwise"
    swap gap   sum_i max_j G[i, j]     any map of the actions         (swap regret / T)
    Nash gap   max_j u_n(j, m_-n) - u_n(m), against the product m of the marginals of mu

Every gap is the maximum over players unless `reduce` is `"sum"` or `"none"` (one number per player). No gap is clipped:
a CCE gap can be negative. OpenSpiel's distances are `cce_dist`, the sum of the positive parts of the CCE gaps, and
`ce_dist`, the sum of the swap gaps. If the Nash gap is zero, the product of the marginals is a Nash equilibrium; $\mu$
itself is one only if it equals that product.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from regrax import _checks as checks
from regrax._text import labelled_table, quantities
from regrax.games.game import Game, unfolded
from regrax.games.trajectory import Summary, Trajectory, outer
from regrax.regret import (
    ends_of,
    gains_of,
    running_external_regret,
    running_internal_regret,
    running_swap_regret,
)
from regrax.specs import as_game

Reduce = Literal["max", "sum", "none"]
Gaps = Float[Any, "*N"] | np.floating
RUNNING = {
    "cce_gap": running_external_regret,
    "ce_gap": running_internal_regret,
    "swap_gap": running_swap_regret,
}
NAMES = ("nash_gap", *RUNNING)
MAX_NUMBERS = 1 << 22
"""Limit on the total size of product distributions in memory at once."""
REGRETS = {"regret": "external", "internal_regret": "internal", "swap_regret": "swap"}
PLAYER_COLUMNS = {
    "player": "player",
    "learner": "learner",
    "payoff": "payoff per round",
    "regret": "regret, total",
    "internal_regret": "internal regret, total",
    "swap_regret": "swap regret, total",
    "average": "average play",
    "answers": "answers by parser",
}
MEASURED_GAPS = {
    "cce_gap": "CCE gap, per round",
    "ce_gap": "CE gap (pairwise), per round",
    "swap_gap": "swap gap, per round",
    "nash_gap": "Nash gap, per round",
}
"""Names of the measures of `measure_play` in tables."""


def nash_gap(joint: Any, game: Game | str, reduce: Reduce = "max") -> Gaps:
    r"""Compute $\max_j u_n(j, m_{-n}) - u_n(m)$, with $m$ the product of the marginals of $\mu$.

    >>> import numpy as np
    >>> from regrax.games import matching_pennies
    >>> float(nash_gap(np.array([[0.5, 0.0], [0.0, 0.5]]), matching_pennies()))
    0.0
    """
    return _gap("nash_gap", joint, game, reduce)


def cce_gap(joint: Any, game: Game | str, reduce: Reduce = "max") -> Gaps:
    r"""Compute $\max_j \sum_i G_n[i, j]$, the gain from the best fixed action.

    >>> import numpy as np
    >>> from regrax.games import weighted_rps
    >>> float(cce_gap(np.full((3, 3), 1 / 9), weighted_rps()))
    0.1111
    """
    return _gap("cce_gap", joint, game, reduce)


def ce_gap(joint: Any, game: Game | str, reduce: Reduce = "max") -> Gaps:
    r"""Compute $\max_{ij} G_n[i, j]$, the gain from the best replacement of one action by another.

    >>> import numpy as np
    >>> from regrax.games import chicken
    >>> float(ce_gap(np.array([[0.0, 0.5], [0.5, 0.0]]), chicken()))
    0.0
    """
    return _gap("ce_gap", joint, game, reduce)


def swap_gap(joint: Any, game: Game | str, reduce: Reduce = "max") -> Gaps:
    r"""Compute $\sum_i \max_j G_n[i, j]$, the gain from the best map of actions to actions.

    >>> import numpy as np
    >>> from regrax.games import weighted_rps
    >>> float(swap_gap(np.full((3, 3), 1 / 9), weighted_rps()))
    0.1111
    """
    return _gap("swap_gap", joint, game, reduce)


def cce_dist(joint: Any, game: Game | str) -> Gaps:
    r"""Compute $\sum_n \max(0, \mathrm{CCE\ gap}_n)$, which is OpenSpiel's `cce_dist`.

    >>> import numpy as np
    >>> from regrax.games import matching_pennies
    >>> float(cce_dist(np.array([[1.0, 0.0], [0.0, 0.0]]), matching_pennies()))
    2.0
    """
    return cce_gap(joint, game, "none").clip(0).sum()


def ce_dist(joint: Any, game: Game | str) -> Gaps:
    r"""Compute $\sum_n \mathrm{swap\ gap}_n$, which is OpenSpiel's `ce_dist`.

    >>> import numpy as np
    >>> from regrax.games import matching_pennies
    >>> float(ce_dist(np.full((2, 2), 0.25), matching_pennies()))
    0.0
    """
    return swap_gap(joint, game, "sum")


def joint_gaps(joint: Any, game: Game | str, names: Sequence[str] = NAMES) -> dict[str, Any]:
    """Compute several gaps at once, each the maximum over players.

    Args:
        joint: a distribution over joint actions.
        game: the game, or its spec.
        names: the gaps to compute, by default all four.

    >>> import numpy as np
    >>> from regrax.games import weighted_rps
    >>> {name: float(gap) for name, gap in joint_gaps(np.full((3, 3), 1 / 9), weighted_rps()).items()}
    {'nash_gap': 0.1111, 'cce_gap': 0.1111, 'ce_gap': 0.1111, 'swap_gap': 0.1111}
    """
    return dict(zip(names, _gaps_per_player(joint, game, names).max(1), strict=True))


def measure_play(game: Game | str, plays: Sequence[Summary | Trajectory]) -> dict[str, Any]:
    """Measure one play, or several episodes, as plain numbers.

    Args:
        game: the game, or its spec.
        plays: results of `play`, one per episode.

    Returns:
        The gaps of the empirical distribution over all episodes, and for each of the `players` its payoff per round,
        its regrets over an episode and its average policy, as means over episodes.

    >>> from regrax.games import play
    >>> measured = measure_play("weighted-rps", [play("weighted-rps", "uniform()", 20)])
    >>> measured["cce_gap"], measured["players"][0]["regret"]
    (0.1111, 2.2222)
    """
    game = as_game(game)
    sums = [play.summary() for play in plays]
    gaps = joint_gaps(np.mean([own.joint for own in sums], 0), game)
    measures = {"payoff": np.mean([own.payoffs for own in sums], 0)}
    for name, kind in REGRETS.items():
        measures[name] = np.mean([own.regrets(kind) for own in sums], 0)
    players = []
    for n, player in enumerate(game.players):
        row: dict[str, Any] = {"player": player}
        row |= {name: float(values[n]) for name, values in measures.items()}
        average = np.mean([own.averages[n] for own in sums], 0).tolist()
        row["average"] = dict(zip(game.actions[n], average, strict=True))
        players.append(row)
    return {**{name: float(gap) for name, gap in gaps.items()}, "players": players}


def measured_text(measured: Mapping[str, Any], title: str = "") -> str:
    """Return the result of `measure_play` as two tables that fit the terminal: the players and the gaps.

    >>> from regrax.games import measure_play, play
    >>> text = measured_text(measure_play("chicken", [play("chicken", "uniform()", 20)]), "chicken")
    >>> text.splitlines()[-1]
    'Nash gap, per round           0.2500'
    """
    players = labelled_table(measured["players"], PLAYER_COLUMNS, title)
    return f"{players}\n{quantities(measured, MEASURED_GAPS)}"


def deviation_gains(joint: Any, game: Game | str, player: int) -> Float[Any, "d d"]:
    r"""Compute $G_n[i, j]$, the gain of `player` from playing $j$ whenever it would have played $i$.

    >>> import numpy as np
    >>> from regrax.games import matching_pennies
    >>> deviation_gains(np.array([[1.0, 0.0], [0.0, 0.0]]), matching_pennies(), 1).tolist()
    [[0.0, 2.0], [0.0, 0.0]]
    """
    game = as_game(game)
    own = unfolded(check_joint(joint, game), player)
    return gains_of(own @ game.loss_tables[player].T)


def running_gaps(trajectory: Trajectory, game: Game | str, rounds: Any = None) -> dict[str, Any]:
    """Compute all four gaps (max over players) of the first `t` rounds, for every `t` or for each `t` in `rounds`.

    CCE, CE and swap gaps are running regrets divided by `t`, and the Nash gap is computed from the running marginals,
    so no joint distributions are built.

    >>> from regrax.games import play, weighted_rps
    >>> from regrax.learners import Uniform
    >>> gaps = running_gaps(play(weighted_rps(), Uniform(), 3), weighted_rps())
    >>> gaps["cce_gap"].tolist()
    [0.1111, 0.1111, 0.1111]
    """
    checks.instance("trajectory", trajectory, Trajectory, "the result of play")
    game = as_game(game)
    played = [checks.as_floats(policies) for policies in trajectory.played]
    ends = ends_of(rounds, trajectory.rounds)
    counts = ends.astype(played[0].dtype)
    means = [policies.cumsum(0)[ends - 1] / counts[:, None] for policies in played]
    size = max(MAX_NUMBERS // game.payoffs[0].size, 1)
    nash_gaps = []
    for first in range(0, len(ends), size):
        marginals = [mean[first : first + size].T for mean in means]
        nash_gaps.append(_stacked(_nash_gaps(marginals, game)).max(0))
    gaps = {"nash_gap": played[0].__array_namespace__().concatenate(nash_gaps)}
    for name, running_regret in RUNNING.items():
        pairs = zip(played, trajectory.losses, strict=True)
        regrets = [running_regret(policies, losses, ends) for policies, losses in pairs]
        gaps[name] = _stacked(regrets).max(0) / counts
    return gaps


def _gap(name: str, joint: Any, game: Game | str, reduce: Reduce) -> Gaps:
    checks.one_of("reduce", reduce, ("max", "sum", "none"))
    gaps = _gaps_per_player(joint, game, [name])[0]
    if reduce == "none":
        return gaps
    return getattr(gaps, reduce)(0)


def _gaps_per_player(joint: Any, game: Game | str, names: Sequence[str]) -> Float[Any, "names N"]:
    for name in names:
        if name not in NAMES:
            raise ValueError(f"names must be among {', '.join(NAMES)}, got {name!r}")
    game = as_game(game)
    joint = check_joint(joint, game)
    rows = [unfolded(joint, n) for n in range(joint.ndim)]
    gaps: dict[str, Sequence[Any]] = {}
    if "nash_gap" in names:
        gaps["nash_gap"] = _nash_gaps([own.sum(1) for own in rows], game)
    if set(names) != {"nash_gap"}:
        values = map(_deviation_gaps, rows, game.loss_tables)
        gaps |= zip(RUNNING, zip(*values, strict=True), strict=True)
    return _stacked([gaps[name] for name in names])


def _deviation_gaps(joint: Any, losses: Any) -> tuple[Any, Any, Any]:
    """Compute a player's CCE, CE and swap gap from tables of its own actions by those of the others."""
    swapped = losses @ joint.T  # by j, which is played in place of i, and i
    played = swapped.diagonal()
    best = played - swapped.min(0)
    return played.sum() - swapped.sum(1).min(), best.max(), best.sum()


def check_joint(joint: Any, game: Game) -> Any:
    """Return a distribution over the joint actions of a game as an array of floats; raise if it is not one."""
    fits = np.shape(joint) == game.sizes
    checks.shape("joint", joint, f"{game.sizes}, the sizes of {game.name}", fits)
    joint = checks.as_floats(joint)
    checks.distributions("joint", joint.ravel())
    return joint


def _nash_gaps(marginals: Sequence[Any], game: Game) -> list[Any]:
    r"""Compute $\max_j u_n(j, m_{-n}) - u_n(m)$ per player; several rounds may be on the last axis."""
    gaps = []
    for player, own in enumerate(marginals):
        others = [*marginals[:player], *marginals[player + 1 :]]
        others = others or [np.ones((1, *own.shape[1:]))]  # a single player
        losses = game.loss_tables[player] @ outer(others)
        gaps.append((losses * own).sum(0) - losses.min(0))
    return gaps


def _stacked(gaps: Sequence[Any]) -> Any:
    return gaps[0][0].__array_namespace__().asarray(gaps)
