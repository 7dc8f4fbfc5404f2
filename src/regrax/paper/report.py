"""The reproduction's report page: figures first, the full table last, with claims derived from the numbers."""

from collections.abc import Sequence

import numpy as np

from regrax import _checks as checks
from regrax.paper.comparison import (
    MEASURES,
    SYSTEMS,
    Line,
    claims_of,
    compare,
    count_verdicts,
    exponent,
    spread,
)
from regrax.paper.experiments import Equilibrium
from regrax.paper.reproduction import Reproduction
from regrax.show.report import (
    ARCHITECTURE,
    Answer,
    Chart,
    Section,
    Series,
    Table,
    Ternary,
    render,
)

ROUNDING = 1e-9
POLICIES = {
    "uniform": "uniform play",
    "hedge": "Hedge at k*",
    "optimal": "best possible policy",
    "linear": "1 layer",
    "transformer-2": "2 layers",
    "transformer-4": "4 layers",
    "transformer-2-hindsight": "2 layers, hindsight loss",
    "transformer-4-hindsight": "4 layers, hindsight loss",
    "calibrated": "learned heads, calibrated",
    "uncalibrated": "uncalibrated",
    "closed": "closed loop",
    "blum_mansour": "Blum-Mansour, classical step",
}
"""Labels of learners."""


def paper_page(reproduction: Reproduction) -> str:
    """Render the reproduction as a self-contained HTML page."""
    checks.instance("reproduction", reproduction, Reproduction, "the result of reproduce")
    d, T = reproduction.config.actions, reproduction.config.horizon
    lines = compare(reproduction)
    lead = [
        f"This page repeats the experiments of Park and Ozdaglar with {d} actions and {T} rounds, "
        "and compares them with exact theory."
    ]
    counts = count_verdicts(lines)
    if counts:
        lead[0] += (
            f" Of {sum(counts.values())} numbers in the paper, {counts['same']} are the same here, "
            f"{counts['better']} are lower and closer to theory, and {counts['differs']} differ."
        )
    if reproduction.config.quick:
        lead.append(
            "This is the quick run, with fewer samples and shorter training; the conclusions are the same."
        )
    if not reproduction.config.is_the_papers:
        lead.append("The paper reports numbers only for three actions and twenty rounds.")
    versions = ", ".join(f"{name} {number}" for name, number in reproduction.versions.items())
    title = "Regret-trained attention, reproduced"
    sections = [
        make(reproduction) for name, make in SECTIONS.items() if reproduction.config.has(name)
    ]
    note = "± is one standard error over three seeds, each tested on its own sequences."
    table = Table(("quantity", "paper", "here", "exact", "verdict"), lines)
    sections.append(Section("numbers", "Every number", [note], tables=[table]))
    answers = [_answer(claim, row) for claim, row in claims_of(lines, T)]
    return render(title, lead, sections, f"Made with {versions}.", answers=answers)


def _answer(claim: str, row: Line) -> Answer:
    """Return a claim of the paper with its number there, here and in theory."""
    where = {"paper": row.paper, "here": row.ours, "exact": row.exact}
    numbers = ", ".join(f"{name} {value}" for name, value in where.items() if value)
    sentence = f"{claim.removesuffix('.')} ({row.quantity}: {numbers})."
    match row.word:
        case "same":
            return Answer(sentence, "reproduced", "good")
        case "better":
            return Answer(sentence, "reproduced, closer to theory", "good")
        case "differs":
            return Answer(f"{sentence} Why: {row.why}.", "number differs", "bad")
    return Answer(sentence)


def _step_size(reproduction: Reproduction) -> Section:
    caption = (
        "Points show the mean of the Monte Carlo estimates, bars one standard deviation of a run."
    )
    panels = []
    spreads = {}
    for name, title in (("single", "Single softmax head"), ("swap", "Swap architecture")):
        points = [point for point in reproduction.step_size if point.cell.architecture == name]
        spreads[name] = np.mean([point.spread / point.exact for point in points])
        series = []
        for color, d in enumerate(sorted({point.cell.actions for point in points})):
            curve = [
                (point.cell.horizon, point.exact, point.mean, point.spread)
                for point in points
                if point.cell.actions == d
            ]
            rounds, exact, means, bars = zip(*curve, strict=True)
            series.append(Series(f"d = {d}, exact", rounds, exact, color=color))
            series.append(Series(f"d = {d}", rounds, means, bars, "points", color))
        panels.append(Chart(f"step-{name}", title, "horizon T", "k*", series, True, True, caption))
    runs = reproduction.step_size[0].cell
    text = [
        f"The paper locates the step by minimising the mean squared regret of {runs.samples} random sequences, fifty "
        "times, and shows the mean with a band of one standard deviation. The points and bars below repeat that "
        f"experiment {runs.runs} times; the lines are not fitted but show the exact step.",
        "Both architectures share the same exact curve. Averaged over sizes, a run's standard deviation is "
        f"{spreads['swap']:.0%} of the step for the swap objective and {spreads['single']:.0%} for the single head, "
        "because the swap objective adds the regrets of d heads before squaring.",
    ]
    return Section("step-size", "The stationary step size", text, panels)


