"""Summary of the reproduction in about 25 lines of 78 columns: five claims, verdict counts, and differences."""

from collections.abc import Sequence
from textwrap import wrap

from regrax.paper.comparison import Line, compare
from regrax.paper.config import SEEDS
from regrax.paper.reproduction import Reproduction

WIDTH = 78
CLAIMS = {
    "fitted step": "One layer trained on its squared regret finds the stationary step k*.",
    "total variation": "It plays like Hedge at that step (smoothed fictitious play).",
    "R_{} on biased losses, 4 layers": "Deeper models have less regret when one action is better.",
    "CCE gap, 1 layer": "In self-play it approaches a coarse correlated equilibrium.",
    "CE gap, calibrated heads": "Trained on swap regret, it approaches a correlated equilibrium.",
}
"""The quantity that represents each of the paper's claims."""
VERDICTS = ("same", "better", "differs")


def summary_text(reproduction: Reproduction, report: str = "report.html") -> str:
    """Summarise a reproduction for a terminal.

    Args:
        reproduction: results to summarise.
        report: path of the full report.
    """
    config = reproduction.config
    lines = compare(reproduction)
    scale = ", quick run" if config.quick else ""
    text = [
        f"Regret-trained attention: {config.actions} actions, {config.horizon} rounds, "
        f"{SEEDS} seeds{scale}",
        "",
        _row("", "paper", "here", "theory", "verdict"),
    ]
    for claim, row in claims_of(lines, config.horizon) or [(row.quantity, row) for row in lines]:
        label = ""
        if claim != row.quantity:
            label = row.quantity.replace(" on biased losses", "").removesuffix(" heads")
        text.append(claim)
        text.append(_row(f"  {label}", row.paper, row.ours, row.exact, verdict_word(row)))
    text.append("")
    counts = count_verdicts(lines)
    if counts:
        text += wrap(
            f"{sum(counts.values())} numbers in the paper: {counts['same']} the same, {counts['better']} better, "
            f"{counts['differs']} differ. Same: within two of the paper's standard deviations, or equal to its last "
            f"digit. Better: lower, and closer to theory. "
            f"± is one standard error over {SEEDS} seeds, each tested on its own sequences.",
            WIDTH,
        )
        text += _notes(lines)
    elif config.is_the_papers:
        text.append("The paper reports no numbers for these experiments.")
    else:
        text.append("The paper reports numbers only for 3 actions and 20 rounds.")
    text += ["", f"Read next: {report} (figures)", "Every number: add --table"]
    return "\n".join(text)


def claims_of(lines: Sequence[Line], horizon: int) -> list[tuple[str, Line]]:
    """Return the claims of the paper, in its order, each with the number that represents it."""
    rows = {row.quantity: row for row in lines}
    claims = {quantity.format(horizon): claim for quantity, claim in CLAIMS.items()}
    return [(claim, rows[quantity]) for quantity, claim in claims.items() if quantity in rows]


def count_verdicts(lines: Sequence[Line]) -> dict[str, int]:
    """Count the verdicts on the numbers in the paper; empty if there are none."""
    words = [verdict_word(row) for row in lines if row.paper]
    if not words:
        return {}
    return {verdict: words.count(verdict) for verdict in VERDICTS}


def verdict_word(row: Line) -> str:
    """Return "same", "better" or "differs", or nothing if the paper has no number."""
    if not row.paper:
        return ""
    return row.verdict.partition(":")[0]


def _row(label: str, paper: str, ours: str, exact: str, verdict: str) -> str:
    return f"{label:20} {paper:>17} {ours:>18} {exact:>10}  {verdict}".rstrip()


def _notes(lines: Sequence[Line]) -> list[str]:
    """List the numbers that differ, grouped by reason."""
    differing: dict[str, list[str]] = {}
    for row in lines:
        if verdict_word(row) == "differs":
            why = row.verdict.partition(": ")[2]
            differing.setdefault(why, []).append(f"{row.quantity} ({row.paper}, here {row.ours})")
    if not differing:
        return []
    notes = ["", "What differs:"]
    for why, quantities in differing.items():
        sentence = "; ".join(quantities)
        if why:
            sentence += f": {why}"
        notes += wrap(f"{sentence}.", WIDTH, initial_indent="- ", subsequent_indent="  ")
    return notes
