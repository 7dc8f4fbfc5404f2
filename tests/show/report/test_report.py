"""The report's page and figures: whole, self-contained, safe, and honest about what cannot be drawn."""

import re
import xml.etree.ElementTree as tree
from html.parser import HTMLParser

import pytest

from regrax.show.report import Chart, Section, Series, Table, Ternary, draw, render
from regrax.show.report._page import read

CHART = Chart(
    "gaps",
    "Gaps <fall>",
    "round",
    "gap",
    [
        Series("CCE", [1, 10, 100], [0.3, 0.1, -0.01], [0.1, 0.05, 0.05]),
        Series("measured", [1, 100], [0.2, 0.02], [0.01, 0.01], style="points", color=1),
    ],
    x_log=True,
    y_log=True,
)
TRIANGLE = Ternary(
    "play", "Play", ("a", "b", "c"), {"row": [[1, 0, 0], [0, 0.5, 0.5]]}, (1 / 3,) * 3
)


@pytest.mark.parametrize("figure", [CHART, TRIANGLE])
def test_figures_are_well_formed_and_answer_to_the_pointer(figure):
    root = tree.fromstring(draw(figure))
    tips = [node.text for node in root.iter("title")]
    assert any("round" in tip for tip in tips)
    assert root.attrib["data-figure"] == figure.name


def test_a_log_axis_leaves_out_what_is_not_positive():
    tips = [node.text for node in tree.fromstring(draw(CHART)).iter("title")]
    assert sum("CCE" in tip for tip in tips) == 2


def test_points_land_where_the_axes_say():
    chart = Chart("c", "t", "x", "y", [Series("s", [0, 5, 10], [0, 1, 2], style="points")])
    dots = [n for n in tree.fromstring(draw(chart)).iter("circle") if "dot" in n.attrib["class"]]
    xs, ys = ([float(n.attrib[a]) for n in dots] for a in ("cx", "cy"))
    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1], abs=0.2)
    assert ys[0] - ys[1] == pytest.approx(ys[1] - ys[2], abs=0.2)
    assert ys[0] > ys[2]


def test_a_long_curve_keeps_its_line_but_thins_its_hover_points():
    many = list(range(1, 10_001))
    root = tree.fromstring(draw(Chart("c", "t", "x", "y", [Series("s", many, many)])))
    assert len(next(root.iter("polyline")).attrib["points"].split()) == 10_000
    assert sum(1 for _ in root.iter("title")) <= 60


def test_a_constant_curve_still_has_an_axis():
    assert "<polyline" in draw(Chart("c", "t", "x", "y", [Series("s", [1, 2], [0.5, 0.5])]))


class Balance(HTMLParser):
    """Counts tags left open."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in {"meta", "link"}:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_self_contained_balanced_and_escaped():
    section = Section(
        "a",
        "A <b>",
        ["x < y"],
        [CHART],
        [Table(("q", "ours"), [("<i>", "0.1")])],
        [read("architecture.html")],
    )
    page = render("Title & more", ["lead"], [section], "footer")
    reader = Balance()
    reader.feed(page)
    assert reader.open == []
    assert not re.search(r'(?:src|href)="(?!#|data:)', page)
    assert "<i>" not in page
    assert "x &lt; y" in page


@pytest.mark.parametrize("size", [(1200, 1600), (500, 2400)], ids=["desk", "phone"])
def test_a_browser_draws_every_figure_and_complains_of_nothing(browse, size):
    table = Table(("what", "a long name of a column", "ours"), [("gap", "words " * 9, "0.09")] * 3)
    section = Section(
        "a", "First", ["Text."], [CHART, TRIANGLE], [table], [read("architecture.html")]
    )
    shown = browse(render("Report", ["Short."], [section]), f"page-{size[0]}", size=size)
    assert len(shown.figures) == 3
    for name, width, height, marks in shown.figures:
        assert width > 200 and height > 150 and marks >= 5, name  # noqa: PT018
    assert shown.overflow <= 0
    assert shown.console == []


def test_a_browser_complaint_fails_a_page(browse):
    page = render("Report", [], []).replace("</body>", "<script>nothing.here()</script></body>")
    assert any("nothing is not defined" in line for line in browse(page, "broken").console)
