"""The paper's numbers compared with measured and exact values, with a verdict for each.

A number is the "same" if it is within two of the paper's standard deviations (or rounds to the paper's last digit),
"better" if it is lower and closer to the exact value (every quantity is a distance, a gap or a regret, so lower is
better), and otherwise it "differs".
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from regrax import theory
from regrax.experiments.runs import Measured
from regrax.paper.config import SEEDS
from regrax.paper.reproduction import Reproduction

REPORTED = {
    "fitted step": "0.4456 ± 0.0046",
    "policy MSE": "0.000739 ± 0.000176",
    "mean L1 distance": "0.0542 ± 0.0071",
    "total variation": "0.0271 ± 0.0036",
    "error per action": "0.0181 ± 0.0024",
    "R_20 on biased losses, 2 layers": "4.38 ± 0.046",
    "R_20 on biased losses, 4 layers": "4.322 ± 0.017",
    "R_20, uniform play": "7.021 ± 0.052",
    "CCE gap, 1 layer": "0.0832 ± 0.0028",
    "CCE gap, 2 layers": "0.0467 ± 0.0095",
    "CCE gap, 4 layers": "0.0653 ± 0.0054",
    "CCE gap, uniform play": "0.1111",
    "CE gap, calibrated heads": "0.0627 ± 0.0018",
    "CE gap, classical Blum-Mansour": "0.0617",
    "CE gap, uniform play": "0.1111",
    "full-swap gap, calibrated heads": "0.0956 ± 0.0068",
    "CE gap, uncalibrated heads": "0.0968 ± 0.0049",
    "full-swap gap, uncalibrated heads": "0.1627 ± 0.011",
}
"""The paper's numbers by quantity, with standard deviations: three actions, twenty rounds, three seeds."""

CLAIMS = {
    "fitted step": "One layer trained on its squared regret finds the stationary step k*.",
    "total variation": "It plays like Hedge at that step (smoothed fictitious play).",
    "R_{} on biased losses, 4 layers": "Deeper models have less regret when one action is better.",
    "CCE gap, 1 layer": "In self-play it approaches a coarse correlated equilibrium.",
    "CE gap, calibrated heads": "Trained on swap regret, it approaches a correlated equilibrium.",
}
"""The paper's claims, each by the quantity that represents it."""

VERDICTS = ("same", "better", "differs")

SYSTEMS = {
    "ball": ("identity, L2 ball", "Euclidean FTRL", "1/sqrt(Td)"),
    "linear": ("softmax", "Hedge (entropy FTRL)", "1/sqrt(T)"),
    "swap": ("softmax columns, fixed point", "Blum-Mansour over Hedge", "1/sqrt(T)"),
}
"""For each model: its operator, the algorithm it converges to, and the order of its step."""

MEASURES: dict[str, tuple[int, Callable[[Measured, int], float]]] = {
    "fitted step": (5, lambda model, d: model.step_size),
    "policy MSE": (8, lambda model, d: model.mse),
    "mean L1 distance": (5, lambda model, d: 2 * model.total_variation),
    "total variation": (5, lambda model, d: model.total_variation),
    "error per action": (5, lambda model, d: 2 * model.total_variation / d),
    "population loss": (4, lambda model, d: model.loss),
}
"""The paper's measures of a trained model with d actions, each with the number of digits to print."""


