"""Text for terminals: numbers, paragraphs, and tables that fit the width without cutting anything off."""

import shutil
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

GAP = 2  # spaces between columns
TEXT_WIDTH = 24  # long text is wrapped down to this width before a column moves to a second table
MIN_WIDTH = 40
MAX_ROWS = 100
MAX_SHARES = 12
MIN_SHARE = 5e-7  # solvers leave noise of this size


def labelled_table(
    rows: Iterable[Mapping[str, Any]], labels: Mapping[str, str], title: str = ""
) -> str:
    """Format rows that are mappings, such as the entries of a list in a JSON object.

    Args:
        rows: Rows of the table.
        labels: Headers, including units, of the keys to show; columns without any value are left out.
        title: Line above the table.
    """
    rows = list(rows)
    keys = [key for key in labels if any(row.get(key) is not None for row in rows)]
    cells = [[row.get(key) for key in keys] for row in rows]
    return fitted_table([labels[key] for key in keys], cells, title)


def quantities(result: Mapping[str, Any], labels: Mapping[str, str], title: str = "") -> str:
    """Format the quantities in a mapping that have a label and a value, one per line."""
    rows = [[label, result.get(key)] for key, label in labels.items()]
    return fitted_table(("quantity", "value"), [row for row in rows if row[1] is not None], title)


def fitted_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "") -> str:
    """Format a table for the terminal; columns that do not fit go into a second table.

    Every part repeats the first column and ends with a blank line. Long tables end after a hundred rows and say so.

    Args:
        columns: Headers, including units.
        rows: Lists of cells; see `cell_text`.
        title: Line above the table.
    """
    limit = terminal_width()
    texts = [columns, *(map(cell_text, row) for row in rows[:MAX_ROWS])]
    table = [_Column.of(column, limit) for column in zip(*texts, strict=True)]
    lines = [paragraph(title)] if title else []
    for part in _parts(table, limit):
        widths = _widths(part, limit)
        head, *body = zip(*(column.texts for column in part), strict=True)
        lines += _lines(head, part, widths, bottom=True)
        lines.append("─" * (sum(widths) + GAP * (len(widths) - 1)))
        for row in body:
            lines += _lines(row, part, widths)
        lines.append("")
    if len(rows) > MAX_ROWS:
        lines += [f"{len(rows) - MAX_ROWS:,} more rows; --json prints all", ""]
    return "\n".join(lines)


def paragraph(text: str) -> str:
    """Wrap text from any source at the width of the terminal, with control characters escaped."""
    return "\n".join(_wrap(printable(text), terminal_width()))


def terminal_width() -> int:
    """Return the width of the terminal, or 80 if the output is not a terminal; COLUMNS overrides both."""
    return max(shutil.get_terminal_size().columns, MIN_WIDTH)


class _Column(NamedTuple):
    """A header and cells; `full` is their unwrapped width, `least` their minimum width.

    Numbers, words, and texts shorter than half the window are not broken.
    """

    texts: tuple[str, ...]
    numeric: bool
    least: int
    full: int

    @classmethod
    def of(cls, texts: tuple[str, ...], limit: int) -> "_Column":
        header, *cells = texts
        numeric = all(map(_is_number, cells))
        longest = max((len(line) for cell in cells for line in cell.split("\n")), default=0)
        if numeric:
            least = max([longest, *map(len, header.split())])
        else:
            half = (limit - GAP) // 2
            words = [len(word) for text in texts for word in text.split()]
            least = min(max([longest if longest <= half else TEXT_WIDTH, *words]), half)
        return cls(texts, numeric, least, max(longest, len(header)))


def _parts(columns: list[_Column], limit: int) -> list[list[_Column]]:
    """Split the columns into tables of at most `limit` characters; each starts with the first column."""
    parts = [columns[:1]]
    for column in columns[1:]:
        needed = sum(other.least + GAP for other in parts[-1]) + column.least
        if needed > limit and len(parts[-1]) > 1:
            parts.append(columns[:1])
        parts[-1] = [*parts[-1], column]
    return parts


