"""The paper's numbers compared with measured and exact values, with a verdict for each.

A number is the "same" if it is within two of the paper's standard deviations (or rounds to the paper's last digit),
"better" if it is lower and closer to the exact value (every quantity is a distance, a gap or a regret, so lower is
better), and otherwise it "differs".
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from regrax import theory
from regrax.experiments.runs import Measured
from regrax.paper.config import SEEDS
from regrax.paper.experiments import exponent
from regrax.paper.reproduction import Reproduction


class Reported(NamedTuple):
    """A number printed in the paper, and its standard deviation if reported."""

    value: float
    spread: float = 0.0

    def __str__(self) -> str:
        if self.spread == 0:
            return f"{self.value:g}"
        return f"{self.value:g} ± {self.spread:g}"


REPORTED = {
    "matching.step": Reported(0.4456, 0.0046),
    "matching.mse": Reported(0.000739, 0.000176),
    "matching.l1": Reported(0.0542, 0.0071),
    "matching.total_variation": Reported(0.0271, 0.0036),
    "matching.per_action": Reported(0.0181, 0.0024),
    "depth.regret.2": Reported(4.380, 0.046),
    "depth.regret.4": Reported(4.322, 0.017),
    "depth.regret.uniform": Reported(7.021, 0.052),
    "cce.1": Reported(0.0832, 0.0028),
    "cce.2": Reported(0.0467, 0.0095),
    "cce.4": Reported(0.0653, 0.0054),
    "cce.uniform": Reported(0.1111),
    "ce.calibrated": Reported(0.0627, 0.0018),
    "ce.blum_mansour": Reported(0.0617),
    "ce.uniform": Reported(0.1111),
    "ce.calibrated_swap": Reported(0.0956, 0.0068),
    "ce.uncalibrated": Reported(0.0968, 0.0049),
    "ce.uncalibrated_swap": Reported(0.1627, 0.0110),
}
"""The paper's numbers: three actions, twenty rounds, three seeds."""

SYSTEMS = {
    "ball": ("identity, L2 ball", "Euclidean FTRL", "1/sqrt(Td)"),
    "linear": ("softmax", "Hedge (entropy FTRL)", "1/sqrt(T)"),
    "swap": ("softmax columns, fixed point", "Blum-Mansour over Hedge", "1/sqrt(T)"),
}
"""For each model: its operator, the algorithm it converges to, and the order of its step."""

MEASURES = {
    "step": ("fitted step", 5),
    "mse": ("policy MSE", 8),
    "l1": ("mean L1 distance", 5),
    "loss": ("population loss", 4),
    "total_variation": ("total variation", 5),
    "per_action": ("error per action", 5),
}
"""For each measure of a trained model: its label and the number of digits to print."""


class Line(NamedTuple):
    """A row of the comparison, as text.

    Attributes:
        quantity: name of the quantity.
        paper: the paper's number, if there is one.
        ours: mean over the seeds, and its standard error.
        exact: exact value, where known.
        verdict: "same", "better" or "differs", and the reason.
    """

    quantity: str
    paper: str
    ours: str
    exact: str
    verdict: str


def spread(values: Sequence[float], digits: int = 4, samples: int | None = None) -> str:
    """Format a mean and its standard error.

    Args:
        values: measured values.
        digits: number of digits after the point.
        samples: number of independent values, by default all of them.

    >>> spread([0.1, 0.3])
    '0.2000 ± 0.1000'
    """
    mean = f"{np.mean(values):.{digits}f}"
    if len(values) == 1:
        return mean
    error = np.std(values, ddof=1) / (samples or len(values)) ** 0.5
    return f"{mean} ± {error:.{digits}f}"


def line(
    quantity: str,
    values: Sequence[float],
    why: str,
    *,
    reported: str | None = None,
    exact: float | None = None,
    digits: int = 4,
    samples: int | None = None,
) -> Line:
    """Compare measured values with the paper's number and the exact one.

    Args:
        quantity: name of the quantity.
        values: measured values, one per seed or pair of seeds.
        why: reason for a difference, or a note on a number that is not in the paper.
        reported: key of the paper's number in `REPORTED`, if there is one.
        exact: exact value, if known.
        digits: number of digits to print.
        samples: number of independent values, by default all of them.

    >>> line("uniform", [1 / 9], "", reported="ce.uniform").verdict
    'same'
    """
    ours = spread(values, digits, samples)
    known = ""
    if exact is not None:
        known = f"{exact:.{digits + 2}f}".rstrip("0").rstrip(".")
    if reported is None:
        return Line(quantity, "", ours, known, why)
    paper = REPORTED[reported]
    mean = float(np.mean(values))
    if abs(mean - paper.value) <= 2 * paper.spread + 10.0**-digits / 2:
        verdict = "same"
    elif exact is not None and abs(mean - exact) < paper.value - exact:
        verdict = f"better: {why}"
    else:
        verdict = f"differs: {why}"
    return Line(quantity, str(paper), ours, known, verdict)


def compare(reproduction: Reproduction) -> list[Line]:
    """Compare every number; the paper's numbers are left out if the sizes are not the paper's."""
    lines = [
        *_steps(reproduction),
        *_matching(reproduction),
        *_depth(reproduction),
        *_cce(reproduction),
        *_ce(reproduction),
        *_systems(reproduction),
    ]
    if reproduction.config.is_the_papers:
        return lines
    return [row._replace(paper="", verdict="") for row in lines]


