"""The picture of the front page: `python docs/figures/hero.py` writes hero.png next to this file."""

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

import regrax as rx

ROUNDS = 500
PANELS = {
    "Hedge spirals out": ("hedge(0.1)", [[0.55, 0.45], [0.5, 0.5]]),
    "Optimistic Hedge spirals in": ("optimistic_hedge(0.1)", [[0.95, 0.05], [0.5, 0.5]]),
}


def hero() -> Figure:
    """Draw the path of both players' mixed strategies in matching pennies, coloured by round."""
    figure = Figure(figsize=(9.6, 4.5), layout="constrained")
    lines = None
    axes = figure.subplots(1, 2)
    for ax, (title, (learner, prior)) in zip(axes, PANELS.items(), strict=True):
        play = rx.play("matching-pennies", learner, ROUNDS, prior=prior)
        path = np.stack([policies[:, 0] for policies in play.policies], axis=1)
        lines = LineCollection(
            np.stack([path[:-1], path[1:]], axis=1),
            array=np.arange(1, ROUNDS),
            cmap="viridis_r",
            linewidth=2,
            capstyle="round",
        )
        ax.add_collection(lines)
        ax.plot(*path[0], "o", color="black", markersize=6, label="start", linestyle="")
        ax.plot(0.5, 0.5, "*", color="#d55e00", markersize=14, label="equilibrium", linestyle="")
        ax.set_title(title, fontsize=14)
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
        ax.set_xlabel("player 1 plays heads")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("player 2 plays heads")
    axes[0].legend(loc="upper left", frameon=False, ncols=2, handletextpad=0.1, columnspacing=1)
    figure.colorbar(lines, ax=axes, label="round", shrink=0.9)
    return figure


if __name__ == "__main__":
    matplotlib.rcParams.update({"font.size": 11})
    hero().savefig(Path(__file__).with_name("hero.png"), dpi=110)
