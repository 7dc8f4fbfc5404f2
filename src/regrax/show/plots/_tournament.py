"""Heat maps of a tournament: who does what against whom."""

import numpy as np
from matplotlib.colors import Normalize, PowerNorm

from regrax import _checks as checks
from regrax.experiments.tournament import Tournament
from regrax.show.plots._panels import draw_table
from regrax.show.plots._style import Figure, in_math

TITLES = {"regret": "regret per round", "swap_regret": "swap regret per round", "payoff": "payoff"}
GAPS = {"cce_gap": "CCE gap", "ce_gap": "CE gap"}


def plot_tournament(tournament: Tournament, rank: str = "regret") -> Figure:
    """Row learner against column learner, the best by `rank` first: regret, swap regret and payoff, or gaps.

    >>> from regrax.experiments.tournament import round_robin
    >>> figure = plot_tournament(round_robin(["hedge(0.1)", "uniform()"], ["chicken"], 3))
    >>> [axes.get_title() for axes in figure.axes if axes.get_title()]
    ['regret per round', 'swap regret per round', 'payoff']
    """
    checks.instance("tournament", tournament, Tournament, "what round_robin returns")
    measures = {rank: GAPS[rank], **TITLES} if rank in GAPS else TITLES
    order = tournament.ranking(rank)
    names = [f"{tournament.learners[i]}  {place + 1}" for place, i in enumerate(order)]
    numbers = [str(place + 1) for place in range(len(order))]
    side = max(0.45 * len(order), 1.8)
    figure = Figure(figsize=((side + 1.2) * len(measures) + 3.0, side + 1.4), layout="constrained")
    for index, (measure, title) in enumerate(measures.items()):
        axes = figure.add_subplot(1, len(measures), index + 1)
        means = np.array([[one.mean for one in row] for row in tournament.pairings(measure)])
        # most learners' regrets are small beside the worst: spread the low end
        norm = Normalize() if measure == "payoff" else PowerNorm(0.4)
        rows = names if index == 0 else numbers
        draw_table(axes, means[np.ix_(order, order)], rows, numbers, what="", norm=norm)
        axes.set(title=title, xlabel="against")
    feedback = "sampled actions" if tournament.sampled else "expected losses"
    count = len(tournament.games)
    games = ", ".join(tournament.games) if count <= 6 else f"{count} games"
    told = f"{games}; {tournament.rounds} rounds, {tournament.start} starts, {feedback}"
    figure.suptitle(in_math(told), fontsize="large")
    return figure
