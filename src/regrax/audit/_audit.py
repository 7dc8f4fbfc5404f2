"""The whole audit of a log: every agent, and the equilibrium gaps of agents that play together."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax

from regrax.audit._agent import AgentAudit, audit_agent
from regrax.audit._log import Log, read_log


@dataclass(frozen=True)
class Gaps:
    """What the worst deviation from joint play gains, a round: the largest regret of any player, mean over episodes."""

    cce_gap: float
    ce_gap: float
    swap_gap: float


@dataclass(frozen=True)
class Audit:
    """What a log says: its agents, the gaps of their joint play if they share their rounds, and the rows left out."""

    rows: int
    bad_rows: int
    bad: list[dict[str, str]]  # lines and reason
    agents: list[AgentAudit]
    gaps: Gaps | None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, text and lists, as JSON takes them."""
        return asdict(self)


def audit_log(path: str | Path) -> Audit:
    r"""Regret, mistakes and verdict of every agent in a log of JSON lines, CSV or Parquet, computed in float64.

    >>> import json, tempfile
    >>> path = Path(tempfile.mkdtemp()) / "log.jsonl"
    >>> _ = path.write_text("\n".join(json.dumps({"action": 0, "losses": [1, 0]}) for _ in range(30)))
    >>> audit = audit_log(path)
    >>> audit.agents[0].regret["external"].total, audit.agents[0].learning.verdict
    (30.0, 'not learning')
    """
    log = read_log(Path(path))
    bad = [{"lines": lines, "reason": reason} for lines, reason in log.bad]
    if not log.rows:
        first = f"line {bad[0]['lines']}: {bad[0]['reason']}" if bad else "the file holds none"
        raise ValueError(f"{path} has no usable row ({log.bad.count:,} bad); {first}")
    with jax.enable_x64(True):
        agents = [audit_agent(log, agent) for agent in log.seats]
    return Audit(log.rows, log.bad.count, bad, agents, _gaps(log, agents))


def _gaps(log: Log, agents: list[AgentAudit]) -> Gaps | None:
    """Of agents that gave the losses of every action in the same rounds of the same episodes."""
    shapes = [
        sorted((episode, log.spool.rows((agent, episode))) for agent, episode in log.episodes(name))
        for name in log.seats
    ]
    together = len(agents) > 1 and all(shape == shapes[0] for shape in shapes)
    if not together or any(agent.feedback != "full" for agent in agents):
        return None
    worst = {
        k: max(a.regret[k].per_round for a in agents) for k in ("external", "internal", "swap")
    }
    return Gaps(worst["external"], worst["internal"], worst["swap"])
