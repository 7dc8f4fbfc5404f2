"""Heat maps of a tournament: row learners against column learners."""

from typing import Any

import matplotlib
import numpy as np
from matplotlib.colors import AsinhNorm, Normalize
from matplotlib.figure import Figure as AnyFigure

from regrax import _checks as checks
from regrax.experiments.tournament import Tournament
from regrax.show.plots.panels import draw_table
from regrax.show.plots.sheets import (
    Figure,
    axes_or_new,
    ems,
    plain,
    short,
    styled,
    title_of,
    wrapped,
)
from regrax.specs import parse_learner

TITLES = {"regret": "Regret", "swap_regret": "Swap regret", "payoff": "Payoff"}
GAPS = {"cce_gap": "CCE gap", "ce_gap": "CE gap"}
MAX_NAME = 33  # letters
LETTER = 0.58  # width of a letter, in ems
HEADER = 4.5  # height of the title, in ems
CELL = 3.2  # preferred and least side of a cell with a number, in ems
MIN_CELL = 2.2
TWO_LINES = 2.4  # height of a name in two lines, in ems


@styled()
def plot_tournament(tournament: Tournament, rank: str = "regret", *, axes: Any = None) -> AnyFigure:
    """Plot the regret, swap regret and payoff of every learner against every other, best learner first.

    Args:
        tournament: Result of `round_robin`.
        rank: Measure to rank the learners by; a gap is also plotted.
        axes: List or array of matplotlib axes, one per measure; by default a new figure.

    >>> from regrax.experiments.tournament import round_robin
    >>> figure = plot_tournament(round_robin(["hedge(0.1)", "uniform()"], ["chicken"], 3))
    >>> [axes.get_title() for axes in figure.axes if axes.get_title()]
    ['Regret', 'Swap regret', 'Payoff']
    """
    checks.instance("tournament", tournament, Tournament, "the result of round_robin")
    measures = {rank: GAPS[rank], **TITLES} if rank in GAPS else TITLES
    order = tournament.ranking(rank)
    longest = min(MAX_NAME, int(0.45 * ems() / LETTER))
    has_room = 0.5 * ems() > TWO_LINES * len(order)
    letters = MAX_NAME if has_room else longest
    titles = [short(_title(tournament.learners[i]), letters) for i in order]
    names = [wrapped(title, longest) for title in titles]
    margin = LETTER * max(len(line) for name in names for line in name.split("\n")) + 1
    side = CELL * max(len(names), 3)  # room for the title
    columns = 1
    for count in range(2, len(measures) + 1):
        if len(measures) % count == 0 and margin + count * (side + 1) <= ems():
            columns = count
    side = min(side, (ems() - margin) / columns - 1)
    panels = axes
    if axes is None:
        rows = len(measures) // columns
        inches = matplotlib.rcParams["font.size"] / 72
        size = (ems() * inches, (HEADER + rows * (side + 2) + margin) * inches)
        figure = Figure(figsize=size, layout="compressed")
        figure.suptitle(plain(_about(tournament)))
        panels = figure.subplots(rows, columns, sharex=True, sharey=True)
    panels = axes_or_new(panels, list(measures.values()), columns, [])
    digits = None
    if side >= MIN_CELL * len(names):
        digits = 3 if side >= CELL * len(names) else 2
    for (measure, title), panel in zip(measures.items(), panels, strict=True):
        means = np.array([[entry.mean for entry in row] for row in tournament.pairings(measure)])
        look: dict[str, Any] = {"norm": Normalize()}
        if measure != "payoff":
            largest = np.nanmax(np.abs(means), initial=1e-9)
            # most regrets are small compared with the largest, so spread them
            norm = AsinhNorm(largest / 20, vmin=-largest, vmax=largest)
            look = {"norm": norm, "cmap": "RdBu_r"}  # blue below zero, white at zero, red above
        means = means[np.ix_(order, order)]
        draw_table(panel, means, names, names, label=title, digits=digits, tilt=90, **look)
        panel.set_title(title)
        if axes is None:
            panel.label_outer()
    return panels[0].figure  # pyright: ignore[reportReturnType]


def _title(spec: str) -> str:
    try:
        return title_of(parse_learner(spec))
    except ValueError:
        return spec  # a learner that is not registered


def _about(tournament: Tournament) -> str:
    feedback = "sampled actions" if tournament.sampled else "expected losses"
    games = f"{len(tournament.games)} games"
    if len(tournament.games) <= 3:
        games = ", ".join(tournament.games)
    setting = f"{tournament.rounds:,} rounds, {tournament.start} starts, {feedback}"
    lines = (f"Per round, row against column in {games}", setting)
    return "\n".join(wrapped(line, int(1.6 * ems())) for line in lines)
