"""Reports: figures as interactive SVG, and the self-contained HTML page around them."""

from ._audit import audit_page as audit_page
from ._chart import (
    Chart as Chart,
    Figure as Figure,
    Series as Series,
    Style as Style,
    Ternary as Ternary,
)
from ._compare import compare_page as compare_page
from ._page import Section as Section, Table as Table, render as render
from ._posttrain import posttrain_page as posttrain_page
from ._svg import draw as draw
from ._sweep import sweep_page as sweep_page