def _matching(reproduction: Reproduction) -> Section:
    text = [
        "The model starts from random parameters and is trained only on the squared regret of its own play, without "
        "trajectories of an algorithm or constraints on its matrices. Afterwards one number, the step k of "
        "softmax(-k S), is fitted to its policies on 4,096 fresh sequences.",
        "The hindsight loss, shown for comparison, uses only which action turned out best; its expected gradient is "
        "the same. The full form trains V, K, Q and all biases.",
    ]
    labels = {
        "linear": "regret loss",
        "linear-hindsight": "hindsight loss",
        "full": "regret loss, full form",
    }
    shown = {
        labels[name]: reproduction.measured[name]
        for name in labels
        if name in reproduction.measured
    }
    rows = []
    for measure, (digits, value) in MEASURES.items():
        row = [measure]
        for models in shown.values():
            row.append(
                spread([value(model, reproduction.config.actions) for model in models], digits)
            )
        rows.append(row)
    table = Table(("measure", *shown), rows)
    title = "One layer becomes smoothed fictitious play"
    return Section("matching", title, text, tables=[table])


def _depth(reproduction: Reproduction) -> Section:
    (result,) = reproduction.depth
    deep = result.policies["transformer-4"]
    hedge = float(np.mean(deep.to_hedge))
    optimal = float(np.mean(deep.to_optimal))
    near = "best possible policy" if optimal < hedge else "Hedge at k*"
    last = {name: policies.regret[0][-1] for name, policies in result.policies.items()}
    less = "less" if last["hedge"] < last["optimal"] else "more"
    text = [
        "Two- and four-layer transformers, trained only on mean-zero Gaussian losses, are tested on sequences in which "
        "every action has a different mean. Hedge at the stationary step and the best possible policy for the training "
        "distribution are shown for scale.",
        "Which algorithm do deeper models approach? On fresh Gaussian sequences four layers end at a total variation "
        f"of {optimal:.4f} from the best possible policy and {hedge:.4f} from Hedge at k*, closer to the {near}.",
        f"On the biased losses themselves Hedge at its fixed step has {less} regret ({last['hedge']:.3f}) than the "
        f"policy that is best for Gaussian noise ({last['optimal']:.3f}).",
    ]
    columns = ("policy", "population loss", "TV to Hedge at k*", "TV to the best possible")
    rows = []
    curves = {}
    for name, policies in result.policies.items():
        numbers = map(spread, (policies.loss, policies.to_hedge, policies.to_optimal))
        rows.append((POLICIES[name], *numbers))
    for name in ("uniform", "hedge", "optimal", "transformer-2", "transformer-4"):
        regret = np.array(result.policies[name].regret)
        curves[name] = regret / np.arange(1, regret.shape[1] + 1)
    caption = "Mean over test sequences. Bands show one standard error over three seeds."
    title = "Regret per round on biased losses"
    chart = Chart("depth", title, "round t", "R_t / t", _means(curves), caption=caption)
    return Section("depth", "What depth adds", text, [chart], [Table(columns, rows)])


def _means(learners: dict[str, np.ndarray]) -> list[Series]:
    """Draw each learner's mean curve with a band of one standard error; a single curve is dashed."""
    series = []
    for color, (name, curves) in enumerate(learners.items()):
        error = None
        style = "dashed"
        if len(curves) > 1:
            error = curves.std(0, ddof=1) / len(curves) ** 0.5
            style = "line"
        rounds = range(1, curves.shape[1] + 1)
        series.append(Series(POLICIES[name], rounds, curves.mean(0), error, style, color))
    return series


