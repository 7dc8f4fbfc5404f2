"""Policies of SmolLM2 before and after post-training: `python docs/figures/llm.py [RUN.json ...]`.

Each argument is the output of `regrax posttrain --json` with another seed. The figure's numbers, which are means over
the runs, are then written to `llm.json`; without arguments they are read from there.
"""

import json
import sys
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from regrax.show.plots import COLORS

HERE = Path(__file__).parent
STYLES = {
    "before": {"color": COLORS[0], "linestyle": "--"},
    "after": {"color": COLORS[0], "marker": "o"},
    "Hedge(1.0)": {"color": COLORS[1]},
}
matplotlib.rcParams.update({"svg.hashsalt": "regrax", "svg.fonttype": "none", "font.size": 10})


def collect(files: list[str]) -> dict:
    """Average the weight on the leader and the log-odds over runs."""
    runs = [json.loads(Path(file).read_text()) for file in files]
    players = [{player["name"]: player for player in run["settings"][0]["players"]} for run in runs]
    means = {}
    for name in STYLES:
        means[name] = np.mean([found[name]["leader"] for found in players], 0).round(3).tolist()
    odds = {}
    for number, name in enumerate(("before", "after")):
        odds[name] = np.mean([run["odds"][number] for run in runs], 0).round(3).tolist()
    step = float(np.mean([found["after"]["step"] for found in players]))
    return {"leader": means, "odds": odds, "step": round(step, 3)}


def draw(found: dict) -> Figure:
    """The weight on the leader by round, and the log-odds of two actions against their past losses."""
    figure = Figure(figsize=(9.6, 3.6), layout="constrained")
    by_round, by_gap = figure.subplots(1, 2)
    for name, style in STYLES.items():
        weights = found["leader"][name]
        by_round.plot(range(1, len(weights) + 1), weights, label=name, **style)
    _dress(by_round, "round", "mean weight on the leader")
    for name, pairs in found["odds"].items():
        gaps, odds = zip(*pairs, strict=True)
        by_gap.plot(gaps, odds, label=name, **STYLES[name])
    ends = np.array([gaps[0], gaps[-1]])
    label = f"Hedge({found['step']:.2f})"
    by_gap.plot(ends, -found["step"] * ends, label=label, color=COLORS[1])
    _dress(by_gap, "difference of past losses", "mean log-odds")
    return figure


def _dress(axes: Axes, x: str, y: str) -> None:
    axes.set(xlabel=x, ylabel=y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)


if __name__ == "__main__":
    numbers = HERE / "llm.json"
    if files := sys.argv[1:]:
        numbers.write_text(json.dumps(collect(files), indent=1) + "\n")
    figure = draw(json.loads(numbers.read_text()))
    figure.savefig(HERE / "llm.svg", metadata={"Date": None})
