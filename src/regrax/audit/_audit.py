"""The whole audit of a log: every agent, and the equilibrium gaps of agents that play together."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import msgspec

from regrax._tables import to_csv, to_html, to_latex, to_pandas
from regrax.audit._accumulate import new_tally, walk_agents
from regrax.audit._agent import AgentAudit, audit_agent
from regrax.audit._layout import Layout
from regrax.audit._log import Callback, Log, read_log
from regrax.audit._received import audit_received
from regrax.games import Game

AGENTS_PER_BATCH = 4096  # audited together


@dataclass(frozen=True)
class Gaps:
    """What the worst deviation from joint play gains, a round: the largest regret of any player, mean over episodes."""

    cce_gap: float
    ce_gap: float
    swap_gap: float


@dataclass(frozen=True)
class Audit:
    """What a log says: its agents, the gaps of their joint play if they share their rounds, and the rows left out.

    Attributes:
        rows: good ones.
        bad_rows: left out.
        bad: their lines, by reason.
        agents: an `AgentAudit` each.
        gaps: of joint play, if the agents share their rounds.
    """

    rows: int
    bad_rows: int
    bad: list[dict[str, str]]
    agents: list[AgentAudit]
    gaps: Gaps | None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, text and lists, as JSON takes them."""
        return msgspec.to_builtins(self)

    def columns(self) -> dict[str, list[Any]]:
        """A row per agent: rounds, loss and regrets a round with their 95 % intervals, and the verdict."""
        facts = ("agent", "feedback", "episodes", "rounds", "loss_per_round")
        table = {name: [getattr(agent, name) for agent in self.agents] for name in facts}
        for kind in dict.fromkeys(kind for agent in self.agents for kind in agent.regret):
            found = [agent.regret.get(kind) for agent in self.agents]
            for suffix, part in (("", "per_round"), ("_low", "low"), ("_high", "high")):
                table[f"{kind}_regret{suffix}"] = [getattr(one, part, None) for one in found]
        return {**table, "verdict": [agent.learning.verdict for agent in self.agents]}

    to_pandas, to_csv, to_latex, _repr_html_ = to_pandas, to_csv, to_latex, to_html


def audit_log(
    path: str | Path,
    callback: Callback | None = None,
    *,
    layout: Layout | None = None,
    game: Game | str | None = None,
) -> Audit:
    r"""Regret, mistakes and verdict of every agent in a log of JSON lines, CSV or Parquet, computed in float64.

    Args:
        path: the log.
        callback: told what is being done, how much of it is done, and of how much.
        layout: how the records of another harness become rows; see `Layout` and `read_layout`.
        game: whose payoffs tell the losses of every action, from what the players did.

    >>> import json, tempfile
    >>> path = Path(tempfile.mkdtemp()) / "log.jsonl"
    >>> _ = path.write_text("\n".join(json.dumps({"action": 0, "losses": [1, 0]}) for _ in range(30)))
    >>> audit = audit_log(path)
    >>> audit.agents[0].regret["external"].total, audit.agents[0].learning.verdict
    (30.0, 'not learning')
    >>> audit.columns()["external_regret"]
    [1.0]
    """
    report = callback or (lambda *_: None)
    log = read_log(Path(path), report, layout, game)
    bad = [{"lines": lines, "reason": reason} for lines, reason in log.bad]
    if not log.rows:
        first = f"line {bad[0]['lines']}: {bad[0]['reason']}" if bad else "the file holds none"
        raise ValueError(f"{path} has no usable row ({log.bad.count:,} bad); {first}")
    agents, done, names = [], 0, list(log.seats)
    with jax.enable_x64(True):
        for start in range(0, len(names), AGENTS_PER_BATCH):
            some = names[start : start + AGENTS_PER_BATCH]
            tallies = {n: new_tally(log, n) for n in some if log.seats[n].feedback != "received"}
            for count in walk_agents(log, tallies):
                report("episodes audited", done := done + count, len(log.last))
            agents += [
                audit_agent(log, n, tallies[n]) if n in tallies else audit_received(log, n)
                for n in some
            ]
    return Audit(log.rows, log.bad.count, bad, agents, _gaps(log, agents))


def verdicts(audit: Audit) -> str:
    """How many agents were given each verdict, the commonest first."""
    counts = Counter(agent.learning.verdict for agent in audit.agents)
    return ", ".join(f"{count:,} {verdict}" for verdict, count in counts.most_common())


def _gaps(log: Log, agents: list[AgentAudit]) -> Gaps | None:
    """Of agents that gave the losses of every action in the same rounds of the same episodes."""
    if len(agents) < 2 or any(agent.feedback != "full" for agent in agents):
        return None
    shapes = {
        tuple(sorted((group[1], log.buffer.rows(group)) for group in groups))
        for groups in log.episodes.values()
    }
    if len(shapes) > 1:
        return None
    kinds = ("external", "internal", "swap")
    return Gaps(*(max(agent.regret[kind].per_round for agent in agents) for kind in kinds))
