"""Audit logs of agents in three steps.

1. read: files and layouts become rows, rows become numbers (`formats`, `layouts`, `rows`, `resolve`, `log`);
2. sums: the rounds of each episode are summed (`sums`);
3. verdict: the sums become regrets with intervals and a verdict (`intervals`, `evidence`, `verdict`, `audits`).

`compare` compares the audits of several agents.
"""

from .audits import (
    AgentAudit as AgentAudit,
    Audit as Audit,
    Gaps as Gaps,
    Measure as Measure,
    Swap as Swap,
    audit_log as audit_log,
    counted as counted,
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
from .layouts import Layout as Layout, layout_of as layout_of, read_layout as read_layout
from .verdict import Learning as Learning, Published as Published
