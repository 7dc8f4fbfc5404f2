"""Heat maps of a tournament: row learners against column learners."""

import numpy as np
from matplotlib.colors import Normalize, PowerNorm

from regrax import _checks as checks
from regrax.experiments.tournament import Tournament
from regrax.show.plots.panels import draw_table
from regrax.show.plots.style import Figure, plain

TITLES = {"regret": "regret per round", "swap_regret": "swap regret per round", "payoff": "payoff"}
GAPS = {"cce_gap": "CCE gap", "ce_gap": "CE gap"}


def plot_tournament(tournament: Tournament, rank: str = "regret") -> Figure:
    """Plot the regret, swap regret and payoff of every learner against every other, best learner first.

    Args:
        tournament: Result of `round_robin`.
        rank: Measure to rank the learners by; a gap is also plotted.

    >>> from regrax.experiments.tournament import round_robin
    >>> figure = plot_tournament(round_robin(["hedge(0.1)", "uniform()"], ["chicken"], 3))
    >>> [axes.get_title() for axes in figure.axes if axes.get_title()]
    ['regret per round', 'swap regret per round', 'payoff']
    """
    checks.instance("tournament", tournament, Tournament, "the result of round_robin")
    measures = {rank: GAPS[rank], **TITLES} if rank in GAPS else TITLES
    order = tournament.ranking(rank)
    numbers = [str(place + 1) for place in range(len(order))]
    names = [f"{tournament.learners[i]}  {place + 1}" for place, i in enumerate(order)]
    side = max(0.45 * len(order), 1.8)
    figure = Figure(figsize=((side + 1.2) * len(measures) + 3.0, side + 1.4), layout="constrained")
    for index, (measure, title) in enumerate(measures.items()):
        axes = figure.add_subplot(1, len(measures), index + 1)
        pairings = tournament.pairings(measure)
        means = np.array([[interval.mean for interval in row] for row in pairings])
        # most regrets are small compared with the largest, so spread the low end
        norm = Normalize() if measure == "payoff" else PowerNorm(0.4)
        rows = names if index == 0 else numbers
        draw_table(axes, means[np.ix_(order, order)], rows, numbers, what="", norm=norm)
        axes.set(title=title, xlabel="against")
    feedback = "sampled actions" if tournament.sampled else "expected losses"
    games = f"{len(tournament.games)} games"
    if len(tournament.games) <= 6:
        games = ", ".join(tournament.games)
    title = f"{games}; {tournament.rounds} rounds, {tournament.start} starts, {feedback}"
    figure.suptitle(plain(title), fontsize="large")
    return figure
