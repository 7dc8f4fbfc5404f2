"""Pages of reports: self-contained, escaped, and drawn by a browser without complaints."""

import re
import xml.etree.ElementTree as tree
from html.parser import HTMLParser

import numpy as np
import pytest

from regrax.show.report import (
    ARCHITECTURE,
    Answer,
    Chart,
    Interval,
    Intervals,
    Section,
    Series,
    Table,
    Ternary,
    draw,
    render,
)

CHART = Chart(
    "gaps",
    "Gaps <fall> for $5",
    "round, $",
    "gap",
    [
        Series("CCE", [1, 10, 100], [0.3, 0.1, -0.01], [0.1, 0.15, 0.05]),
        Series("measured", [1, 100], [0.2, 0.02], [0.01, 0.01], style="points", color=1),
        Series("dashed <i>", [1, 100], [0.2, 0.02], style="dashed", color=6),
    ],
    x_log=True,
    y_log=True,
    caption="x < y",
)
TRIANGLE = Ternary(
    "play", "Play", ("a", "b", "c"), {"row": [[1, 0, 0], [0, 0.5, 0.5]]}, (1 / 3,) * 3
)

ROWS = [Interval("B minus A", -3.1, -5.0, -1.2), Interval("C minus <A>", 1.0, color=6)]
INTERVALS = Intervals("pairs", "Differences", "regret", ROWS)


@pytest.mark.parametrize(
    "figure", [CHART, TRIANGLE, INTERVALS], ids=["chart", "ternary", "intervals"]
)
def test_figures_are_small_svg_in_the_colours_of_the_page(figure):
    text = draw(figure)
    root = tree.fromstring(text)
    assert root.attrib["data-figure"] == figure.name
    assert root.attrib["aria-label"] == figure.title
    assert "var(--c0)" in text
    assert "var(--ink)" in text
    assert not re.search(r"#[0-9a-f]{6}", text), "a fixed colour is not legible in dark mode"
    assert len(text) < 40_000
    assert draw(figure) == text


def test_axis_labels_are_text():
    words = {node.text for node in tree.fromstring(draw(CHART)).iter("text")}
    assert {"round, $", "gap", "1", "10", "100", "0.1"} <= words


MANY = np.arange(1, 10_001)
HARD = {
    "constant": Chart("c", "t", "x", "y", [Series("s", [1, 2], [0.5, 0.5])]),
    "one point": Chart("c", "t", "x", "y", [Series("s", [1], [0.5])], True, True),
    "nothing positive": Chart("c", "t", "x", "y", [Series("s", [1, 2], [-1.0, 0.0])], True, True),
    "nothing finite": Chart("c", "t", "x", "y", [Series("s", [1, 2], [np.nan, np.inf])]),
    "within a decade": Chart("c", "t", "x", "y", [Series("s", [1, 2], [1.2, 1.3])], False, True),
    "long": Chart("c", "t", "x", "y", [Series("s", MANY, np.sqrt(MANY))]),
}


@pytest.mark.parametrize("name", HARD)
def test_hard_data_is_drawn_small_and_without_a_warning(name):
    assert len(draw(HARD[name])) < 40_000


def test_tables_have_the_numbers_of_the_terminal():
    rows = [("gap", 0.0912345, None), ("rounds", 1200, -2.5)]
    table = Table(("what", "ours", "error"), rows)
    page = render("Report", [], [Section("a", "A", tables=[table])])
    assert "<td>gap</td><td class=number>0.09123</td><td></td>" in page
    assert "<td class=number>1,200</td><td class=number>-2.500</td>" in page


class Balance(HTMLParser):
    """Checks that every tag is closed."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in {"meta", "link"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_self_contained_balanced_and_escaped():
    table = Table(("q", "ours"), [("<i>", "0.1")])
    figures = [CHART, TRIANGLE, INTERVALS]
    section = Section("a", "A <b>", ["x < y"], figures, [table], [ARCHITECTURE])
    answers = [Answer("1 < 2", "<yes>", "good"), Answer("no badge")]
    page = render("Title & more", ["lead"], [section], "footer", answers=answers)
    assert '<span class="badge good">&lt;yes&gt;</span> 1 &lt; 2' in page
    reader = Balance()
    reader.feed(page)
    assert reader.open == []
    assert not re.search(r'(?:src|href)="(?!#|data:)', page)
    assert "<i>" not in page
    assert "<script" not in page
    assert "x &lt; y" in page


@pytest.mark.parametrize("size", [(1200, 1600), (390, 2400)], ids=["desk", "phone"])
def test_a_browser_draws_every_figure(browse, size):
    table = Table(("what", "a long name of a column", "ours"), [("gap", "words " * 9, "0.09")] * 3)
    figures = [CHART, TRIANGLE, INTERVALS]
    section = Section("a", "First", ["Text."], figures, [table], [ARCHITECTURE])
    shown = browse(render("Report", ["Short."], [section]), f"page-{size[0]}", size=size)
    assert len(shown.figures) == 4
    for name, width, height, marks in shown.figures:
        assert width > 200, name
        assert height > 100, name
        assert marks >= 3, name
    assert shown.overflow <= 0
    assert shown.console == []
