"""Printing: tables that fit the terminal, one JSON object, and a progress bar."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from regrax.experiments import Progress

GAP = 3  # spaces between columns
TEXT_WIDTH = 24  # text is wrapped down to this width before a column moves to a second table
MAX_ROWS = 100
MAX_SHARES = 12
MIN_SHARE = 5e-7  # solvers leave noise of this size
COLOURS = {
    **dict.fromkeys(("learning", "holds", "proved", "same", "better"), "green"),
    **dict.fromkeys(("not learning", "does not hold", "not proved", "refuted", "differs"), "red"),
}


def print_json(result: Any) -> None:
    """Print one JSON object; raise ValueError for NaN and infinity, which JSON does not support."""
    print(json.dumps(result, allow_nan=False))


def print_text(*lines: str, wrap: bool = True) -> None:
    """Print lines of text.

    Args:
        lines: Lines to print; a verdict before a colon is coloured.
        wrap: Wrap lines at the terminal width; use False for paths.
    """
    for line in lines:
        text = Text(printable(line))
        head = line.partition(":")[0]
        text.stylize(COLOURS.get(head, ""), 0, len(head))
        _print(text, soft_wrap=not wrap)


def print_rows(
    rows: Iterable[Mapping[str, Any]], labels: Mapping[str, str], title: str = ""
) -> None:
    """Print a table of rows that are mappings, such as the entries of a list in the JSON object.

    Args:
        rows: Rows of the table.
        labels: Headers, including units, of the keys to print; columns without any value are left out.
        title: Line above the table.
    """
    rows = list(rows)
    keys = [key for key in labels if any(row.get(key) is not None for row in rows)]
    cells = [[row.get(key) for key in keys] for row in rows]
    print_table([labels[key] for key in keys], cells, title)


def print_quantities(result: Mapping[str, Any], labels: Mapping[str, str], title: str = "") -> None:
    """Print a table of the quantities in a mapping that have a label and a value."""
    rows = [[label, result.get(key)] for key, label in labels.items()]
    print_table(("quantity", "value"), [row for row in rows if row[1] is not None], title)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "") -> None:
    """Print a table without cutting numbers off; columns that do not fit go into a second table.

    Every part repeats the first column. Long tables end after a hundred rows and say so.

    Args:
        columns: Headers, including units.
        rows: Lists of cells; see `cell_text`.
        title: Line above the table.
    """
    width = Console().width
    cells = [[cell_text(cell) for cell in row] for row in rows[:MAX_ROWS]]
    table_columns = []
    for index, header in enumerate(columns):
        table_columns.append(_Column.of(header, [row[index] for row in cells], width))
    if title:
        _print(Text(printable(title), "bold"))
    for part in _parts(table_columns, width):
        table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for column, own in zip(part, _widths(part, width), strict=True):
            justify = "right" if column.numeric else "left"
            table.add_column(column.header, justify=justify, overflow="fold", width=own)
        for texts in zip(*(column.cells for column in part), strict=True):
            table.add_row(*(Text(text, COLOURS.get(text, "")) for text in texts))
        _print(table)
        print()
    if len(rows) > MAX_ROWS:
        print_text(f"{len(rows) - MAX_ROWS:,} more rows; --json prints all", "")


def _print(content: Text | Table, *, soft_wrap: bool = False) -> None:
    """Print without spaces at the ends of lines, which rich leaves there."""
    console = Console(highlight=False)
    with console.capture() as captured:
        console.print(content, soft_wrap=soft_wrap)
    print("\n".join(line.rstrip(" ") for line in captured.get().split("\n")), end="")


class _Column(NamedTuple):
    """A text column: `full` is its unwrapped width, `least` its width if no word or number is broken."""

    header: str
    cells: list[str]
    numeric: bool
    least: int
    full: int

    @classmethod
    def of(cls, header: str, cells: list[str], limit: int) -> "_Column":
        numeric = all(_is_number(cell) for cell in cells)
        longest = max((len(line) for cell in cells for line in cell.split("\n")), default=0)
        words = [len(word) for text in (header, *cells) for word in text.split()]
        least = min(max([min(longest, TEXT_WIDTH), *words]), (limit - GAP) // 2)
        if numeric:
            least = max([longest, *map(len, header.split())])
        return cls(header, cells, numeric, least, max(longest, len(header)))


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


def printable(text: str) -> str:
    r"""Escape control characters so that text from a file cannot move the cursor.

    >>> print(printable("\x1b[31mred"))
    \x1b[31mred
    """
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a figure in the format of the file's suffix."""
    import io

    from regrax._files import write_output

    drawn = io.BytesIO()
    figure.savefig(drawn, format=path.suffix[1:], dpi=160)
    write_output(path, drawn.getvalue())


def _is_number(cell: str) -> bool:
    return not set(cell) - set("0123456789.,+-e%± to") and not cell.isalpha()


class Bar:
    """A progress bar for all tasks of a command, shown only on a terminal and removed at the end.

    Args:
        hidden: Show nothing, for `--json` and for processes other than the first.
    """

    def __init__(self, *, hidden: bool = False) -> None:
        self.lock = RLock()
        self.shares: dict[str, float] = {}
        self.bar: Any = None
        if not hidden and sys.stderr.isatty():
            from rich import progress

            self.bar = progress.Progress(
                progress.TextColumn("{task.description}"),
                progress.BarColumn(20),
                progress.TimeElapsedColumn(),
                progress.TimeRemainingColumn(),
                progress.TextColumn("{task.fields[note]}"),
                console=Console(stderr=True),
                transient=True,
            )
            self.bar.add_task("", note="")

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def show(self, at: "Progress") -> None:
        """Show the progress of a task."""
        self.move(*at)

    def move(self, task: str, done: float, total: float, note: str = "") -> None:
        """Update the progress of a task; safe to call from several threads."""
        if self.bar is None:
            return
        with self.lock:
            self.shares[task] = done / total
            running = [name for name, share in self.shares.items() if share < 1]
            self.bar.start()
            self.bar.update(
                self.bar.task_ids[0],
                completed=sum(self.shares.values()),
                total=len(self.shares),
                description=listed(running) or task,
                note=note,
            )


def counted(count: int, noun: str) -> str:
    """Format a count with its noun.

    >>> counted(1, "round"), counted(1200, "episode")
    ('1 round', '1,200 episodes')
    """
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def listed(values: Iterable[Any]) -> str:
    """Join values with commas."""
    return ", ".join(str(value) for value in values)
