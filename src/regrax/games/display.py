"""Results of play as text for terminals and as HTML with a small plot for notebooks."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from regrax import _checks as checks
from regrax._tables import html_table, sketch, text_table
from regrax._text import labelled_table, quantities

if TYPE_CHECKING:
    from regrax.games.trajectory import Summary, Trajectory

GAPS = {"CCE": "external", "CE": "internal", "swap": "swap"}
"""Kind of regret whose maximum over players, per round, is each equilibrium gap."""
COLUMNS = {
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


class Described:
    """Base of results that remember the game and the learners they came from.

    Both are shown and otherwise ignored: they are not part of the tuple, and transformations drop them.
    """

    game: Any = None
    learners: Any = None

    def of(self, game: Any, learners: Any) -> Any:
        """Set the game and the learners to show, and return the result itself."""
        self.game = game
        self.learners = learners
        return self


def heading(result: "Described", rounds: int) -> str:
    """Return the name of the game and the number of rounds."""
    unit = "round" if rounds == 1 else "rounds"
    name = "" if result.game is None else f"{result.game.name}, "
    return f"{name}{rounds:,} {unit}"


def table_of(result: "Described", summary: "Summary") -> tuple[list[str], list[list[Any]]]:
    """Return the header and a row per player: its learner, payoff per round, regret and swap regret."""
    header = ["player", "payoff per round", "regret", "swap regret"]
    numbers = [summary.payoffs, summary.regrets("external"), summary.regrets("swap")]
    rows = []
    for n, values in enumerate(zip(*numbers, strict=True)):
        name = f"player {n + 1}" if result.game is None else result.game.players[n]
        rows.append([name, *(round(float(value), 12) + 0.0 for value in values)])
    if result.learners is not None:
        header.insert(1, "learner")
        for row, learner in zip(rows, result.learners, strict=True):
            row.insert(1, str(learner))
    return header, rows


def measured_text(measured: Mapping[str, Any], title: str = "") -> str:
    """Return the result of `measure_play` as two tables that fit the terminal: the players and the gaps.

    >>> from regrax.games import measure_play, play
    >>> text = measured_text(measure_play("chicken", [play("chicken", "uniform()", 20)]), "chicken")
    >>> text.splitlines()[-1]
    'Nash gap, per round           0.2500'
    """
    players = labelled_table(measured["players"], COLUMNS, title)
    return f"{players}\n{quantities(measured, MEASURED_GAPS)}"


def gaps_of(summary: "Summary") -> str:
    """Return the equilibrium gaps of joint play as a sentence."""
    gaps = []
    for name, kind in GAPS.items():
        gap = max(summary.regrets(kind)) / summary.rounds
        gaps.append(f"{name} {round(gap, 12) + 0.0:.4g}")
    return f"Gaps of joint play: {', '.join(gaps)}"


def as_text(result: Any, summary: "Summary", rounds: int) -> str:
    """Return the heading, a row per player, and the gaps; only the heading of a traced result."""
    if not checks.are_concrete(summary):
        return heading(result, rounds)
    header, rows = table_of(result, summary)
    return "\n".join([heading(result, rounds), text_table(header, rows), gaps_of(summary)])


def as_html(result: "Trajectory | Summary", summary: "Summary") -> str:
    """Return a table with a row per player, the gaps, and for a trajectory a plot of each player's policies."""
    header, rows = table_of(result, summary)
    table = html_table(header, rows, heading(result, summary.rounds))
    plots = ""
    for n, policies in enumerate(getattr(result, "policies", ())):
        labels = [str(action + 1) for action in range(policies.shape[1])]
        if result.game is not None:
            labels = result.game.actions[n]
        plots += sketch(policies, labels, str(rows[n][0]))
    return f"{table}<p>{gaps_of(summary)}</p>{plots}"
