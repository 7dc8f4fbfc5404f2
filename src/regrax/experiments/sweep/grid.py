r"""Cells of a sweep, read from a TOML file in which each setting is a value or a list of values.

    actions = [2, 3, 5]          # settings of all cells
    horizon = [10, 20]
    seeds = 3                    # the number of seeds (here 0, 1 and 2), or a list of seeds

    [[cells]]                    # any number of grids; without [[cells]] the settings above are the grid
    model = "linear"

    [[cells]]
    model = "transformer"
    layers = [2, 4]

Each combination of values is a cell, that is, a training run with one seed. Names and defaults are those of
`rx.TrainConfig`, except that `sequences` defaults to 20,000.
"""

import difflib
import itertools
import tomllib
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from math import ceil, prod
from pathlib import Path
from typing import Any

import jax

from regrax import _checks as checks
from regrax._files import read_limited
from regrax.attention import MODELS
from regrax.experiments.runs import (
    DEEP,
    TrainConfig,
    build_objective,
    model_shapes,
    taken_settings,
)
from regrax.experiments.store import digest

MAX_CELLS = 100_000
MAX_SWEEP_BYTES = 2**20
TEST_SEQUENCES = 20_000
CELLS_PER_BATCH = 8
"""Cells in one vmap; more are no faster on a CPU, and an error repeats the entire batch."""
SETTINGS = list(TrainConfig.__dataclass_fields__)
SETTINGS.remove("first_seed")

Batch = tuple[TrainConfig, ...]