def _cce(reproduction: Reproduction) -> Section:
    (result,) = reproduction.equilibrium
    actions, horizon = reproduction.config.actions, reproduction.config.horizon
    slopes = {name: exponent(result.horizons, gaps) for name, gaps in result.long.items()}
    text = [
        f"Both players use a trained model, see the expected loss of every action, and play {horizon} rounds of "
        f"{result.game}. The CCE gap is the most a player could gain from one fixed action against the time-averaged "
        "joint play.",
        f"With the step chosen for each horizon, the CCE gap of Hedge falls like T to the power {slopes['cce']:.2f}, "
        f"and the CE gap of Blum-Mansour to the power {slopes['ce']:.2f}; the corollary predicts -1/2. With the step "
        f"for horizon {horizon} the powers are {slopes['cce_fixed']:.2f} and {slopes['ce_fixed']:.2f}. The two "
        "players' steps differ by one part in a billion, because exact copies would play identically for ever and "
        "find the equilibrium at any step, whereas in practice even the smallest difference grows.",
    ]
    shown = ("linear", "transformer-2", "transformer-4", "hedge", "uniform")
    learners = {"cce": "CCE, Hedge at", "ce": f"CE, Blum-Mansour at {actions}"}
    series = []
    for at, suffix in (("T", ""), (horizon, "_fixed")):
        style = "dashed" if suffix else "line"
        for color, (gap, learner) in enumerate(learners.items()):
            label = f"{learner} k*({actions}, {at})"
            values = result.long[gap + suffix]
            series.append(Series(label, result.horizons, values, None, style, color))
    title = "Gaps at longer horizons"
    long = Chart("horizons", title, "horizon T", "gap after T rounds", series, True, True)
    return Section(
        "cce",
        "Play approaches coarse correlated equilibrium",
        text,
        [_gaps(result, "cce", shown), long],
    )


def _ce(reproduction: Reproduction) -> Section:
    (result,) = reproduction.equilibrium
    actions = reproduction.config.actions
    text = [
        "The swap architecture is trained on full-scale Gaussian blocks, but in play a head's losses are scaled by the "
        f"policy, which averages 1/{actions}. Calibration multiplies the features by {actions}. Heads trained through "
        "the fixed point on real play (closed loop) need no calibration.",
    ]
    shown = ("calibrated", "uncalibrated", "closed", "blum_mansour", "uniform")
    figures: list[Chart | Ternary] = [_gaps(result, "ce", shown)]
    if actions == 3:
        corners = ("rock", "paper", "scissors")
        path = {"policy, 400 rounds": np.array(result.path)}
        caption = "The cross marks the equilibrium (3, 2, 1)/6. Both players use step 0.3."
        title = "Blum-Mansour spirals into the equilibrium"
        figures.append(Ternary("simplex", title, corners, path, (1 / 2, 1 / 3, 1 / 6), caption))
    title = "Swap-regret training approaches correlated equilibrium"
    return Section("ce", title, text, figures)


def _gaps(result: Equilibrium, kind: str, shown: Sequence[str]) -> Chart:
    series = _means({name: np.array(result.gaps[name][f"{kind}_gap"]) for name in shown})
    caption = (
        "Mean over the nine ordered pairs of three checkpoints. Bands show one standard error."
    )
    name = kind.upper()
    return Chart(kind, f"{name} gap of joint play", "round", f"{name} gap", series, caption=caption)


def _systems(reproduction: Reproduction) -> Section:
    text = [
        "At the stationary parameters the forward pass of each system is a known algorithm. The last column is "
        "the largest difference between the two over random sequences, in double precision.",
    ]
    (systems,) = reproduction.table_one
    rows = []
    for name, (operator, algorithm, _) in SYSTEMS.items():
        steps = [model.step_size for model in reproduction.measured[name]]
        exact = f"{systems.steps[name]:.7f}"
        gap = systems.differences[name]
        same = "yes" if gap < ROUNDING else "no"
        rows.append((operator, algorithm, spread(steps, 5), exact, same, f"{gap:.1e}"))
    columns = ("operator", "algorithm", "step found by training", "step by theory")
    table = Table((*columns, "same policies", "largest difference"), rows)
    title = "Three systems, three algorithms"
    return Section("table-one", title, text, tables=[table], drawings=[ARCHITECTURE])


def _generalization(reproduction: Reproduction) -> Section:
    text = [
        "Mean regret after T rounds. Lower is better, and a star marks the best in each column. Trained models are the "
        "first seed of each kind. Transformers are not designed for horizons other than the one they were trained on.",
    ]
    tables = []
    for result in reproduction.generalization:
        values = np.array([list(row.values()) for row in result.regret.values()])
        stars = np.where(np.isclose(values, values.min(0), rtol=1e-3, atol=5e-3), " *", "")
        cells = [map("{:.2f}{}".format, *row) for row in zip(values, stars, strict=True)]
        rows = [(name, *row) for name, row in zip(result.regret, cells, strict=True)]
        families = next(iter(result.regret.values()))
        tables.append(Table((f"T = {result.rounds}", *families), rows))
    title = "Losses and horizons not seen in training"
    return Section("generalization", title, text, tables=tables)


SECTIONS = {
    "step-size": _step_size,
    "matching": _matching,
    "table-one": _systems,
    "depth": _depth,
    "cce": _cce,
    "ce": _ce,
    "generalization": _generalization,
}
"""Experiments in the order of the paper's claims, each with the function that makes its section."""
