"""Audit agent logs in three steps.

1. `read`: files are records (`formats`), records are rows (`layouts`), and rows are numbers (`read`).
2. `sums`: the rounds of each episode are added up, and those of each context (`contexts`).
3. `verdict`: whether an agent learns; its regrets have intervals (`intervals`) and are in an `AgentAudit` (`audits`).

`compare` compares the audits of several agents.
"""

from .audits import (
    AgentAudit as AgentAudit,
    Audit as Audit,
    Gaps as Gaps,
    Swap as Swap,
    audit_log as audit_log,
    explored as explored,
    shown as shown,
    verdicts as verdicts,
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
from .verdict import Learning as Learning, Published as Published