def _widths(columns: list[_Column], limit: int) -> list[int]:
    """Give every column its minimum width, and distribute the rest among columns that need more."""
    widths = [column.least for column in columns]
    spare = limit - sum(widths) - GAP * (len(columns) - 1)
    order = sorted(range(len(columns)), key=lambda index: columns[index].full - widths[index])
    for place, index in enumerate(order):
        wanted = max(columns[index].full - widths[index], 0)
        more = min(wanted, max(spare, 0) // (len(order) - place))
        widths[index] += more
        spare -= more
    return widths


def _lines(
    texts: Sequence[str], columns: list[_Column], widths: list[int], *, bottom: bool = False
) -> list[str]:
    """Wrap the texts of a row to the widths of their columns, and join them line by line."""
    wrapped = [_wrap(text, width) for text, width in zip(texts, widths, strict=True)]
    if bottom:  # headers end next to their cells
        height = max(map(len, wrapped))
        wrapped = [[""] * (height - len(lines)) + lines for lines in wrapped]
    sides = [str.rjust if column.numeric else str.ljust for column in columns]
    joined = []
    for pieces in zip_longest(*wrapped, fillvalue=""):
        cells = zip(sides, pieces, widths, strict=True)
        aligned = [align(piece, width) for align, piece, width in cells]
        joined.append((" " * GAP).join(aligned).rstrip())
    return joined


def _wrap(text: str, width: int) -> list[str]:
    lines = []
    for line in text.split("\n"):
        lines += textwrap.wrap(line, width, break_on_hyphens=False) or [""]
    return lines


def cell_text(value: Any) -> str:
    """Format a cell: floats with `number`, None as a blank, shares with the largest first, anything else as text.

    >>> cell_text(0.123456), cell_text(None), cell_text(2000), cell_text({"rock": 0.25, "paper": 0.75})
    ('0.1235', '', '2,000', 'paper: 0.7500, rock: 0.2500')
    """
    if value is None:
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number(value)
    if isinstance(value, Mapping):
        shares = [(share, label) for label, share in value.items() if share > MIN_SHARE]
        shares.sort(key=lambda pair: -pair[0])
        value = listed(f"{label}: {cell_text(share)}" for share, label in shares[:MAX_SHARES])
        if len(shares) > MAX_SHARES:
            value += f" and {len(shares) - MAX_SHARES} more"
    return "\n".join(printable(line) for line in str(value).split("\n"))


def number(value: float) -> str:
    """Format a number with four significant digits; whole numbers in full, and NaN as a blank.

    >>> number(13.0), number(-0.119444), number(1e-17), number(2.5e-5), number(1234567.8)
    ('13', '-0.1194', '0', '2.500e-05', '1,234,568')
    """
    if value != value:
        return ""
    if abs(value) < 1e-12:
        return "0"
    if abs(value) >= 1e9:
        return f"{value:.3e}"
    if abs(value) >= 1e4 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:#.4g}".removesuffix(".")


def interval(low: float | None, high: float | None) -> str:
    """Format an interval, or return an empty string if it is unknown."""
    if low is None or high is None:
        return ""
    return f"{number(low)} to {number(high)}"


def counted(count: int, noun: str) -> str:
    """Format a count with its noun.

    >>> counted(1, "round"), counted(1200, "episode")
    ('1 round', '1,200 episodes')
    """
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def listed(values: Iterable[Any]) -> str:
    """Join values with commas."""
    return ", ".join(str(value) for value in values)


def printable(text: str) -> str:
    r"""Escape control characters so that text from a file cannot move the cursor.

    >>> print(printable("\x1b[31mred"))
    \x1b[31mred
    """
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _is_number(cell: str) -> bool:
    return not set(cell) - set("0123456789.,+-e%± to") and not cell.isalpha()
