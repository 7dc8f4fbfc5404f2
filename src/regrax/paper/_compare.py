"""The comparison: what the paper printed, what was measured here, what is exact, and the verdict that follows."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from regrax import theory
from regrax.experiments.runs import Measured
from regrax.paper._reported import REPORTED
from regrax.paper._step_size import exponent

if TYPE_CHECKING:
    from regrax.paper._reproduce import Reproduction

SYSTEMS = {
    "ball": ("identity, L2 ball", "Euclidean FTRL", "1/sqrt(Td)"),
    "linear": ("softmax", "Hedge (entropy FTRL)", "1/sqrt(T)"),
    "swap": ("softmax columns, fixed point", "Blum-Mansour over Hedge", "1/sqrt(T)"),
}
"""By model the operator, the algorithm that it is, and the order of its step."""


class Line(NamedTuple):
    """A row of the comparison: texts, ready to print.

    Attributes:
        quantity: what it is.
        paper: what the paper printed.
        ours: what was measured here.
        exact: by theory, where known.
        verdict: that follows from these.
    """

    quantity: str
    paper: str
    ours: str
    exact: str
    verdict: str


def spread(values: Sequence[float], digits: int = 4) -> str:
    """The mean, and the standard deviation where there are several.

    >>> spread([0.1, 0.3])
    '0.2000 ± 0.1414'
    """
    more = f" ± {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{more}"


def line(
    quantity: str,
    values: Sequence[float],
    why: str,
    *,
    reported: str | None = None,
    exact: float | None = None,
    digits: int = 4,
) -> Line:
    """Compare `values` (one per seed or pair) with the paper's number and the exact one.

    The verdict is "matches" within two of the paper's spreads (or its last digit), "better" when ours is less (of
    distances, gaps and regrets less is better) and nearer to the exact number, else "differs".

    Args:
        quantity: What it is.
        values: What was measured here.
        why: In one sentence, where a difference comes from.
        reported: The name of the paper's number, if it has one.
        exact: The exact number, if it is known.
        digits: To print.

    >>> line("uniform", [1 / 9], "", reported="ce.uniform").verdict
    'matches'
    """
    ours = float(np.mean(values))
    known = "" if exact is None else f"{exact:.{digits + 2}f}".rstrip("0").rstrip(".")
    if reported is None:
        return Line(quantity, "", spread(values, digits), known, why)
    paper = REPORTED[reported]
    if abs(ours - paper.value) <= 2 * (paper.spread or 0) + 10.0**-digits / 2:
        verdict = "matches"
    else:
        better = exact is not None and abs(ours - exact) < paper.value - exact
        verdict = f"{'better' if better else 'differs'}: {why}"
    return Line(quantity, str(paper), spread(values, digits), known, verdict)


def compare(reproduction: "Reproduction") -> list[Line]:
    """Every line, without the paper's numbers where the sizes are not the paper's."""
    parts = (_steps, _matching, _depth, _cce, _ce, _systems)
    lines = [line for part in parts for line in part(reproduction)]
    if reproduction.config.is_the_papers:
        return lines
    return [one._replace(paper="", verdict="") for one in lines]


def _steps(reproduction: "Reproduction") -> Iterator[Line]:
    sizes = d, T = reproduction.config.actions, reproduction.config.horizon
    labels = {"single": "single head", "swap": "swap architecture"}
    for one in reproduction.step_size:
        at, label = one.cell, labels[one.cell.architecture]
        if (at.actions, at.horizon) == sizes:
            why = f"Monte Carlo over {at.runs} runs of {at.samples} samples; ± is the SD of one run"
            yield line(f"k*({d}, {T}), {label}", one.steps, why, exact=one.exact)
            mean, exact = exponent(reproduction.step_size, at.architecture, d)
            why = "the paper's claim is -1/2 up to logarithms, from a figure without numbers"
            yield line(f"exponent of k* in T, d = {d}, {label}", [mean], why, exact=exact)


MEASURES = {
    "step": ("fitted step", 5), "mse": ("policy MSE", 8), "l1": ("mean L1 distance", 5),
    "loss": ("population loss", 4), "total_variation": ("total variation", 5), "per_action": ("error per action", 5),
}  # fmt: skip
"""The label of each measure, and how many digits it is printed with."""


def measures(measured: Sequence[Measured], actions: int) -> dict[str, list[float]]:
    """What the paper's table has of each model: the nearest step, four distances from it, and the loss."""
    near = [one.total_variation for one in measured]
    return {
        "step": [one.step_size for one in measured],
        "mse": [one.mse for one in measured],
        "l1": [2 * tv for tv in near],
        "total_variation": near,
        "per_action": [2 * tv / actions for tv in near],
        "loss": [one.loss for one in measured],
    }