ONE_LAYER = "at convergence one layer plays Hedge at k*; the paper's gap matches a longer step"
DEEP = "after so few rounds a deep model's gap depends on its seed"
CALIBRATED = "at convergence the heads play Blum-Mansour at {d} k*"
UNCALIBRATED = "at convergence they play Blum-Mansour at k*, 1/{d} of the step they need"
CLOSED = "trained through the fixed point on real play, without calibration"
GAPS = {
    "CCE gap, 1 layer": ("linear", ONE_LAYER, "hedge"),
    "CCE gap, 2 layers": ("transformer-2", DEEP, None),
    "CCE gap, 4 layers": ("transformer-4", DEEP, None),
    "CCE gap, uniform play": ("uniform", "", None),
    "CE gap, calibrated heads": ("calibrated", CALIBRATED, "blum_mansour_best"),
    "full-swap gap, calibrated heads": ("calibrated", CALIBRATED, "blum_mansour_best"),
    "CE gap, uncalibrated heads": ("uncalibrated", UNCALIBRATED, None),
    "full-swap gap, uncalibrated heads": ("uncalibrated", UNCALIBRATED, None),
    "CE gap, closed-loop heads": ("closed", CLOSED, None),
    "CE gap, classical Blum-Mansour": ("blum_mansour", "", None),
    "CE gap, uniform play": ("uniform", "", None),
}
"""For each gap after the last round: whose it is, why it may differ, and the learner whose gap is the exact one."""
KINDS = {"CCE gap": "cce_gap", "CE gap": "ce_gap", "full-swap gap": "swap_gap"}


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

    @property
    def word(self) -> str:
        """The verdict without its reason; empty if the paper has no number."""
        if not self.paper:
            return ""
        return self.verdict.partition(":")[0]

    @property
    def why(self) -> str:
        """The reason in the verdict."""
        return self.verdict.partition(": ")[2]


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
    why: str = "",
    *,
    exact: float | None = None,
    digits: int = 4,
    samples: int | None = None,
) -> Line:
    """Compare measured values with the paper's number and the exact one.

    Args:
        quantity: name of the quantity, as in `REPORTED` if the paper has a number.
        values: measured values, one per seed or pair of seeds.
        why: reason for a difference, or a note on a number that is not in the paper.
        exact: exact value, if known.
        digits: number of digits to print.
        samples: number of independent values, by default all of them.

    >>> line("CE gap, uniform play", [1 / 9]).verdict
    'same'
    """
    ours = spread(values, digits, samples)
    known = ""
    if exact is not None:
        known = f"{exact:.{digits + 2}f}".rstrip("0").rstrip(".")
    paper = REPORTED.get(quantity)
    if paper is None:
        return Line(quantity, "", ours, known, why)
    reported, _, deviation = paper.partition(" ± ")
    mean = float(np.mean(values))
    if abs(mean - float(reported)) <= 2 * float(deviation or 0) + 10.0**-digits / 2:
        verdict = "same"
    elif exact is not None and abs(mean - exact) < float(reported) - exact:
        verdict = f"better: {why}"
    else:
        verdict = f"differs: {why}"
    return Line(quantity, paper, ours, known, verdict)


def exponent(horizons: Sequence[float], values: Sequence[float]) -> float:
    """Fit the power of T with which values grow; 0 if fewer than two are positive.

    >>> exponent([10, 20, 50], [1.0, 2.0, 5.0])
    1.0
    """
    positive = np.asarray(values) > 0
    if positive.sum() < 2:
        return 0.0
    rounds = np.log(np.asarray(horizons)[positive])
    return float(np.polyfit(rounds, np.log(np.asarray(values)[positive]), 1)[0])


def compare(reproduction: Reproduction) -> list[Line]:
    """Compare every number; the paper's numbers are left out if the sizes are not the paper's."""
    lines = [
        *_steps(reproduction),
        *_matching(reproduction),
        *_depth(reproduction),
        *_gaps(reproduction),
        *_systems(reproduction),
    ]
    if reproduction.config.is_the_papers:
        return lines
    return [row._replace(paper="", verdict="") for row in lines]


def claims_of(lines: Sequence[Line], horizon: int) -> list[tuple[str, Line]]:
    """Return the claims of the paper, in its order, each with the number that represents it."""
    claims = []
    for quantity, claim in CLAIMS.items():
        for row in lines:
            if row.quantity == quantity.format(horizon):
                claims.append((claim, row))
    return claims


