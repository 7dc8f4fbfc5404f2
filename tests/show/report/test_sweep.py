"""Report of a sweep: groups of cells, every chart in a browser, and cells without a known optimum."""

import itertools
import random
from functools import cache

import pytest

from regrax import theory
from regrax.experiments.runs import Measured, TrainConfig
from regrax.experiments.sweep import CellResult, groups, summary
from regrax.show.report import sweep_page

KINDS = {
    ("linear", 2, 32): 1.0,
    ("swap", 2, 32): 1.1,
    ("transformer", 1, 16): 0.7,
    ("transformer", 2, 8): 0.5,
    ("transformer", 2, 16): 0.4,
    ("transformer", 4, 16): 0.3,
}


@cache
def exact(d, T):
    """Return the lower bound on the loss, the step of Hedge, and its loss."""
    step = theory.step_size(d, T)
    return theory.optimal_loss(d, T), step, theory.loss(step, d, T)


def made(actions=(2, 3), horizons=(10, 20, 40), known=True, **more):
    """Return rows like those of a sweep, with known gaps."""
    drawn = random.Random(0)
    rows = []
    for d, T, ((model, layers, width), gap), seed in itertools.product(
        actions, horizons, KINDS.items(), range(2)
    ):
        least, step, level = exact(d, T)
        heads = d if model == "swap" else 1
        loss = least + gap * heads * (level - least)
        near = step * drawn.uniform(0.97, 1.03)
        settings = {"layers": layers, "width": width, "first_seed": seed, **more}
        config = TrainConfig(model, d, T, **settings)
        measured = Measured(loss, 0.0, least if known else None, near, 0.0, 0.0)
        count = 10**6 * T * d * layers * width if known else None
        rows.append(CellResult(config, measured, 1.0, count, ""))
    return rows


def test_groups_have_gaps_and_distinct_labels():
    found = groups(made())
    for group in found:
        key = (group.row.config.model, group.row.config.layers, group.row.config.width)
        assert group.mean["gap"] == pytest.approx(KINDS[key])
        assert group.seeds == 2
    deep = {
        f"transformer {layers}x{width}" for model, layers, width in KINDS if model == "transformer"
    }
    assert {group.label for group in found} == {"linear", "swap"} | deep
    both = groups([*made((2,), (10,), rate=0.1), *made((2,), (10,), rate=0.2)])
    assert {"linear, rate 0.1", "linear, rate 0.2"} <= {group.label for group in both}


@pytest.mark.parametrize(
    ("size", "dark"),
    [((1200, 4400), False), ((1200, 4400), True), ((500, 8000), False)],
    ids=["light", "dark", "phone"],
)  # fmt: skip
def test_a_browser_draws_every_figure(browse, size, dark):
    failed = {"linear-d2-T10-s0": "TrainingDiverged: the loss must be a finite number, " * 3}
    page = sweep_page(made(), failed, "architectures")
    shown = browse(page, f"sweep-{size[0]}-{'dark' if dark else 'light'}", size=size, dark=dark)
    names = {f"step-{place}" for place in range(len(KINDS))} | {"gaps", "limit-actions-2"}
    names |= {"limit-actions-3", "gap-width", "gap-layers", "gap-compute"}
    assert {name for name, *_ in shown.figures} == names
    for name, width, height, marks in shown.figures:
        assert width > 200 and height > 150 and marks >= 3, name  # noqa: PT018
    assert shown.overflow <= 0
    assert shown.console == []


PAGES = {
    "one size": (made((2,), (10,)), ["limit-actions-2", "70% of the way to the best possible"]),
    "actions": (made((2, 3, 5), (10,)), ["limit-horizon-10"]),
    "no optimum": (made(known=False), ["only in the table", "transformer 4x16", "<td></td>"]),
    "failures": ([], ["No cells are finished", "1 cell failed", "no &lt;b&gt;"]),
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_what_the_sweep_has(name):
    rows, parts = PAGES[name]
    page = sweep_page(rows, {} if rows else {"cell": "no <b>"}, name)
    for part in parts:
        assert part in page
    has_optimum = rows and rows[0].measured.optimal_loss is not None
    assert ("<svg" in page) == bool(has_optimum)
    if has_optimum:
        assert "transformer 4x16 plays best" in page.partition("<nav>")[0]


def test_unknown_numbers_are_missing_in_the_summary():
    first, *_ = summary(made(known=False))
    assert first["gap"] is first["operations"] is None
