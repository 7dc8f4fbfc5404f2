"""The file of a sweep: its cells, the batches they form, and errors in one sentence."""

import pytest

from regrax.experiments.runs import TrainConfig
from regrax.experiments.sweep import batches, completed, name_of, read_sweep

GRID = 'model = "linear"\nactions = [2, 3]\nhorizon = [5, 10]\nseeds = 3\n'


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        file = tmp_path / "grid.toml"
        file.write_text(text)
        return read_sweep(file)

    return read_text


def test_every_combination_is_a_cell_in_the_files_order(read):
    cells = read(GRID)
    assert [(c.actions, c.horizon, c.first_seed) for c in cells] == [
        (d, T, seed) for d in (2, 3) for T in (5, 10) for seed in range(3)
    ]
    assert len({name_of(cell) for cell in cells}) == 12


def test_tables_extend_and_override_shared_settings(read):
    cells = read(
        'actions = 3\nhorizon = [5, 10]\nseeds = [4, 7]\n[[cells]]\nmodel = "linear"\nrate = [0.1, 1]\n'
        '[[cells]]\nmodel = "transformer"\nhorizon = 6\nlayers = [1, 2]\nseeds = 1\nsequences = 500'
    )
    found = [(c.model, c.horizon, c.rate, c.first_seed) for c in cells[:8]]
    assert found == [("linear", T, r, s) for T in (5, 10) for r in (0.1, 1.0) for s in (4, 7)]
    assert [(c.layers, c.horizon, c.first_seed) for c in cells[8:]] == [(1, 6, 0), (2, 6, 0)]
    assert {cell.sequences for cell in cells[8:]} == {500}


def test_ignored_settings_make_no_second_cell(read):
    cells = read('model = ["linear", "transformer"]\nactions = 2\nhorizon = 5\nwidth = [8, 16]')
    found = [(c.model, c.width) for c in cells]
    assert found == [("linear", 32), ("transformer", 8), ("transformer", 16)]


def test_defaults_written_out_give_the_same_cell(read):
    (short,) = read('model = "linear"\nactions = 3\nhorizon = 20')
    (long,) = read(
        'model = "linear"\nactions = 3\nhorizon = 20\nsteps = 300\nbatch = 2048\nrate = 0.03\n'
        'objective = "regret"\nseeds = [0]'
    )
    assert short == long
    assert name_of(short) == name_of(long)


def test_cells_that_differ_in_seed_and_rate_share_a_batch():
    def cell(seed, **more):
        return completed(TrainConfig("linear", 3, 20, first_seed=seed, **more))

    together = [cell(seed, rate=rate) for seed in range(2) for rate in (0.1, 0.2)]
    others = [cell(0, steps=7), cell(0, batch=1024), cell(0, distribution="laplace")]
    found = batches([*together, *others])
    assert sorted(map(len, found)) == [1, 1, 1, 4]
    assert set(max(found, key=len)) == set(together)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model = ", "grid.toml is not valid TOML: Invalid value"),
        (GRID + "widht = 3", "unknown setting 'widht'; did you mean width"),
        (GRID + "cells = 3", r"cells must be tables that start with \[\[cells\]\], got 3"),
        (GRID + "cells = []", "cells must have at least one table"),
        (GRID + "rate = []", "rate must have at least one value, got an empty list"),
        (GRID + "rate = [0.1, 0.1]", "rate must not repeat values, got 0.1 twice"),
        (GRID + 'rate = "high"', "rate must be numbers, got 'high'"),
        (GRID + "rate = -1.0", "rate must be above 0, got -1.0 .in the cell model = 'linear', actions = 2"),
        (GRID + "steps = true", "steps must be an integer >= 1, got True"),
        (GRID + "rate = [[0.1]]", "rate must be a number, a string or a list of them, got .0.1."),
        (GRID + "batch = 1500", "batch must be a multiple of 1024, or smaller than it, got 1500"),
        (GRID + "width = 8", "width is only for the transformer, got model linear"),
        (GRID.replace("seeds = 3", "seeds = 0"), "seeds must be an integer >= 1, got 0"),
        (GRID.replace("seeds = 3", "seeds = [-1]"), "seeds must be an integer >= 0, got -1"),
        (GRID.replace("seeds = 3", "seeds = 200_000"), "seeds must be at most 100,000, got 200000"),
        (GRID.replace('"linear"', '"lstm"'), "model must be one of linear, full, swap, transformer, got 'lstm'"),
        (GRID.replace('"linear"', '["linear", "swap"]') + 'objective = "regret"', "separate .* tables"),
        ("actions = 2\nhorizon = 5", "model must be set for all cells"),
        (GRID + "[[cells]]\nrate = 0.1\n[[cells]]\nrate = [0.2, 0.1]", "table 2 repeats a cell .*: linear, actions 2"),
    ],
)  # fmt: skip
def test_an_error_names_the_file_in_one_sentence(read, text, message, as_users_run_it):
    with pytest.raises(ValueError, match=message) as caught:
        read(text)
    assert "grid.toml" in str(caught.value)
    assert "\n" not in str(caught.value)