def _matching(reproduction: "Reproduction") -> Iterator[Line]:
    if not reproduction.config.has("matching"):
        return
    d, T = reproduction.config.actions, reproduction.config.horizon
    step = theory.step_size(d, T)
    exact = {"step": step, "loss": theory.loss(step, d, T)}
    here = "training here runs to convergence, the paper's stops short of the optimum"
    best = "one layer can do no better than the exact value; the best possible policy has"
    best = f"{best} {theory.optimal_loss(d, T):.4f}"
    for name, values in measures(reproduction.measured["linear"], d).items():
        (label, digits), known = MEASURES[name], exact.get(name, 0.0)
        reported, why = (None, best) if name == "loss" else (f"matching.{name}", here)
        yield line(label, values, why, reported=reported, exact=known, digits=digits)


def _last(curves: list[list[float]]) -> list[float]:
    """What every curve ends at."""
    return [curve[-1] for curve in curves]


def _depth(reproduction: "Reproduction") -> Iterator[Line]:
    for depth in reproduction.depth:
        last = {name: _last(one.regret) for name, one in depth.policies.items()}
        at, limit = f"R_{reproduction.config.horizon}", last["optimal"][0]
        why = "the models here are trained until they are near the best possible policy"
        for layers in ("2", "4"):
            text, values = f"{at} on biased losses, {layers} layers", last[f"transformer-{layers}"]
            yield line(text, values, why, reported=f"depth.regret.{layers}", exact=limit)
        yield line(f"{at}, uniform play", last["uniform"], "", reported="depth.regret.uniform")
        why = "exact: the loss of the best possible policy, which no model can beat"
        for name, one in depth.policies.items():
            if name.startswith("transformer"):
                text = f"population loss, {name.removeprefix('transformer-')} layers"
                yield line(text, one.loss, why, exact=depth.optimal_loss)


def _cce(reproduction: "Reproduction") -> Iterator[Line]:
    for one in reproduction.equilibrium if reproduction.config.has("cce") else ():
        final = {name: _last(gaps["cce_gap"]) for name, gaps in one.gaps.items()}
        why = "converged one-layer play is Hedge at k*, the exact value; the paper's gap is that of a longer step"
        best = final["hedge"][0]
        yield line("CCE gap, 1 layer", final["linear"], why, reported="cce.1", exact=best)
        why = "the gap after so few rounds says little about training: models differ by seed"
        for layers in ("2", "4"):
            values = final[f"transformer-{layers}"]
            yield line(f"CCE gap, {layers} layers", values, why, reported=f"cce.{layers}")
        yield line("CCE gap, uniform play", final["uniform"], "", reported="cce.uniform")


def _ce(reproduction: "Reproduction") -> Iterator[Line]:
    d = reproduction.config.actions
    why = {
        "calibrated": f"heads trained to convergence play Blum-Mansour at {d} k*, the exact value",
        "uncalibrated": f"at convergence uncalibrated heads play Blum-Mansour at k*, 1/{d} of the step they need",
    }
    for one in reproduction.equilibrium if reproduction.config.has("ce") else ():
        for name, reason in why.items():
            for gap, text, more in (("ce_gap", "CE", ""), ("swap_gap", "full-swap", "_swap")):
                best = _last(one.gaps["blum_mansour_best"][gap])[0]
                best = best if name == "calibrated" else None
                values, reported = _last(one.gaps[name][gap]), f"ce.{name}{more}"
                yield line(
                    f"{text} gap, {name} heads", values, reason, reported=reported, exact=best
                )
        reason = "trained through the fixed point on real play, no calibration"
        yield line("CE gap, closed-loop heads", _last(one.gaps["closed"]["ce_gap"]), reason)
        for name, text in (("blum_mansour", "classical Blum-Mansour"), ("uniform", "uniform play")):
            values = _last(one.gaps[name]["ce_gap"])
            yield line(f"CE gap, {text}", values, "", reported=f"ce.{name}")


def _systems(reproduction: "Reproduction") -> Iterator[Line]:
    for one in reproduction.table_one:
        for name, (operator, _, scale) in SYSTEMS.items():
            values = [measured.step_size for measured in reproduction.measured[name]]
            why = f"the paper gives the order, {scale}, and no number"
            yield line(f"step, {operator}", values, why, exact=one.steps[name])
