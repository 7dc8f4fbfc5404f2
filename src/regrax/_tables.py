"""Results as tables: whatever has `columns()`, a mapping of names to lists of one length, goes to pandas, CSV or LaTeX.

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
FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")
_SPECIAL = re.compile(r"[&%$#_{}~^\\]")
_ESCAPED = {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}


def to_pandas(self: Any) -> Any:
    """The table as a `pandas.DataFrame`; pandas is imported here and nowhere else."""
    try:
        pandas = import_module("pandas")
    except ImportError:
        advice = "pip install pandas installs it, and to_csv does without"
        raise ImportError(f"pandas is not installed; {advice}") from None
    return pandas.DataFrame(dict(self.columns()))


def to_csv(self: Any, path: str | Path | None = None) -> str:
    """The table as CSV, numbers in full; also written to `path` if there is one."""
    table, written = self.columns(), io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(map(csv_cell, table))
    rows.writerows(map(csv_cell, row) for row in zip(*table.values(), strict=True))
    if path is not None:
        write_output(Path(path), written.getvalue().encode())
    return written.getvalue()


def csv_cell(value: Any) -> Any:
    """Quote a text that a spreadsheet would run as a formula.

    >>> [csv_cell(value) for value in ("=1+1", "hedge", "-1.5", -1.5)]
    ["'=1+1", 'hedge', '-1.5', -1.5]
    """
    if isinstance(value, str) and value.startswith(FORMULAS) and not _is_number(value):
        return f"'{value}"
    return value


def to_latex(self: Any, digits: int = 4) -> str:
    """The table as a LaTeX tabular with booktabs' rules; numbers to so many significant digits."""
    return latex(self.columns(), digits)


def latex(table: Columns, digits: int = 4) -> str:
    r"""Columns as a LaTeX tabular, numbers on the right.

    >>> print(latex({"learner": ["a_b"], "regret": [0.123456]}, 3))
    \begin{tabular}{lr}
    \toprule
    learner & regret \\
    \midrule
    a\_b & 0.123 \\
    \bottomrule
    \end{tabular}
    """
    rows = [[_cell(value, digits) for value in row] for row in zip(*table.values(), strict=True)]
    sides = "".join("l" if any(isinstance(v, str) for v in c) else "r" for c in table.values())
    lines = [" & ".join(row) + r" \\" for row in [[_escaped(name) for name in table], *rows]]
    head, *body = lines
    parts = [r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
    return "\n".join([rf"\begin{{tabular}}{{{sides}}}", *parts])


def to_html(self: Any) -> str:
    """The first rows as a table of HTML, which is how a notebook shows the result."""
    table = self.columns()
    rows = list(itertools.islice(zip(*table.values(), strict=True), MAX_HTML_ROWS + 1))
    lines = [_row("th", table), *(_row("td", row) for row in rows[:MAX_HTML_ROWS])]
    more = "<p>...</p>" if len(rows) > MAX_HTML_ROWS else ""
    return f"<table>{''.join(lines)}</table>{more}"


def sketch(rows: Any) -> str:
    """Rows of probabilities as a small picture, a line per column, for a notebook.

    >>> sketch(np.array([[0.5, 0.5], [1.0, 0.0]])).count("<polyline")
    2
    """
    rows, lines = np.asarray(rows), []
    count = max(2, min(len(rows), SKETCH_POINTS))  # a single row is a flat line
    shown = rows[np.linspace(0, len(rows) - 1, count).round().astype(int)]
    for index, line in enumerate(shown.T):
        places = zip(np.linspace(2, 198, count), line, strict=True)
        points = " ".join(f"{x:.1f},{58 - 56 * y:.1f}" for x, y in places)
        color = f"hsl({index * 137 % 360} 65% 45%)"
        lines.append(f'<polyline fill="none" stroke="{color}" points="{points}"/>')
    box = 'viewBox="0 0 200 60" width="200" height="60" style="border:1px solid #8888;margin:2px"'
    return f'<svg {box} role="img" aria-label="policies over rounds">{"".join(lines)}</svg>'


def _row(tag: str, cells: Iterable[Any]) -> str:
    texts = [
        f"{cell:.4g}" if isinstance(cell, float | np.floating) else html.escape(str(cell))
        for cell in cells
    ]
    return f"<tr>{''.join(f'<{tag}>{text}</{tag}>' for text in texts)}</tr>"


def _cell(value: Any, digits: int) -> str:
    if isinstance(value, float):  # numpy's doubles, too
        return "" if value != value else f"{round(value, 15) + 0.0:.{digits}g}"
    return "" if value is None else _escaped(str(value))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda found: _ESCAPED.get(found[0], "\\" + found[0]), text)
