"""The figure of the page on worst cases: `python docs/figures/worst_case.py` writes it and its numbers (some minutes).

The points of trained models are read from `worst-case-trained.json`, which `examples/worst_case_training.py` writes.
"""

import json
import math
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import minimize_scalar

import regrax as rx
from regrax import theory
from regrax.show.plots import COLORS

HERE = Path(__file__).parent
ACTIONS = 3
ROUNDS = (1, 2, 3, 4, 5, 7, 10, 14, 20, 30, 45, 70, 100, 140, 200)
NAMES = {
    "minimax": "minimax",
    "optimal_0.68": "Optimal, noise 0.68",
    "best_step": "Hedge at its best step",
    "textbook": "Hedge at the textbook step",
    "k_star": "Hedge at k*",
    "optimal": "Optimal, noise 1",
}
matplotlib.rcParams.update({"svg.hashsalt": "regrax", "svg.fonttype": "none", "font.size": 10})


def hedge(step: float, rounds: int) -> float:
    """The worst case of Hedge."""
    return theory.worst_case(rx.Hedge(float(step)), ACTIONS, rounds).regret


def row(rounds: int) -> dict[str, float]:
    """Every worst case at one horizon."""
    textbook = math.sqrt(8 * math.log(ACTIONS) / rounds)
    bounds = (0.7 * textbook, 1.6 * textbook)
    best = minimize_scalar(
        hedge, args=(rounds,), bounds=bounds, method="bounded", options={"maxiter": 12}
    )
    k_star = theory.step_size(ACTIONS, max(rounds, 2))
    return {
        "rounds": rounds,
        "minimax": theory.minimax(ACTIONS, rounds),
        "optimal": theory.worst_case(rx.Optimal(rounds), ACTIONS, rounds).regret,
        "optimal_0.68": theory.worst_case(rx.Optimal(rounds, 0.68), ACTIONS, rounds).regret,
        "k_star": hedge(k_star, rounds),
        "textbook": hedge(textbook, rounds),
        "best_step": float(best.fun),
        "best_at": float(best.x),
    }


def draw(rows: list[dict[str, float]], trained: dict[str, float]) -> Figure:
    """Worst-case regret over the root of the rounds."""
    figure = Figure(figsize=(7.2, 5.4), layout="constrained")
    axes = figure.add_subplot()
    rounds = np.array([numbers["rounds"] for numbers in rows])
    for (key, label), color in zip(NAMES.items(), ("black", *COLORS), strict=False):
        regrets = np.array([numbers[key] for numbers in rows])
        axes.plot(rounds, regrets / np.sqrt(rounds), "-", color=color, label=label)
    marks = {
        "schedule": ("s", "trained: a step for each round"),
        "network": ("*", "trained: a network on sums and round"),
        "linear": ("D", "trained: linear attention"),
        "transformer_at_least": ("^", "trained: two-layer transformer (lower bound)"),
    }
    for key, (mark, label) in marks.items():
        height = trained[key] / math.sqrt(20)
        axes.plot(20, height, mark, color="0.25", fillstyle="none", label=label)
    axes.axhline(math.sqrt(8 / (9 * math.pi)), linestyle=":", color="black", linewidth=0.8)
    axes.set(xscale="log", xlabel="rounds T", ylabel="worst-case regret / root of T, d = 3")
    axes.set_xticks(
        [1, 2, 5, 10, 20, 50, 100, 200], ["1", "2", "5", "10", "20", "50", "100", "200"]
    )
    axes.minorticks_off()
    axes.grid(alpha=0.25, which="major", linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, fontsize=8, ncols=2, loc="outside lower center")
    return figure


def main() -> None:
    """Compute, write the numbers, draw."""
    rows = []
    for rounds in ROUNDS:
        rows.append(row(rounds))
        print(rows[-1], flush=True)
    (HERE / "worst-case.json").write_text(json.dumps(rows, indent=1) + "\n")
    trained = json.loads((HERE / "worst-case-trained.json").read_text())
    draw(rows, trained).savefig(HERE / "worst-case.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
