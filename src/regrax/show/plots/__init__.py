"""Figures. Each function takes results and returns a matplotlib figure for the caller to save."""

from .animation import Animation as Animation, animate as animate
from .phase import plot_phase as plot_phase
from .play import plot_gaps as plot_gaps, plot_play as plot_play
from .progress import progress_bar as progress_bar
from .sheets import COLORS as COLORS, style as style
from .tournament import plot_tournament as plot_tournament
