"""Reports: self-contained HTML pages with charts and tables."""

from regrax.show.plots.sheets import number as number

from .audit import audit_page as audit_page
from .benchmark import benchmark_page as benchmark_page
from .charts import (
    Chart as Chart,
    Figure as Figure,
    Interval as Interval,
    Intervals as Intervals,
    Series as Series,
    Style as Style,
    Ternary as Ternary,
    draw as draw,
)
from .compare import compare_page as compare_page
from .page import (
    ARCHITECTURE as ARCHITECTURE,
    Answer as Answer,
    Section as Section,
    Table as Table,
    render as render,
)
from .posttrain import posttrain_page as posttrain_page
from .sweep import sweep_page as sweep_page
