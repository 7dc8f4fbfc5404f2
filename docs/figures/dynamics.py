"""Figures of the page on dynamics: `python docs/figures/dynamics.py` writes them beside itself (half a minute)."""

from pathlib import Path

import jax
import matplotlib
import numpy as np
from matplotlib.figure import Figure

import regrax as rx

HERE = Path(__file__).parent
BLUE, RED, *_ = rx.plots.COLORS
LEARNERS = ("fictitious_play()", "hedge(0.3)", "optimistic_hedge(0.3)", "regret_matching_plus()")
START = [[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]]
ROUNDS = 300
matplotlib.rcParams.update({"svg.hashsalt": "regrax", "svg.fonttype": "none"})


def compared() -> Figure:
    """Four algorithms in two games from one start: last iterates, their averages, and the flow."""
    games = ("rock-paper-scissors", "shapley")
    figure = Figure(figsize=(3.6 * len(LEARNERS), 3.9 * len(games)), layout="constrained")
    axes = figure.subplots(len(games), len(LEARNERS))
    for row, game in zip(axes, games, strict=True):
        for ax, learner in zip(row, LEARNERS, strict=True):
            rx.plots.plot_phase(game, learner, rounds=ROUNDS, starts=[START], ax=ax)
    return figure


def stays() -> Figure:
    """How long fictitious play stays in each cell that it comes to, and where its averages are meanwhile."""
    figure = Figure(figsize=(9.6, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for game, start, color in (("shapley", "random(0)", BLUE), ("jordan", "random(2)", RED)):
        played = rx.play(game, "fictitious_play()", 30_000, start=start)
        cells = np.stack([side.argmax(1) for side in played.policies], 1)
        moved = np.flatnonzero((np.diff(cells, axis=0) != 0).any(1))
        left.plot(np.diff([-1, *moved]), "o-", ms=4, color=color, label=game)
        gaps = rx.running_gaps(played, game)
        right.plot(np.arange(1, 30_001), gaps["nash_gap"], color=color, label=f"{game}: Nash")
        right.plot(np.arange(1, 30_001), gaps["cce_gap"], "--", color=color, label=f"{game}: CCE")
    left.set(yscale="log", xlabel="cell, in the order of play", ylabel="rounds spent in it")
    right.set(xscale="log", yscale="log", xlabel="round", ylabel="gap of play so far")
    for ax in (left, right):
        ax.grid(alpha=0.25)
        ax.legend()
    return figure


def pennies() -> Figure:
    """Matching pennies: Hedge spirals out, optimistic Hedge in."""
    figure = Figure(figsize=(10, 6.2), layout="constrained")
    pair = ("hedge(0.1)", "optimistic_hedge(0.1)")
    for ax, learner in zip(figure.subplots(1, 2), pair, strict=True):
        rx.plots.plot_phase("matching-pennies", learner, rounds=400, ax=ax)
    return figure


if __name__ == "__main__":
    with jax.enable_x64(True):
        rx.plots.style("screen")
        for draw in (compared, stays, pennies):
            draw().savefig(HERE / f"dynamics-{draw.__name__}.png", dpi=85)
