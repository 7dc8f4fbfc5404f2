r"""The numbers that the page cannot compute for itself, written once: `python -m regrax.show.explorer._tables`.

`web/src/data/theory.js` holds $\sqrt{T}\,k^*(d, T)$ with its error (listed for short horizons, a Chebyshev polynomial in $1/T$
beyond) and the loss curve $L(k)$ with $L^*$; `web/src/data/trained.js` a linear layer on its way through training, and swap
heads.
"""

import json
import math
from pathlib import Path
from typing import Any

import jax
import numpy as np
from numpy.polynomial import chebyshev

from regrax import theory
from regrax.attention import LinearAttention, SwapAttention
from regrax.training import RegretObjective, SwapRegretObjective, fit

DATA = Path(__file__).parent / "web" / "src" / "data"
MAX_ACTIONS = 12
FROM = 16  # the horizon from which the polynomial holds
DEGREE = 9
FITTED = (*range(16, 21), 22, 24, 26, 29, 32, 37, 43, 52, 65, 90, 140, 300, 1000, 10_000, math.inf)
CHECKED = (21, 23, 28, 35, 47, 58, 77, 110, 200, 500, 3000)
ACTIONS, HORIZON = 3, 20
SNAPSHOTS = (0, 5, 10, 20, 40, 80, 160, 400, 1000)
SEED = 0


def scaled_step(actions: int, horizon: int | float) -> float:
    r"""$\sqrt{T}\,k^*(d, T)$, and its limit $c^*(d)$ for an infinite horizon."""
    root = 1.0 if math.isinf(horizon) else math.sqrt(horizon)
    return root * theory.step_size(actions, horizon)


def _place(horizons: Any) -> Any:
    """$1/T$ moved to [-1, 1]."""
    return 2 * FROM / np.asarray(horizons, float) - 1


def step_table() -> dict[str, Any]:
    """Per number of actions what is listed and the polynomial, and a bound on its error where it was not fitted."""
    rows, error = {}, 0.0
    for actions in range(2, MAX_ACTIONS + 1):
        listed, fitted, exact = (
            [scaled_step(actions, horizon) for horizon in horizons]
            for horizons in (range(2, FROM), FITTED, CHECKED)
        )
        beyond = chebyshev.chebfit(_place(FITTED), fitted, DEGREE)
        found = chebyshev.chebval(_place(CHECKED), beyond)
        error = max(error, float(np.abs(found / np.array(exact) - 1).max()))
        rows[actions] = {"listed": listed, "beyond": beyond.tolist()}
    return {
        "from": FROM,
        "error": float(f"{10 * error:.0e}"),
        "actions": rows,
    }  # ten times what was seen


def loss_curve(actions: int) -> dict[str, Any]:
    """$L(k)$ on a grid of steps, at $k^*$, and the least that any policy can have."""
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
    """The layer at a few moments of its training."""
    start = LinearAttention(ACTIONS, key=jax.random.key(SEED))
    taken = [{"step": 0, **_arrays(start)}]

    def keep(report: Any) -> None:
        if report.step in SNAPSHOTS:
            taken.append({"step": report.step, **_arrays(report.state.average)})

    objective = RegretObjective(ACTIONS, HORIZON)
    fit(start, objective, key=jax.random.key(SEED + 1), every=5, callback=keep)
    return taken


def trained_swap() -> dict[str, Any]:
    """The heads after training; they are calibrated when they take a seat."""
    start = SwapAttention(ACTIONS, key=jax.random.key(SEED))
    fitted = fit(start, SwapRegretObjective(ACTIONS, HORIZON), key=jax.random.key(SEED + 1))
    return _arrays(fitted.model)


def _arrays(model: Any) -> dict[str, Any]:
    return {name: _digits(getattr(model, name)) for name in ("values", "scores", "bias")}


def _digits(array: Any) -> Any:
    """Six significant digits: what training settles is fewer."""
    return np.vectorize(lambda x: float(f"{x:.6g}"))(np.asarray(array, float)).tolist()


def _write(name: str, about: str, **constants: Any) -> None:
    lines = [f"export const {key} = {json.dumps(value)};" for key, value in constants.items()]
    made = "Made by `python -m regrax.show.explorer._tables`."
    (DATA / name).write_text("\n".join([f"// {about} {made}", "", *lines, ""]))


def main() -> None:
    """Write both files."""
    curves = {actions: loss_curve(actions) for actions in (2, 3, 4, 5)}
    _write("theory.js", "Exact numbers of the theory.", STEPS=step_table(), LOSSES=curves)
    about = f"Layers trained on regret, {ACTIONS} actions, {HORIZON} rounds."
    _write("trained.js", about, LINEAR=trained_linear(), SWAP=trained_swap())


if __name__ == "__main__":
    main()
