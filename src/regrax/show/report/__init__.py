"""Reports: figures as interactive SVG, and the self-contained HTML page around them."""

from regrax.show.report._audit import audit_page
from regrax.show.report._chart import Chart, Figure, Series, Style, Ternary
from regrax.show.report._compare import compare_page
from regrax.show.report._page import Section, Table, render
from regrax.show.report._paper import paper_page
from regrax.show.report._posttrain import posttrain_page
from regrax.show.report._svg import draw
from regrax.show.report._sweep import sweep_page

__all__ = [
    "Chart",
    "Figure",
    "Section",
    "Series",
    "Style",
    "Table",
    "Ternary",
    "audit_page",
    "compare_page",
    "draw",
    "paper_page",
    "posttrain_page",
    "render",
    "sweep_page",
]
