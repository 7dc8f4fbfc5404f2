"""Figures from numbers: each function takes results and gives a matplotlib figure; the caller saves it."""

from regrax.plots.curves import plot_gaps
from regrax.plots.play import plot_play
from regrax.plots.style import COLORS, SUFFIXES, check_suffix
from regrax.plots.tournament import plot_tournament

__all__ = ["COLORS", "SUFFIXES", "check_suffix", "plot_gaps", "plot_play", "plot_tournament"]
