"""The figure of the step-size page: `python docs/figures/step_size.py` writes it beside itself (some seconds)."""

from pathlib import Path

import jax
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import regrax as rx

HERE = Path(__file__).parent
COLORS = rx.plots.COLORS
ACTIONS, HORIZON, SEED = 3, 20, 5
BEST = rx.theory.step_size(ACTIONS, HORIZON)
STEPS = {"a tenth of k*": BEST / 10, "k*": BEST, "ten times k*": BEST * 10}


def loss_against_step(axes: Axes) -> None:
    """Expected squared regret of every step, three horizons, per round so that they share an axis."""
    for color, horizon in zip(COLORS, (5, 20, 80), strict=False):
        best = rx.theory.step_size(ACTIONS, horizon)
        steps = np.geomspace(0.02, 5, 60)
        curve = [rx.theory.loss(step, ACTIONS, horizon) / horizon for step in steps]
        axes.plot(steps, curve, color=color, label=f"T = {horizon}: k* = {best:.4f}")
        least = rx.theory.loss(best, ACTIONS, horizon) / horizon
        axes.plot(best, least, "o", color=color, ms=7)
    axes.set(xscale="log", xlabel="step k", ylabel="expected squared regret / T")
    axes.set_title("too small is slow, too large is rash", fontsize="medium")


def policies_of_three_steps(axes: Axes) -> None:
    """On one loss sequence: how likely the action is that ends best."""
    losses = np.random.default_rng(SEED).normal(size=(HORIZON, ACTIONS))
    best = int(rx.regret.best_action(losses))
    rounds = np.arange(1, HORIZON + 1)
    for color, (name, step) in zip(COLORS[3:], STEPS.items(), strict=False):
        policies = rx.rollout(rx.Hedge(step), losses)
        regret = float(rx.external_regret(policies, losses))
        axes.plot(rounds, policies[:, best], color=color, label=f"{name}: regret {regret:.2f}")
    axes.set(xlabel="round", ylabel="probability of what ends best", ylim=(0, 1))
    axes.set_xticks([1, 5, 10, 15, 20])
    axes.set_title("one sequence of Gaussian losses", fontsize="medium")


if __name__ == "__main__":
    figure = Figure(figsize=(9.6, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    with jax.enable_x64(True):
        loss_against_step(left)
        policies_of_three_steps(right)
    for ax in (left, right):
        ax.grid(alpha=0.25)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize="small")
    figure.savefig(HERE / "step-size-plain.png", dpi=110)
