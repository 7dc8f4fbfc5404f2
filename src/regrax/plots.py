"""Figures from numbers: each function takes arrays and gives a matplotlib figure; the caller saves it."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

SUFFIXES = (".pdf", ".png", ".svg")

# Okabe and Ito's palette: told apart with any colour vision, and in grey by the line styles beside it.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
LINES = ("-", "--", "-.", ":")


def plot_gaps(gaps: Mapping[str, np.ndarray], title: str = "") -> Figure:
    """Equilibrium gaps over rounds on log axes, one line a gap.

    >>> plot_gaps({"cce_gap": np.array([0.5, 0.25])}).axes[0].get_xlabel()
    'round'
    """
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    for index, (name, values) in enumerate(gaps.items()):
        values = np.asarray(values)
        # a log axis has no place for zero and below: leave a break in the line there
        shown = np.where(values > 0, values, np.nan)
        (line,) = axes.plot(np.arange(1, len(values) + 1), shown, label=_label(name), linewidth=1.8)
        line.set(color=COLORS[index % len(COLORS)], linestyle=LINES[index % len(LINES)])
    axes.set(xscale="log", yscale="log", xlabel="round", ylabel="gap of joint play", title=title)
    axes.grid(alpha=0.25, which="both", linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return figure


def _label(name: str) -> str:
    kind = name.removesuffix("_gap")
    return kind.upper() if kind in ("ce", "cce") else kind.capitalize()


def check_suffix(file: Path) -> None:
    """Raise unless the file's ending names a picture format."""
    if file.suffix.lower() not in SUFFIXES:
        raise ValueError(f"a plot file must end in {', '.join(SUFFIXES)}, but is {file}")
