r"""A sweep as a TOML file: every setting a value or a list of values, every combination a cell.

    actions = [2, 3, 5]          # what all cells share
    horizon = [10, 20]
    seeds = 3                    # how many: 0, 1 and 2; a list says which

    [[cells]]                    # grids of their own, as many as wanted; without any the above is the grid
    model = "linear"

    [[cells]]
    model = "transformer"
    layers = [2, 4]

The names are those of `rx.TrainConfig`; what is not given is as by default, `sequences` 20,000.
"""

import difflib
import itertools
import tomllib
from collections import Counter
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

from regrax import _checks as checks
from regrax._files import read_limited
from regrax._settings import Setting, settings_of
from regrax.experiments.runs import DEEP, TrainConfig

MAX_CELLS = 100_000
MAX_SWEEP_BYTES = 2**20
TEST_SEQUENCES = 20_000
WORDS = {int: "an integer", float: "a number", str: "a text in quotes"}
SETTINGS = {one.name: one for one in settings_of(TrainConfig) if one.name != "first_seed"}

Grid = dict[str, list[Any]]


def read_sweep(file: str | Path) -> list[TrainConfig]:
    """The cells that a TOML file asks for, in its order.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "small.toml"
    >>> _ = file.write_text('model = "linear"\\nactions = [2, 3]\\nhorizon = 10\\nseeds = 2')
    >>> [(cell.actions, cell.first_seed) for cell in read_sweep(file)]
    [(2, 0), (2, 1), (3, 0), (3, 1)]
    """
    file = Path(file)
    try:
        return _cells(tomllib.loads(read_limited(file, MAX_SWEEP_BYTES).decode()))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file} is not TOML: {error}") from None
    except RecursionError:
        raise ValueError(f"{file} is not TOML as sweeps have it: it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def _cells(written: dict[str, Any]) -> list[TrainConfig]:
    tables = written.pop("cells", None)
    if tables is None:
        written, tables = {}, [written]
    shared = {name: _values(name, value) for name, value in written.items()}
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ValueError(f"cells must be tables, each begun by [[cells]], got {tables!r:.60}")
    if not tables:
        raise ValueError("cells must have at least one table, got none")
    found: dict[TrainConfig, None] = {}
    for place, table in enumerate(tables, 1):
        own = {name: _values(name, value) for name, value in table.items()}
        grid = {**shared, **own}
        _check_grid(grid, own)
        cells = _expanded(grid)
        for cell in cells:
            if cell in found:
                raise ValueError(
                    f"each cell must be asked for once, but [[cells]] table {place} repeats one of an earlier table: "
                    f"{cell.model}, actions {cell.actions}, horizon {cell.horizon}, seed {cell.first_seed}"
                )
        found |= cells
    return list(found)


def _values(name: str, value: Any) -> list[Any]:
    """A setting as a list of its values."""
    if name not in SETTINGS:
        close = difflib.get_close_matches(name, SETTINGS, 1, 0.5)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise ValueError(f"unknown setting {name!r}{hint} (there are {', '.join(SETTINGS)})")
    setting, seeds = SETTINGS[name], name == "seeds"
    if seeds and not isinstance(value, list):
        checks.at_least(name, _typed(setting, value), 1, MAX_CELLS)
        return list(range(value))
    values = value if isinstance(value, list) else [value]
    if not values:
        raise ValueError(f"{name} must have at least one value, got an empty list")
    typed = [_typed(setting, one) for one in values]
    for one in typed if seeds else ():
        checks.at_least(name, one, 0)
    twice = [one for one, count in Counter(typed).items() if count > 1]
    if twice:
        raise ValueError(f"{name} must list each value once, got {twice[0]!r:.60} twice")
    return typed


def _typed(setting: Setting, value: Any) -> Any:
    name, kind, choices, *_ = setting
    fits = isinstance(value, (int, float) if kind is float else kind)
    if isinstance(value, bool) or not fits:
        raise ValueError(f"{name} must be {WORDS[kind]}, or a list of such, got {value!r:.60}")
    if choices and value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r:.60}")
    return kind(value)


def _check_grid(grid: Grid, own: Grid) -> None:
    if "model" not in grid:
        raise ValueError("model must be given, but some cells have none")
    count = prod(map(len, grid.values()))
    if count > MAX_CELLS:
        raise ValueError(f"a sweep must have at most {MAX_CELLS:,} cells, got {count:,}")
    for name in DEEP:
        if name in own and "transformer" not in grid["model"]:
            models = " and ".join(grid["model"])
            raise ValueError(f"{name} belongs to the transformer, got it for {models}")


def _expanded(grid: Grid) -> dict[TrainConfig, None]:
    """Every combination; those that differ only in what a model does not use are one."""
    seeds, sequences = grid.pop("seeds", [0]), grid.pop("sequences", [TEST_SEQUENCES])
    found: dict[TrainConfig, None] = {}
    for values in itertools.product(*grid.values()):
        config = _config(dict(zip(grid, values, strict=True)), grid)
        for seed, count in itertools.product(seeds, sequences):
            found[replace(config, first_seed=seed, sequences=count)] = None
    return found


def _config(settings: dict[str, Any], grid: Grid) -> TrainConfig:
    try:
        config = TrainConfig(**settings)
        # not before numbers are known to be good
        from regrax.experiments.sweep._cells import completed

        return completed(config)
    except ValueError as error:
        which = ", ".join(f"{name} = {value!r}" for name, value in settings.items())
        several = any(len(values) > 1 for values in grid.values())
        hint = "; what does not go together belongs in [[cells]] tables of its own"
        raise ValueError(f"{error} (in the cell {which}{hint if several else ''})") from None
