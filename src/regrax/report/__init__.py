"""The report room: figures as interactive SVG, and the self-contained HTML page around them."""

from regrax.report.architecture import architecture
from regrax.report.chart import Chart, Figure, Series, Ternary
from regrax.report.page import Section, Table, render
from regrax.report.svg import draw

__all__ = [
    "Chart",
    "Figure",
    "Section",
    "Series",
    "Table",
    "Ternary",
    "architecture",
    "draw",
    "render",
]
