"""The names of `regrax.show.report`, each loaded on first use: a page needs only what it shows."""

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
from ._paper import paper_page as paper_page
from ._posttrain import posttrain_page as posttrain_page
from ._svg import draw as draw
from ._sweep import sweep_page as sweep_page
