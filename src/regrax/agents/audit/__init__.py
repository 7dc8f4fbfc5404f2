"""Audit agent logs in three steps.

1. Read: convert files to rows, and rows to numbers (`formats`, `layouts`, `rows`, `log`).
2. Sum: add up the rounds of each episode (`sums`), and of each context (`contexts`).
3. Judge: compute regrets, intervals and a verdict from the sums (`intervals`, `verdict`, `audits`).

`compare` compares the audits of several agents.
"""

from regrax._text import counted as counted

from .audits import (
    AgentAudit as AgentAudit,
    Audit as Audit,
    Gaps as Gaps,
    Swap as Swap,
    audit_log as audit_log,
)
from .compare import (
    Comparison as Comparison,
    Contestant as Contestant,
    Pair as Pair,
    compare_logs as compare_logs,
)
from .contexts import Context as Context, Contexts as Contexts
from .intervals import Measure as Measure
from .layouts import Layout as Layout, layout_of as layout_of, read_layout as read_layout
from .text import explored as explored, shown as shown, verdicts as verdicts
from .verdict import Learning as Learning, Published as Published