def _steps(reproduction: Reproduction) -> Iterator[Line]:
    d, T = reproduction.config.actions, reproduction.config.horizon
    labels = {"single": "single head", "swap": "swap architecture"}
    for point in reproduction.step_size:
        cell = point.cell
        if (cell.actions, cell.horizon) == (d, T):
            label = labels[cell.architecture]
            why = f"Monte Carlo, {cell.runs} runs of {cell.samples} samples"
            yield line(f"k*({d}, {T}), {label}", point.steps, why, exact=point.exact)
            estimated, exact = exponent(reproduction.step_size, cell.architecture, d)
            why = "the paper claims -1/2 up to logarithms, but its figure has no numbers"
            yield line(f"exponent of k* in T, d = {d}, {label}", [estimated], why, exact=exact)


def measures(measured: Sequence[Measured], actions: int) -> dict[str, list[float]]:
    """Collect the measures in the paper's table: the nearest step, four distances from it, and the loss."""
    distances = [model.total_variation for model in measured]
    return {
        "step": [model.step_size for model in measured],
        "mse": [model.mse for model in measured],
        "l1": [2 * distance for distance in distances],
        "total_variation": distances,
        "per_action": [2 * distance / actions for distance in distances],
        "loss": [model.loss for model in measured],
    }


def _matching(reproduction: Reproduction) -> Iterator[Line]:
    if not reproduction.config.has("matching"):
        return
    d, T = reproduction.config.actions, reproduction.config.horizon
    step = theory.step_size(d, T)
    exact = {"step": step, "loss": theory.loss(step, d, T)}
    for name, values in measures(reproduction.measured["linear"], d).items():
        label, digits = MEASURES[name]
        if name == "loss":
            reported = None
            why = (
                f"exact: the minimum for one layer; for any policy: {theory.optimal_loss(d, T):.4f}"
            )
        else:
            reported = f"matching.{name}"
            why = (
                "training runs to convergence here, whereas the paper's stops short of the optimum"
            )
        known = exact.get(name, 0.0)
        yield line(label, values, why, reported=reported, exact=known, digits=digits)


def _last(curves: list[list[float]]) -> list[float]:
    return [curve[-1] for curve in curves]


def _depth(reproduction: Reproduction) -> Iterator[Line]:
    for depth in reproduction.depth:
        R_T = f"R_{reproduction.config.horizon}"
        last = {name: _last(policies.regret) for name, policies in depth.policies.items()}
        optimum = round(last["optimal"][0], 2)  # the optimal policy's regret on the same sequences
        why = "models are trained here until they are close to the optimal policy"
        for layers in ("2", "4"):
            values = last[f"transformer-{layers}"]
            key = f"depth.regret.{layers}"
            text = f"{R_T} on biased losses, {layers} layers"
            yield line(text, values, why, reported=key, exact=optimum)
        yield line(f"{R_T}, uniform play", last["uniform"], "", reported="depth.regret.uniform")
        why = "exact: the lower bound for any policy"
        for name, policies in depth.policies.items():
            if name.startswith("transformer"):
                text = f"population loss, {name.removeprefix('transformer-')} layers"
                yield line(text, policies.loss, why, exact=depth.optimal_loss)


def _cce(reproduction: Reproduction) -> Iterator[Line]:
    if not reproduction.config.has("cce"):
        return
    for result in reproduction.equilibrium:
        gaps = {name: _last(kinds["cce_gap"]) for name, kinds in result.gaps.items()}
        why = "at convergence one layer plays Hedge at k*; the paper's gap matches a longer step"
        yield line(
            "CCE gap, 1 layer",
            gaps["linear"],
            why,
            reported="cce.1",
            exact=gaps["hedge"][0],
            samples=SEEDS,
        )
        why = "after so few rounds a deep model's gap depends on its seed"
        for layers in ("2", "4"):
            values = gaps[f"transformer-{layers}"]
            text = f"CCE gap, {layers} layers"
            yield line(text, values, why, reported=f"cce.{layers}", samples=SEEDS)
        yield line("CCE gap, uniform play", gaps["uniform"], "", reported="cce.uniform")


def _ce(reproduction: Reproduction) -> Iterator[Line]:
    if not reproduction.config.has("ce"):
        return
    d = reproduction.config.actions
    reasons = {
        "calibrated": f"at convergence the heads play Blum-Mansour at {d} k*",
        "uncalibrated": f"at convergence they play Blum-Mansour at k*, 1/{d} of the step they need",
    }
    for result in reproduction.equilibrium:
        for name, why in reasons.items():
            for gap, label, suffix in (("ce_gap", "CE", ""), ("swap_gap", "full-swap", "_swap")):
                exact = None
                if name == "calibrated":
                    exact = _last(result.gaps["blum_mansour_best"][gap])[0]
                yield line(
                    f"{label} gap, {name} heads",
                    _last(result.gaps[name][gap]),
                    why,
                    reported=f"ce.{name}{suffix}",
                    exact=exact,
                    samples=SEEDS,
                )
        closed = _last(result.gaps["closed"]["ce_gap"])
        why = "trained through the fixed point on real play, without calibration"
        yield line("CE gap, closed-loop heads", closed, why, samples=SEEDS)
        for name, text in (("blum_mansour", "classical Blum-Mansour"), ("uniform", "uniform play")):
            values = _last(result.gaps[name]["ce_gap"])
            yield line(f"CE gap, {text}", values, "", reported=f"ce.{name}")


def _systems(reproduction: Reproduction) -> Iterator[Line]:
    for systems in reproduction.table_one:
        for name, (operator, _, order) in SYSTEMS.items():
            values = [model.step_size for model in reproduction.measured[name]]
            why = f"the paper gives the order, {order}, but no number"
            yield line(f"step, {operator}", values, why, exact=systems.steps[name])
