"""Audit: from a log of what agents did to their regret, their worst mistake, and whether they learn."""

from ._agent import AgentAudit as AgentAudit, Swap as Swap
from ._audit import Audit as Audit, Gaps as Gaps, audit_log as audit_log, verdicts as verdicts
from ._bootstrap import Measure as Measure
from ._compare import (
    Comparison as Comparison,
    Contestant as Contestant,
    Pair as Pair,
    compare_logs as compare_logs,
)
from ._layout import Layout as Layout, layout_of as layout_of, read_layout as read_layout
from ._text import counted as counted, explored as explored, shown as shown
from ._verdict import Learning as Learning, Published as Published
