"""Figures. Each function takes results and returns a matplotlib figure for the caller to save."""

from .animation import Animation as Animation, animate as animate
from .curves import plot_gaps as plot_gaps
from .phase import plot_phase as plot_phase
from .play import plot_play as plot_play
from .progress import progress_bar as progress_bar
from .sheets import (
    COLORS as COLORS,
    SUFFIXES as SUFFIXES,
    check_suffix as check_suffix,
    style as style,
)
from .tournament import plot_tournament as plot_tournament
