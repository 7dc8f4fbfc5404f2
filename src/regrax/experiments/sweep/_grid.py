r"""A sweep as a TOML file: every setting a value or a list of values, every combination a cell.

    actions = [2, 3, 5]          # what all cells share
    horizon = [10, 20]
    seeds = 3                    # how many: 0, 1 and 2; a list says which

    [[cells]]                    # grids of their own, as many as wanted; without any the above is the grid
    model = "linear"

    [[cells]]
    model = "transformer"
    layers = [2, 4]

The names are those of `regrax.Training`, `seeds`, and `sequences`, on how many fresh ones a model is measured.
"""

import difflib
import itertools
import tomllib
from dataclasses import MISSING, fields
from math import prod
from pathlib import Path
from typing import Any, get_args

from regrax import _checks as checks
from regrax.experiments.runs import Training
from regrax.experiments.sweep._grid_cell import DEEP, SEQUENCES, Cell, completed

MOST = 100_000  # cells
WORDS = {int: "a whole number", float: "a number", str: "a text in quotes"}
_TRAINING = {f.name: f for f in fields(Training) if f.name not in ("seeds", "first_seed")}
NAMES = (*_TRAINING, "seeds", "sequences")

Grid = dict[str, list[Any]]


def read_sweep(file: str | Path) -> list[Cell]:
    """The cells that a TOML file asks for, in its order.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "small.toml"
    >>> _ = file.write_text('model = "linear"\\nactions = [2, 3]\\nhorizon = 10\\nseeds = 2')
    >>> [(cell.training.actions, cell.seed) for cell in read_sweep(file)]
    [(2, 0), (2, 1), (3, 0), (3, 1)]
    """
    file = Path(file)
    try:
        return _cells(tomllib.loads(file.read_bytes().decode()))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file} is not TOML: {error}") from None
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def _cells(written: dict[str, Any]) -> list[Cell]:
    shared = _grid({name: value for name, value in written.items() if name != "cells"})
    tables = written.get("cells", [{}])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ValueError(f"cells must be tables, each begun by [[cells]], but is {tables!r:.60}")
    if not tables:
        raise ValueError("cells must have at least one table, but is empty")
    found: dict[str, Cell] = {}
    for place, table in enumerate(tables, 1):
        own = _grid(table)
        grid = {**shared, **own}
        _check_grid(grid, own if "cells" in written else shared)
        _add(found, _expanded(grid), f"[[cells]] table {place}")
    return list(found.values())


def _grid(table: dict[str, Any]) -> Grid:
    """Every setting as a list of its values."""
    return {name: _values(name, value) for name, value in table.items()}


def _values(name: str, value: Any) -> list[Any]:
    if name not in NAMES:
        nearest = difflib.get_close_matches(name, NAMES, 1, 0.5)
        hint = f"; the nearest is {nearest[0]}" if nearest else ""
        raise ValueError(f"no setting is named {name!r}{hint} (there are {', '.join(NAMES)})")
    if name == "seeds" and not isinstance(value, list):
        return list(range(_typed(name, value, 1)))
    values = value if isinstance(value, list) else [value]
    if not values:
        raise ValueError(f"{name} must have at least one value, but its list is empty")
    typed = [_typed(name, one, 0 if name == "seeds" else None) for one in values]
    if len(set(typed)) < len(typed):
        twice = next(one for one in typed if typed.count(one) > 1)
        raise ValueError(f"{name} must list each value once, but has {twice!r} twice")
    return typed


def _typed(name: str, value: Any, least: int | None) -> Any:
    hint = _TRAINING[name].type if name in _TRAINING else int
    kind = next((k for k in (int, float) if k in (hint, *get_args(hint))), str)
    fits = isinstance(value, (int, float) if kind is float else kind)
    if isinstance(value, bool) or not fits:
        raise ValueError(f"{name} must be {WORDS[kind]}, or a list of such, but is {value!r:.60}")
    if least is not None:
        checks.at_least(name, value, least)
    choices = _choices(hint)
    if choices and value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, but is {value!r:.60}")
    return kind(value)


def _choices(hint: Any) -> list[str]:
    """The texts that a Literal, or one inside an Optional, allows."""
    parts = [(part, *get_args(part)) for part in get_args(hint)]
    return [part for part in itertools.chain(*parts) if isinstance(part, str)]


def _check_grid(grid: Grid, own: Grid) -> None:
    for name, field in _TRAINING.items():
        if field.default is MISSING and name not in grid:
            raise ValueError(f"{name} must be given, but some cells have none")
    count = prod(map(len, grid.values()))
    if count > MOST:
        raise ValueError(f"a sweep must have at most {MOST:,} cells, but a grid has {count:,}")
    for name in DEEP:
        if name in own and "transformer" not in grid["model"]:
            models = " and ".join(grid["model"])
            raise ValueError(f"{name} belongs to the transformer, but was given for {models}")


def _expanded(grid: Grid) -> dict[str, Cell]:
    """Every combination; those that differ only in what a model does not use are one."""
    grid = dict(grid)
    seeds, sequences = grid.pop("seeds", [0]), grid.pop("sequences", [SEQUENCES])
    found: dict[str, Cell] = {}
    for values in itertools.product(*grid.values()):
        training = _training(dict(zip(grid, values, strict=True)), grid)
        for seed, count in itertools.product(seeds, sequences):
            cell = Cell(training, seed, count)
            found[cell.name] = cell
    return found


def _training(settings: dict[str, Any], grid: Grid) -> Training:
    try:
        return completed(Training(**settings))
    except ValueError as error:
        which = ", ".join(f"{name} = {value!r}" for name, value in settings.items())
        several = any(len(values) > 1 for values in grid.values())
        hint = "; what does not go together belongs in [[cells]] tables of its own"
        raise ValueError(f"{error} (in the cell {which}{hint if several else ''})") from None


def _add(found: dict[str, Cell], more: dict[str, Cell], place: str) -> None:
    for name, cell in more.items():
        if name in found:
            at = cell.training
            raise ValueError(
                f"each cell must be asked for once, but {place} repeats one of an earlier table: "
                f"{at.model}, actions {at.actions}, horizon {at.horizon}, seed {cell.seed}"
            )
        found[name] = cell
