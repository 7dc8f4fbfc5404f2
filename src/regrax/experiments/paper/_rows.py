"""A line of the comparison: what the paper printed, what came out here, what is exact, and a verdict in words."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from regrax.experiments.paper._reported import REPORTED


class Row(NamedTuple):
    """One quantity; texts, ready to print."""

    quantity: str
    paper: str
    ours: str
    exact: str
    verdict: str


def row(
    quantity: str,
    name: str | None,
    values: Sequence[float],
    *,
    exact: float | None = None,
    why: str,
    digits: int = 4,
) -> Row:
    """Compare `values` (one a seed or pair) with the paper's number `name` and the exact one.

    The verdict is "matches" within two of the paper's spreads (or its last digit), "better" when ours is less (of
    distances, gaps and regrets less is better) and nearer to the exact number, else "differs"; `why` says in one
    sentence where a difference comes from.

    >>> row("uniform", "ce.uniform", [1 / 9], why="").verdict
    'matches'
    """
    ours, paper = float(np.mean(values)), None if name is None else REPORTED[name]
    text = f"{ours:.{digits}f}" + (
        f" ± {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
    )
    exact_text = "" if exact is None else f"{exact:.{digits + 2}f}".rstrip("0").rstrip(".")
    if paper is None:
        return Row(quantity, "", text, exact_text, why)
    near = 2 * (paper.spread or 0) + 10.0**-digits / 2
    if abs(ours - paper.value) <= near:
        verdict = "matches"
    elif exact is not None and abs(ours - exact) < paper.value - exact:
        verdict = f"better: {why}"
    else:
        verdict = f"differs: {why}"
    return Row(quantity, str(paper), text, exact_text, verdict)