def count_verdicts(lines: Sequence[Line]) -> dict[str, int]:
    """Count the verdicts on the numbers in the paper; empty if there are none."""
    words = [row.word for row in lines if row.paper]
    if not words:
        return {}
    return {verdict: words.count(verdict) for verdict in VERDICTS}


def _steps(reproduction: Reproduction) -> Iterator[Line]:
    d, T = reproduction.config.actions, reproduction.config.horizon
    for architecture, label in (("single", "single head"), ("swap", "swap architecture")):
        curve = {}
        for point in reproduction.step_size:
            if (point.cell.architecture, point.cell.actions) == (architecture, d):
                curve[point.cell.horizon] = point
        if T in curve:
            here = curve[T]
            why = f"Monte Carlo, {here.cell.runs} runs of {here.cell.samples} samples"
            yield line(f"k*({d}, {T}), {label}", here.steps, why, exact=here.exact)
            estimated = exponent([*curve], [point.mean for point in curve.values()])
            exact = exponent([*curve], [point.exact for point in curve.values()])
            why = "the paper claims -1/2 up to logarithms, but its figure has no numbers"
            yield line(f"exponent of k* in T, d = {d}, {label}", [estimated], why, exact=exact)


def _matching(reproduction: Reproduction) -> Iterator[Line]:
    if not reproduction.config.has("matching"):
        return
    d, T = reproduction.config.actions, reproduction.config.horizon
    step = theory.step_size(d, T)
    exact = {"fitted step": step, "population loss": theory.loss(step, d, T)}
    for label, (digits, measure) in MEASURES.items():
        values = [measure(model, d) for model in reproduction.measured["linear"]]
        why = "training runs to convergence here, whereas the paper's stops short of the optimum"
        if label == "population loss":
            bound = theory.optimal_loss(d, T)
            why = f"exact: the minimum for one layer; for any policy: {bound:.4f}"
        yield line(label, values, why, exact=exact.get(label, 0.0), digits=digits)


def _last(curves: list[list[float]]) -> list[float]:
    return [curve[-1] for curve in curves]


def _depth(reproduction: Reproduction) -> Iterator[Line]:
    R_T = f"R_{reproduction.config.horizon}"
    for depth in reproduction.depth:
        last = {name: _last(policies.regret) for name, policies in depth.policies.items()}
        optimum = round(last["optimal"][0], 2)  # the optimal policy's regret on the same sequences
        why = "models are trained here until they are close to the optimal policy"
        for layers in ("2", "4"):
            text = f"{R_T} on biased losses, {layers} layers"
            yield line(text, last[f"transformer-{layers}"], why, exact=optimum)
        yield line(f"{R_T}, uniform play", last["uniform"])
        why = "exact: the lower bound for any policy"
        for name, policies in depth.policies.items():
            if name.startswith("transformer"):
                text = f"population loss, {name.removeprefix('transformer-')} layers"
                yield line(text, policies.loss, why, exact=depth.optimal_loss)


def _gaps(reproduction: Reproduction) -> Iterator[Line]:
    config = reproduction.config
    for result in reproduction.equilibrium:
        for quantity, (learner, why, best) in GAPS.items():
            kind = KINDS[quantity.partition(",")[0]]
            if config.has("cce" if kind == "cce_gap" else "ce"):
                values = _last(result.gaps[learner][kind])
                exact = _last(result.gaps[best][kind])[0] if best else None
                reason = why.format(d=config.actions)
                yield line(quantity, values, reason, exact=exact, samples=SEEDS)


def _systems(reproduction: Reproduction) -> Iterator[Line]:
    for systems in reproduction.table_one:
        for name, (operator, _, order) in SYSTEMS.items():
            values = [model.step_size for model in reproduction.measured[name]]
            why = f"the paper gives the order, {order}, but no number"
            yield line(f"step, {operator}", values, why, exact=systems.steps[name])
