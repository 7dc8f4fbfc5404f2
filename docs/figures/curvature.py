"""The search for a size where k* is no minimum, and the figure of all eigenvalues.

`python docs/figures/curvature.py search` computes the curvature for 2 to 50 actions and powers of two up to a million,
each with every horizon to 200, powers of two beyond and infinity, and writes `curvature.json` (a few minutes);
`python docs/figures/curvature.py` draws `curvature.svg` from that file.
"""

import json
import math
import sys
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from regrax import theory
from regrax.show.plots import COLORS

HERE = Path(__file__).parent
FILE = HERE / "curvature.json"
POWERS = [2**i for i in range(1, 20)] + [10**6]
ACTIONS = sorted({*range(2, 51), *POWERS})
HORIZONS = [*sorted({*range(2, 201), *POWERS}), math.inf]
KINDS = ("step", "common score", "common loss", "symmetric", "skew", "mixed")
matplotlib.rcParams.update({"svg.hashsalt": "regrax", "svg.fonttype": "none", "font.size": 10})


def search() -> dict:
    """Every size: how many were tried, which have an eigenvalue that is not above zero, and where it comes nearest."""
    found = {"sizes": 0, "failures": [], "rows": [], "curves": []}
    for actions in ACTIONS:
        every = theory.curvatures(actions, HORIZONS)
        found["sizes"] += len(every)
        found["failures"] += [[actions, _text(c.horizon)] for c in every if not c.is_minimum]
        finite = every[:-1]
        least, worst = min(finite, key=lambda c: c.smallest), min(every, key=margin)
        row = {"actions": actions, "least": [_text(least.horizon), least.smallest]}
        found["rows"].append(row | {"margin": [_text(worst.horizon), margin(worst)]})
        found["curves"] += [_curve(c) for c in every if _drawn(c)]
        print(actions, found["rows"][-1], len(found["failures"]), flush=True)
    return found


def margin(found: theory.Curvature) -> float:
    """How far the mixed block is from singular: the least eigenvalue once its diagonal, in scaled units, is 1."""
    import numpy as np

    k = 0.0 if math.isinf(found.horizon) else found.step
    size = len(found.mixed)
    back = np.array([[1.0, 0, 0], [0, 1, k], [0, 0, 1]])[-size:, -size:]  # v_c = u + k a
    block = back.T @ found.mixed @ back
    unit = 1 / np.sqrt(np.diag(block))
    return float(np.linalg.eigvalsh(block * np.outer(unit, unit))[0])


def _drawn(found: theory.Curvature) -> bool:
    """Whether the figure shows it: one number of actions over rounds, powers of two at two horizons."""
    over_rounds = found.actions == 4 and found.horizon in POWERS
    return over_rounds or (found.actions in (*POWERS, 3) and found.horizon in (20, math.inf))


def _curve(found: theory.Curvature) -> dict:
    values = [[e.direction, e.value] for e in found.eigenvalues]
    return {"actions": found.actions, "horizon": _text(found.horizon), "eigenvalues": values}


def _text(horizon: int | float) -> int | str:
    return "inf" if math.isinf(horizon) else int(horizon)


def draw(found: dict) -> Figure:
    """Eigenvalues over rounds for four actions, and over actions at 20 rounds and at the infinite horizon."""
    figure = Figure(figsize=(13.5, 4.3), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    rows = [c for c in found["curves"] if c["actions"] == 4 and c["horizon"] != "inf"]
    _lines(left, rows, "horizon")
    left.set(xlabel="rounds T", title="4 actions")
    for axes, horizon, title in ((middle, 20, "20 rounds"), (right, "inf", "T = inf, scaled")):
        rows = [c for c in found["curves"] if c["horizon"] == horizon]
        _lines(axes, rows, "actions")
        axes.set(xlabel="actions d", title=title)
    left.set_ylabel("eigenvalues of the Hessian at k*")
    left.legend(frameon=False)
    return figure


def _lines(axes: Axes, rows: list[dict], over: str) -> None:
    """One line per kind; the mixed block has three, in order, and with two actions the upper two."""
    for kind, color in zip(KINDS, COLORS, strict=False):
        curves = [[v for k, v in row["eigenvalues"] if k == kind] for row in rows]
        for place in range(3):
            points = [
                (r[over], sorted(c, reverse=True)[place])
                for r, c in zip(rows, curves, strict=True)
                if len(c) > place
            ]
            if points:
                label = kind if place == 0 else None
                axes.plot(*zip(*points, strict=True), ".-", ms=3, lw=1, color=color, label=label)
    axes.set(xscale="log", yscale="log")
    axes.grid(alpha=0.25, which="major", linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)


def main() -> None:
    """Search if asked, then draw from the file."""
    if "search" in sys.argv[1:]:
        FILE.write_text(json.dumps(search()) + "\n")
    draw(json.loads(FILE.read_text())).savefig(HERE / "curvature.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
