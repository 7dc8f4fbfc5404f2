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
SKETCH_POINTS = 120
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
    lines = [_html_row("th", table)]
    lines += [_html_row("td", row) for row in rows[:MAX_HTML_ROWS]]
    more = "<p>...</p>" if len(rows) > MAX_HTML_ROWS else ""
    return f"<table>{''.join(lines)}</table>{more}"


def _html_row(tag: str, cells: Iterable[Any]) -> str:
    row = ""
    for cell in cells:
        text = f"{cell:.4g}" if isinstance(cell, float | np.floating) else html.escape(str(cell))
        row += f"<{tag}>{text}</{tag}>"
    return f"<tr>{row}</tr>"


def sketch(rows: Any) -> str:
    """Draw rows of probabilities as a small SVG with one line per column, for notebooks.

    >>> sketch(np.array([[0.5, 0.5], [1.0, 0.0]])).count("<polyline")
    2
    """
    rows = np.asarray(rows)
    count = max(2, min(len(rows), SKETCH_POINTS))
    shown = rows[np.linspace(0, len(rows) - 1, count).round().astype(int)]
    lines = ""
    for index, column in enumerate(shown.T):
        places = zip(np.linspace(2, 198, count), 58 - 56 * column, strict=True)
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        color = f"hsl({index * 137 % 360} 65% 45%)"
        lines += f'<polyline fill="none" stroke="{color}" points="{points}"/>'
    box = 'viewBox="0 0 200 60" width="200" height="60" style="border:1px solid #8888;margin:2px"'
    return f'<svg {box} role="img" aria-label="policies over rounds">{lines}</svg>'
