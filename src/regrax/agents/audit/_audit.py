"""The whole audit of a log: every agent, and the equilibrium gaps of agents that play together."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from regrax import _checks as checks
from regrax._tables import to_csv, to_html, to_latex, to_pandas
from regrax.agents.audit._accumulate import Tally, new_tally, walk_agents
from regrax.agents.audit._agent import AgentAudit, audit_agent
from regrax.agents.audit._layout import Layout
from regrax.agents.audit._log import Callback, Log, read_usable
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
        """A row per agent: rounds, loss and regrets per round with their 95 % intervals, and the verdict."""
        facts = ("agent", "feedback", "episodes", "rounds", "loss_per_round")
        table = {name: [getattr(agent, name) for agent in self.agents] for name in facts}
        for kind in dict.fromkeys(kind for agent in self.agents for kind in agent.regret):
            values = [agent.regret_per_round(kind) for agent in self.agents]
            for place, suffix in enumerate(("", "_low", "_high")):
                table[f"{kind}_regret_per_round{suffix}"] = [value[place] for value in values]
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
    >>> audit.columns()["external_regret_per_round"]
    [1.0]
    """
    checks.instance("layout", layout, Layout | None, "a Layout")
    log = read_usable(Path(path), callback, layout, game)
    agents = [agent for agent, _ in audit_agents(log, list(log.seats), callback)]
    bad = [{"lines": lines, "reason": reason} for lines, reason in log.bad]
    return Audit(log.rows, log.bad.count, bad, agents, _gaps(log, agents))


def audit_agents(
    log: Log, names: list[str], callback: Callback | None
) -> Iterator[tuple[AgentAudit, Tally]]:
    """The audits of some agents of a log, and what they are made of."""
    done = 0
    for start in range(0, len(names), AGENTS_PER_BATCH):
        some = names[start : start + AGENTS_PER_BATCH]
        tallies = {name: new_tally(log, name) for name in some}
        for count in walk_agents(log, tallies):
            done += count
            if callback is not None:
                callback("episodes audited", done, len(log.last))
        yield from ((audit_agent(log, name, tally), tally) for name, tally in tallies.items())


def verdicts(audit: Audit) -> str:
    """How many agents were given each verdict, the commonest first."""
    counts = Counter(agent.learning.verdict for agent in audit.agents)
    return ", ".join(f"{count:,} {verdict}" for verdict, count in counts.most_common())


def _gaps(log: Log, agents: list[AgentAudit]) -> Gaps | None:
    """Of agents that gave the losses of every action in the same rounds of the same episodes."""
    shapes = {
        tuple(sorted((group[1], log.buffer.rows(group)) for group in groups))
        for groups in log.episodes.values()
    }
    if len(agents) < 2 or len(shapes) > 1 or any(agent.feedback != "full" for agent in agents):
        return None
    kinds = ("external", "internal", "swap")
    return Gaps(*(max(agent.regret[kind].per_round for agent in agents) for kind in kinds))
