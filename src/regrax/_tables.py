"""Table exports in four formats, for any result whose `columns()` maps names to lists of equal length.

class Result:
    def columns(self): ...
    to_pandas, to_csv, to_latex = to_pandas, to_csv, to_latex
"""

import csv
import html
import io
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from regrax._files import write_output

Columns = Mapping[str, Sequence[Any]]
MAX_HTML_ROWS = 20
SKETCH_POINTS = 236
MAX_SKETCH_LABELS = 6
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#888888")
"""The Okabe-Ito palette, with grey in place of black, which dark pages hide."""
LATEX = {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}


def to_pandas(self: Any) -> Any:
    """Return the table as a `pandas.DataFrame`."""
    try:
        pandas = import_module("pandas")
    except ImportError:
        raise ImportError(
            "to_pandas needs pandas: pip install pandas, or use to_csv instead"
        ) from None
    return pandas.DataFrame(dict(self.columns()))


def to_csv(self: Any, path: str | Path | None = None) -> str:
    """Return the table as CSV with numbers in full precision, and write it to `path` if given."""
    table = self.columns()
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(csv_cell(name) for name in table)
    for row in zip(*table.values(), strict=True):
        writer.writerow(csv_cell(value) for value in row)
    if path is not None:
        write_output(Path(path), lines.getvalue().encode())
    return lines.getvalue()


def csv_cell(value: Any) -> Any:
    """Quote a string that a spreadsheet would run as a formula.

    >>> [csv_cell(value) for value in ("=1+1", "hedge", "-1.5", -1.5)]
    ["'=1+1", 'hedge', '-1.5', -1.5]
    """
    if not isinstance(value, str) or not value.startswith(("=", "+", "-", "@", "\t", "\r", "\n")):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def to_latex(self: Any, digits: int = 4) -> str:
    """Return the table as a LaTeX tabular with booktabs rules and numbers to `digits` significant digits."""
    return latex(self.columns(), digits)


def latex(table: Columns, digits: int = 4) -> str:
    r"""Format columns as a LaTeX tabular with right-aligned numbers.

    >>> print(latex({"learner": ["a_b"], "regret": [0.123456]}, 3))
    \begin{tabular}{lr}
    \toprule
    learner & regret \\
    \midrule
    a\_b & 0.123 \\
    \bottomrule
    \end{tabular}
    """
    sides = ""
    for values in table.values():
        sides += "l" if any(isinstance(value, str) for value in values) else "r"
    lines = [rf"\begin{{tabular}}{{{sides}}}", r"\toprule"]
    lines += [" & ".join(_latex_text(name) for name in table) + r" \\", r"\midrule"]
    for row in zip(*table.values(), strict=True):
        lines.append(" & ".join(_latex_cell(value, digits) for value in row) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _latex_cell(value: Any, digits: int) -> str:
    if value is None or value != value:  # missing value
        return ""
    if isinstance(value, float):
        return f"{round(value, 15) + 0.0:.{digits}g}"
    return _latex_text(str(value))


def _latex_text(text: str) -> str:
    return re.sub(r"[&%$#_{}~^\\]", lambda match: LATEX.get(match[0], "\\" + match[0]), text)


def to_html(self: Any) -> str:
    """Return the first rows as an HTML table, for notebooks."""
    table = self.columns()
    rows = list(itertools.islice(zip(*table.values(), strict=True), MAX_HTML_ROWS + 1))
    more = "<p>...</p>" if len(rows) > MAX_HTML_ROWS else ""
    return html_table(table, rows[:MAX_HTML_ROWS]) + more


def html_table(header: Iterable[Any], rows: Iterable[Iterable[Any]], caption: str = "") -> str:
    """Return an HTML table with numbers to four significant digits.

    >>> html_table(["a"], [[0.123456]], "one & two")
    '<table><caption>one &amp; two</caption><tr><th>a</th></tr><tr><td>0.1235</td></tr></table>'
    """
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    lines = [_html_row("th", header), *(_html_row("td", row) for row in rows)]
    return f"<table>{title}{''.join(lines)}</table>"


def _html_row(tag: str, cells: Iterable[Any]) -> str:
    texts = [html.escape(cell_text(cell)) for cell in cells]
    return f"<tr>{''.join(f'<{tag}>{text}</{tag}>' for text in texts)}</tr>"


def cell_text(cell: Any) -> str:
    """Format a number to four significant digits, and anything else as text."""
    return f"{cell:.4g}" if isinstance(cell, float | np.floating) else str(cell)


def text_table(header: Iterable[Any], rows: Iterable[Iterable[Any]]) -> str:
    """Return a table for terminals, with numbers to four significant digits.

    >>> print(text_table(["", "left"], [["up", 0.5]]))
        left
    up  0.5
    """
    lines = [[cell_text(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def sketch(rows: Any, labels: Sequence[str], title: str) -> str:
    """Draw rows of probabilities as a small SVG with a labelled line per column, for notebooks.

    >>> sketch(np.array([[0.5, 0.5], [1.0, 0.0]]), ["up", "down"], "row").count("<polyline")
    2
    """
    rows = np.asarray(rows)
    count = max(2, min(len(rows), SKETCH_POINTS))
    shown = rows[np.linspace(0, len(rows) - 1, count).round().astype(int)]
    lines = ""
    names = f"{html.escape(title)}: "
    for index, column in enumerate(shown.T):
        places = zip(np.linspace(22, 258, count), 80 - 56 * column, strict=True)
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        color = COLORS[index % len(COLORS)]
        lines += f'<polyline fill="none" stroke="{color}" stroke-width="1.5" points="{points}"/>'
        if index < MAX_SKETCH_LABELS:
            names += f'<tspan fill="{color}" dx="5">{html.escape(labels[index])}</tspan>'
    texts = [(22, 13, "start", names), (17, 28, "end", "1"), (17, 83, "end", "0")]
    texts += [(22, 97, "start", "round 1"), (258, 97, "end", f"{len(rows):,}")]
    for x, y, anchor, text in texts:
        lines += f'<text x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>'
    look = 'width="280" height="102" fill="currentColor" font-size="11" font-family="sans-serif"'
    frame = '<path d="M22 24V80H258" fill="none" stroke="#8888"/>'
    return f'<svg viewBox="0 0 280 102" {look} role="img" aria-label="policies over rounds">{frame}{lines}</svg>'
