"""Audit: from a log of what agents did to their regret, their worst mistake, and whether they learn."""

from regrax.audit._agent import AgentAudit, Measure, Swap
from regrax.audit._audit import Audit, Gaps, audit_log, verdicts
from regrax.audit._compare import Comparison, Contestant, Pair, compare_logs
from regrax.audit._layout import Layout, layout_of, read_layout
from regrax.audit._text import counted, explored, shown
from regrax.audit._verdict import Learning, Published

__all__ = [
    "AgentAudit",
    "Audit",
    "Comparison",
    "Contestant",
    "Gaps",
    "Layout",
    "Learning",
    "Measure",
    "Pair",
    "Published",
    "Swap",
    "audit_log",
    "compare_logs",
    "counted",
    "explored",
    "layout_of",
    "read_layout",
    "shown",
    "verdicts",
]
