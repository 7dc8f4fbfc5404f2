"""Summary of the reproduction in about 25 lines of 78 columns: five claims, verdict counts, and differences."""

from collections.abc import Sequence
from textwrap import wrap

from regrax.paper.comparison import Line, claims_of, compare, count_verdicts
from regrax.paper.config import SEEDS
from regrax.paper.reproduction import Reproduction

WIDTH = 78


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
        text.append(_row(f"  {label}", row.paper, row.ours, row.exact, row.word))
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


def _row(label: str, paper: str, ours: str, exact: str, verdict: str) -> str:
    return f"{label:20} {paper:>17} {ours:>18} {exact:>10}  {verdict}".rstrip()


def _notes(lines: Sequence[Line]) -> list[str]:
    """List the numbers that differ, grouped by reason."""
    differing: dict[str, list[str]] = {}
    for row in lines:
        if row.word == "differs":
            differing.setdefault(row.why, []).append(
                f"{row.quantity} ({row.paper}, here {row.ours})"
            )
    if not differing:
        return []
    notes = ["", "What differs:"]
    for why, quantities in differing.items():
        sentence = "; ".join(quantities)
        if why:
            sentence += f": {why}"
        notes += wrap(f"{sentence}.", WIDTH, initial_indent="- ", subsequent_indent="  ")
    return notes