def read_sweep(file: str | Path) -> list[TrainConfig]:
    """Read the cells of a sweep from a TOML file, in file order.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "small.toml"
    >>> _ = file.write_text('model = "linear"\\nactions = [2, 3]\\nhorizon = 10\\nseeds = 2')
    >>> [(cell.actions, cell.first_seed) for cell in read_sweep(file)]
    [(2, 0), (2, 1), (3, 0), (3, 1)]
    """
    file = Path(file)
    try:
        return _read_cells(tomllib.loads(read_limited(file, MAX_SWEEP_BYTES).decode()))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file} is not valid TOML: {error}") from None
    except RecursionError:
        raise ValueError(f"{file} is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def _read_cells(settings: dict[str, Any]) -> list[TrainConfig]:
    tables = settings.pop("cells", None)
    if tables is None:
        settings, tables = {}, [settings]
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise ValueError(f"cells must be tables that start with [[cells]], got {tables!r:.60}")
    if not tables:
        raise ValueError("cells must have at least one table, got none")
    shared = {name: _read_values(name, value) for name, value in settings.items()}
    cells: dict[TrainConfig, None] = {}
    for number, table in enumerate(tables, 1):
        own = {name: _read_values(name, value) for name, value in table.items()}
        grid = {**shared, **own}
        if "model" not in grid:
            raise ValueError("model must be set for all cells")
        count = prod(len(values) for values in grid.values())
        if count > MAX_CELLS:
            raise ValueError(f"a sweep must have at most {MAX_CELLS:,} cells, got {count:,}")
        for name in DEEP:
            if name in own and not {"transformer", *MODELS} & set(grid["model"]):
                models = " and ".join(map(str, grid["model"]))
                raise ValueError(f"{name} is only for the transformer, got model {models}")
        new = dict.fromkeys(_expand(grid))
        for cell in new:
            if cell in cells:
                raise ValueError(
                    f"cells must differ, but [[cells]] table {number} repeats a cell of an earlier table: "
                    f"{cell.model}, actions {cell.actions}, horizon {cell.horizon}, seed {cell.first_seed}"
                )
        cells |= new
    return list(cells)


def _read_values(name: str, value: Any) -> list[Any]:
    if name not in SETTINGS:
        close = difflib.get_close_matches(name, SETTINGS, 1, 0.5)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise ValueError(f"unknown setting {name!r}{hint} (settings are {', '.join(SETTINGS)})")
    if name == "seeds" and not isinstance(value, list):
        checks.at_least(name, value, 1, MAX_CELLS)
        return list(range(value))
    values = value if isinstance(value, list) else [value]
    if not values:
        raise ValueError(f"{name} must have at least one value, got an empty list")
    for entry in values:
        if not isinstance(entry, int | float | str):
            raise ValueError(
                f"{name} must be a number, a string or a list of them, got {entry!r:.60}"
            )
        if name == "seeds":
            checks.at_least(name, entry, 0)
    for entry, count in Counter(values).items():
        if count > 1:
            raise ValueError(f"{name} must not repeat values, got {entry!r:.60} twice")
    return values


def _expand(grid: dict[str, list[Any]]) -> Iterable[TrainConfig]:
    """Yield a cell for each combination of values; settings that a model ignores yield equal cells."""
    seeds = grid.pop("seeds", [0])
    sequences = grid.pop("sequences", [TEST_SEQUENCES])
    for values in itertools.product(*grid.values()):
        settings = dict(zip(grid, values, strict=True))
        try:
            config = completed(TrainConfig(**settings))
        except ValueError as error:
            cell = ", ".join(f"{name} = {value!r}" for name, value in settings.items())
            hint = ""
            if any(len(options) > 1 for options in grid.values()):
                hint = "; put incompatible settings in separate [[cells]] tables"
            raise ValueError(f"{error} (in the cell {cell}{hint})") from None
        for seed, count in itertools.product(seeds, sequences):
            yield replace(config, first_seed=seed, sequences=count)


def completed(config: TrainConfig) -> TrainConfig:
    """Fill in the model's defaults, and reset the settings that it ignores.

    >>> completed(TrainConfig("linear", 3, 20, width=64)) == completed(TrainConfig("linear", 3, 20, steps=300))
    True
    """
    checks.instance("config", config, TrainConfig, "a TrainConfig")
    checks.at_least("horizon", config.horizon, 2)
    usual = build_objective(config).recipe(model_shapes(config))
    batch = config.batch or usual.batch
    if batch % min(batch, usual.chunk):
        raise ValueError(
            f"batch must be a multiple of {usual.chunk}, or smaller than it, got {batch}"
        )
    ignored = set(DEEP) - set(taken_settings(config))
    return replace(
        config,
        objective=config.objective_name,
        steps=config.steps or usual.steps,
        batch=batch,
        rate=float(config.rate or usual.rate),
        **{name: getattr(TrainConfig, name) for name in ignored},
    )


def name_of(cell: TrainConfig) -> str:
    """Return the name of a cell: its main settings and a hash of all of them.

    >>> name_of(completed(TrainConfig("linear", actions=3, horizon=20, first_seed=1)))[:17]
    'linear-d3-T20-s1-'
    """
    return f"{cell.model}-d{cell.actions}-T{cell.horizon}-s{cell.first_seed}-{digest(cell)}"


def batches(cells: Iterable[TrainConfig]) -> list[Batch]:
    """Group cells that differ only in seed and learning rate into batches, longest computation first.

    >>> config = completed(TrainConfig("linear", actions=3, horizon=20))
    >>> [len(batch) for batch in batches(replace(config, first_seed=seed) for seed in range(10))]
    [5, 5]
    """
    groups: dict[TrainConfig, list[TrainConfig]] = {}
    for cell in cells:
        groups.setdefault(replace(cell, first_seed=0, rate=None), []).append(cell)
    parts = []
    for group in groups.values():
        size = ceil(len(group) / ceil(len(group) / CELLS_PER_BATCH))
        parts += [tuple(group[first : first + size]) for first in range(0, len(group), size)]
    return sorted(parts, key=_work, reverse=True)


def _work(batch: Batch) -> int:
    """Estimate how long a batch takes by counting the numbers that training reads."""
    cell = batch[0]
    parameters = sum(leaf.size for leaf in jax.tree.leaves(model_shapes(cell)))
    numbers = cell.horizon * (parameters + 20 * cell.actions)
    return len(batch) * (cell.steps or 0) * (cell.batch or 0) * numbers
