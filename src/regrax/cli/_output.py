"""Printing: one JSON object and nothing else, or a table for people."""

import json
import sys
from collections.abc import Sequence
from typing import Any

PIPED = 120  # columns where no terminal says how many there are
SHORT = 19  # characters that are kept on one line


def print_json(result: Any) -> None:
    """Print one JSON object; a number that is not finite is an error here, never an invalid token."""
    print(json.dumps(result, allow_nan=False))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Print a table; columns of numbers line up on the right."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD)
    for index, column in enumerate(columns):
        numeric = all(_is_number(row[index]) for row in rows)
        short = all(len(row[index]) <= SHORT for row in rows)
        justify = "right" if numeric else "left"
        table.add_column(column, justify=justify, overflow="fold", no_wrap=short)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console = Console(highlight=False, width=None if sys.stdout.isatty() else PIPED)
    if title:
        console.print(Text(title, "bold"))  # a table's own title is wrapped to the table's width
    console.print(table)


def number(value: float) -> str:
    """Five decimals, as tables show them; what rounds to zero has no sign."""
    return f"{round(value, 5) + 0.0:.5f}"


def _is_number(cell: str) -> bool:
    return bool(cell) and cell.lstrip("-+").replace(".", "", 1).replace("e-", "", 1).isdigit()
