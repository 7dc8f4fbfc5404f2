r"""Make the explorer's data files: `make explorer-data`, or `python -m tools.explorer_data [theory] [trained]`.

The page cannot compute these numbers itself. `theory.js` holds $\sqrt{T}\,k^*(d, T)$ with its error (listed for short
horizons, a Chebyshev polynomial in $1/T$ beyond) and the loss curve $L(k)$ with $L^*$. `trained.js` holds a linear
layer at several moments of its training, and trained swap heads. `make explorer` builds them into the page.
"""

import json
import math
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
from numpy.polynomial import chebyshev

from regrax import theory
from regrax.attention import LinearAttention, SwapAttention
from regrax.training import RegretObjective, SwapRegretObjective, fit

DATA = Path(__file__).parents[1] / "explorer/src/data"
MAX_ACTIONS = 12
FROM = 16  # the horizon from which the polynomial holds
DEGREE = 9
FITTED = (*range(16, 21), 22, 24, 26, 29, 32, 37, 43, 52, 65, 90, 140, 300, 1000, 10_000, math.inf)
CHECKED = (21, 23, 28, 35, 47, 58, 77, 110, 200, 500, 3000)
ACTIONS, HORIZON = 3, 20
SNAPSHOTS = (*range(0, 100, 5), *range(100, 200, 10), *range(200, 400, 25), *range(400, 1001, 100))
SEED = 0


def scaled_step(actions: int, horizon: int | float) -> float:
    r"""$\sqrt{T}\,k^*(d, T)$, and its limit $c^*(d)$ for an infinite horizon."""
    root = 1.0 if math.isinf(horizon) else math.sqrt(horizon)
    return root * theory.step_size(actions, horizon)


def _place(horizons: Any) -> Any:
    """Map $1/T$ to [-1, 1]."""
    return 2 * FROM / np.asarray(horizons, float) - 1


def step_table() -> dict[str, Any]:
    """Scaled steps per number of actions, with ten times the largest error of the polynomial between its nodes."""
    rows = {}
    error = 0.0
    for actions in range(2, MAX_ACTIONS + 1):
        listed = [scaled_step(actions, horizon) for horizon in range(2, FROM)]
        fitted = [scaled_step(actions, horizon) for horizon in FITTED]
        exact = np.array([scaled_step(actions, horizon) for horizon in CHECKED])
        beyond = chebyshev.chebfit(_place(FITTED), fitted, DEGREE)
        between = chebyshev.chebval(_place(CHECKED), beyond)
        error = max(error, float(np.abs(between / exact - 1).max()))
        rows[actions] = {"listed": listed, "beyond": beyond.tolist()}
    return {"from": FROM, "error": float(f"{10 * error:.0e}"), "actions": rows}


def loss_curve(actions: int) -> dict[str, Any]:
    """$L(k)$ on a grid of steps and at $k^*$, and the lower bound for any policy."""
    steps = [round(0.02 * i, 2) for i in range(1, 61)]
    losses = [theory.loss(k, actions, HORIZON) for k in steps]
    best = theory.step_size(actions, HORIZON)
    return {
        "horizon": HORIZON,
        "steps": [0.0, *steps],
        "losses": [theory.uniform_loss(actions, HORIZON), *losses],
        "step": best,
        "loss": theory.loss(best, actions, HORIZON),
        "least": theory.optimal_loss(actions, HORIZON),
    }


def trained_linear() -> list[dict[str, Any]]:
    """A linear layer at the steps in `SNAPSHOTS`."""
    start = LinearAttention(ACTIONS, key=jax.random.key(SEED))
    taken = [{"step": 0, **_arrays(start)}]

    def keep(report: Any) -> None:
        if report.step in SNAPSHOTS:
            taken.append({"step": report.step, **_arrays(report.state.average)})

    objective = RegretObjective(ACTIONS, HORIZON)
    fit(start, objective, key=jax.random.key(SEED + 1), every=5, callback=keep)
    return taken


def trained_swap() -> dict[str, Any]:
    """Swap heads after training; the page calibrates them."""
    start = SwapAttention(ACTIONS, key=jax.random.key(SEED))
    fitted = fit(start, SwapRegretObjective(ACTIONS, HORIZON), key=jax.random.key(SEED + 1))
    return _arrays(fitted.model)


def _arrays(model: Any) -> dict[str, Any]:
    return {name: _digits(getattr(model, name)) for name in ("values", "scores", "bias")}


def _digits(array: Any) -> Any:
    """Round to six significant digits, more than training determines."""
    return np.vectorize(lambda x: float(f"{x:.6g}"))(np.asarray(array, float)).tolist()


def _write(name: str, about: str, **constants: Any) -> None:
    lines = [f"export const {key} = {json.dumps(value)};" for key, value in constants.items()]
    made = "Made by `python -m tools.explorer_data`."
    (DATA / name).write_text("\n".join([f"// {about} {made}", "", *lines, ""]))


def write_theory() -> None:
    """Write the exact numbers."""
    curves = {actions: loss_curve(actions) for actions in (2, 3, 4, 5)}
    _write("theory.js", "Exact numbers of the theory.", STEPS=step_table(), LOSSES=curves)


def write_trained() -> None:
    """Train the layers and write them."""
    about = f"Layers trained on regret, {ACTIONS} actions, {HORIZON} rounds."
    _write("trained.js", about, LINEAR=trained_linear(), SWAP=trained_swap())


def main() -> None:
    """Write the files named in the command, or both."""
    writers = {"theory": write_theory, "trained": write_trained}
    for name in sys.argv[1:] or writers:
        writers[name]()


if __name__ == "__main__":
    main()
