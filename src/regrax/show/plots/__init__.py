"""Figures from numbers: each function takes results and gives a matplotlib figure; the caller saves it."""

from regrax.show.plots._animation import Animation, animate
from regrax.show.plots._curves import plot_gaps
from regrax.show.plots._dynamics import plot_phase
from regrax.show.plots._play import plot_play
from regrax.show.plots._progress import progress_bar
from regrax.show.plots._style import COLORS, SUFFIXES, check_suffix
from regrax.show.plots._tournament import plot_tournament

__all__ = [
    "COLORS",
    "SUFFIXES",
    "Animation",
    "animate",
    "check_suffix",
    "plot_gaps",
    "plot_phase",
    "plot_play",
    "plot_tournament",
    "progress_bar",
]
