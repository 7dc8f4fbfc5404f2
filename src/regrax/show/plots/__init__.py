"""Figures from numbers: each function takes results and gives a matplotlib figure; the caller saves it."""

from ._animation import (
    Animation as Animation,
    animate as animate,
)
from ._curves import (
    plot_gaps as plot_gaps,
)
from ._dynamics import (
    plot_phase as plot_phase,
)
from ._play import (
    plot_play as plot_play,
)
from ._progress import (
    progress_bar as progress_bar,
)
from ._style import (
    COLORS as COLORS,
    SUFFIXES as SUFFIXES,
    check_suffix as check_suffix,
)
from ._tournament import (
    plot_tournament as plot_tournament,
)
