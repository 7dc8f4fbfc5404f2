"""Audits of logs: regrets and a verdict for each agent, and equilibrium gaps of joint play."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from jaxtyping import Float

from regrax import _checks as checks, _text
from regrax._tables import to_csv, to_html, to_latex, to_pandas
from regrax._text import counted, fitted_table, listed, number, paragraph, printable
from regrax.agents.audit.contexts import Contexts, audit_contexts, propensity_notes, sum_rounds
from regrax.agents.audit.intervals import (
    MIN_EPISODES,
    MIN_PLAYS,
    Measure,
    against_interval,
    best_of_means,
    external_interval,
    interval,
    mean_measures,
)
from regrax.agents.audit.layouts import Layout
from regrax.agents.audit.read import AgentLog, Callback, Log, Schema, read_log
from regrax.agents.audit.sums import (
    BASELINES,
    KINDS,
    MAX_BINNED_EPISODES,
    AgentSums,
    sum_agent,
)
from regrax.agents.audit.verdict import Learning, judge
from regrax.agents.exploration import Exploration
from regrax.games import Game
from regrax.regret import internal_of, swap_of

Array = np.ndarray

MAX_AGENTS = 20
MAX_ACTIONS = 20
SHOWN_CONTEXTS = 20
MEASURED = ("per round", "per episode", "95 % interval, per episode")  # headers of `measure_cells`
Curves = dict[str, list[float]]
UNKNOWN_LOSSES = (
    "regret needs the losses of other actions, which this log does not contain: log the losses of every action or the "
    "propensity of the action played, or name the game"
)


@dataclass(frozen=True, slots=True)
class Swap:
    """The swap of one action for another that would have saved the most.

    Attributes:
        played: name of the action to replace.
        instead: name of its replacement.
        per_round: saving per round.
        words: the swap as a sentence.
    """

    played: str
    instead: str
    per_round: float
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentAudit:
    """The audit of one agent; regrets are means over its episodes.

    Attributes:
        agent: the agent's name.
        feedback: `"full"`, `"bandit"`, or `"received"` if only the losses it received are logged.
        actions: names of its actions.
        episodes: number of episodes.
        rounds: total number of rounds.
        unanswered: number of rounds without a usable answer.
        answers: how many answers each parser read.
        loss: the agent's loss.
        loss_per_round: mean loss over all rounds.
        regret: regret of each kind: external, internal, swap, dynamic.
        curve: columns `round` and each regret, with `_low` and `_high` if known.
        against: estimated regret against every fixed action, for bandit feedback.
        worst_swap: the replacement that would have saved the most.
        baselines: loss and regrets of classical learners on the same losses, by name.
        baseline_curves: their external regret over the rounds.
        learning: the verdict.
        exploration: see `rx.exploration`; None if policies were logged, not actions.
        notes: caveats about these numbers.
        fractions: fraction of rounds in which each action was played, if nothing else is known.
        contexts: regret by context, if rows give contexts.
    """

    agent: str
    feedback: str
    actions: tuple[str, ...]
    episodes: int
    rounds: int
    unanswered: int
    answers: dict[str, int]
    loss: Measure
    loss_per_round: float
    regret: dict[str, Measure] = field(default_factory=dict)
    curve: Curves = field(default_factory=dict)
    against: dict[str, Measure] = field(default_factory=dict)
    worst_swap: Swap | None = None
    baselines: dict[str, dict[str, float]] = field(default_factory=dict)
    baseline_curves: Curves = field(default_factory=dict)
    learning: Learning
    exploration: dict[str, float] | None
    notes: list[str]
    fractions: dict[str, float] = field(default_factory=dict)
    contexts: Contexts | None = None

    def measures(self) -> list[tuple[str, Measure]]:
        """List the regrets, the regrets against each action, and the loss, with their names in tables."""
        regrets = [(f"{kind} regret", measure) for kind, measure in self.regret.items()]
        against = [(f"regret against {shown(a)}", measure) for a, measure in self.against.items()]
        return [*regrets, *against, ("loss", self.loss)]

    def regret_per_round(self, kind: str) -> tuple[float | None, float | None, float | None]:
        """Return regret per round and the ends of its interval; unknown values are None."""
        if kind not in self.regret:
            return None, None, None
        measure = self.regret[kind]
        length = self.rounds / self.episodes
        low, high = (None if end is None else end / length for end in (measure.low, measure.high))
        return measure.per_round, low, high

    def beside(self) -> dict[str, dict[str, float]]:
        """Return the loss and regrets of this agent and the baselines, by name."""
        own = {kind: measure.total for kind, measure in self.regret.items()}
        return {"this agent": {"loss_per_round": self.loss_per_round, **own}, **self.baselines}


@dataclass(frozen=True)
class Gaps:
    """Equilibrium gaps: the largest regret per round of any player, gained by the best deviation from joint play."""

    cce_gap: float
    ce_gap: float
    swap_gap: float


@dataclass(frozen=True)
class Audit:
    """The audit of a log.

    Attributes:
        rows: number of good rows.
        bad_rows: number of rows skipped.
        bad: lines of the skipped rows, by reason.
        agents: an `AgentAudit` for each agent.
        gaps: equilibrium gaps of joint play, if the agents share their rounds.
        format: the tool that wrote the log, or "rows".
    """

    rows: int
    bad_rows: int
    bad: list[dict[str, str]]
    agents: list[AgentAudit]
    gaps: Gaps | None
    format: str = "rows"

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain numbers, strings and lists for JSON."""
        return msgspec.to_builtins(self)

    def __str__(self) -> str:
        text = [line for agent in self.agents[:MAX_AGENTS] for line in _agent_text(agent)]
        if len(self.agents) > MAX_AGENTS:
            some = f"showing {MAX_AGENTS} of {counted(len(self.agents), 'agent')}"
            text.append(paragraph(f"{some}: {verdicts(self)}"))
        if self.gaps is not None:
            gaps = self.gaps
            rows = [["CCE", gaps.cce_gap], ["CE, pairwise", gaps.ce_gap], ["swap", gaps.swap_gap]]
            columns = ("equilibrium gap", "per round")
            text.append(fitted_table(columns, rows, "If the agents played one game"))
        bad = counted(self.bad_rows, "bad row")
        text.append(paragraph(f"{counted(self.rows, 'row')} read, {bad} left out"))
        if self.bad:
            rows = _bad_rows(self.bad)
            text.append("\n" + fitted_table(("first line", "rows", "reason"), rows))
        return "\n".join(text)

    def columns(self) -> dict[str, list[Any]]:
        """Tabulate each agent's rounds, loss, regrets per round with 95 % intervals, and verdict."""
        facts = ("agent", "feedback", "episodes", "rounds", "loss_per_round")
        table = {name: [getattr(agent, name) for agent in self.agents] for name in facts}
        kinds = [kind for kind in KINDS if any(kind in agent.regret for agent in self.agents)]
        for kind in kinds:
            values = [agent.regret_per_round(kind) for agent in self.agents]
            for place, suffix in enumerate(("", "_low", "_high")):
                table[f"{kind}_regret_per_round{suffix}"] = [value[place] for value in values]
        table["verdict"] = [agent.learning.verdict for agent in self.agents]
        return table

    to_pandas, to_csv, to_latex, _repr_html_ = to_pandas, to_csv, to_latex, to_html


def audit_log(
    path: str | Path,
    callback: Callback | None = None,
    *,
    layout: Layout | None = None,
    game: Game | str | None = None,
) -> Audit:
    r"""Audit every agent in a log of JSON lines, CSV or Parquet: regret, mistakes and verdict, in float64.

    Args:
        path: the log.
        callback: called with the current activity, the amount done so far, and the total.
        layout: how to convert records from another harness to rows; see `Layout` and `read_layout`.
        game: a game whose payoffs give the loss of every action, based on the players' actions.

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
    log = read_log(Path(path), callback, layout, game)
    log.check_usable(Path(path))
    agents = []
    for agent in log.agents.values():
        agents.append(audit_agent(agent, sum_agent(agent)))
        if callback is not None:
            callback("agents audited", len(agents), len(log.agents))
    bad = [{"lines": lines, "reason": reason} for lines, reason in log.bad]
    return Audit(log.rows, log.bad_rows, bad, agents, _gaps(log, agents), log.format)


def _gaps(log: Log, agents: list[AgentAudit]) -> Gaps | None:
    """Compute equilibrium gaps; None unless all agents log full losses in the same rounds of the same episodes."""
    if len(agents) < 2 or any(agent.feedback != "full" for agent in agents):
        return None
    lengths = []
    for agent in log.agents.values():
        lengths.append({name: episode.rounds for name, episode in agent.episodes.items()})
    if any(own != lengths[0] for own in lengths):
        return None
    kinds = ("external", "internal", "swap")
    return Gaps(*(max(agent.regret[kind].per_round for agent in agents) for kind in kinds))


def audit_agent(agent: AgentLog, sums: AgentSums) -> AgentAudit:
    """Audit one agent from the sums over its episodes."""
    schema = agent.schema
    episodes, reached = sums.episodes, sums.reached
    rounds = float(episodes.rounds.sum())
    plays = episodes.plays.sum(0)
    exploration = None
    if not np.isnan(episodes.exploration).any():
        exploration = Exploration(*episodes.exploration.mean(0).tolist())._asdict()
    totals = None
    if schema.feedback == "received":
        learning = Learning("cannot tell", f"cannot tell: {UNKNOWN_LOSSES}")
        findings: dict[str, Any] = {"notes": [UNKNOWN_LOSSES]}
        if exploration is None:
            findings["notes"].append("losses are the same in every round of an episode")
        findings["fractions"] = dict(zip(schema.actions, (plays / rounds).tolist(), strict=True))
    else:
        is_explored = True
        if schema.feedback == "full":
            findings = _audit_full(sums)
        else:
            is_explored = not (episodes.blind.any() or (plays < MIN_PLAYS).any())
            totals = sum_rounds(agent)
            findings = _audit_bandit(sums, schema)
            findings["notes"] += propensity_notes(totals, schema)
        span = float(episodes.span.sum()) / rounds
        learning = judge(reached.windows, reached.scores, span, is_explored, plays > 0)
        findings["notes"] = _common_notes(agent, sums) + findings["notes"]
        if schema.mixed:
            findings["worst_swap"] = _worst_swap(episodes.gains.sum(0) / rounds, schema)
        if schema.contexts:
            findings["contexts"] = audit_contexts(agent, totals)
    return AgentAudit(
        agent=agent.name,
        feedback=schema.feedback,
        actions=schema.actions,
        episodes=len(episodes.rounds),
        rounds=int(rounds),
        unanswered=agent.unanswered,
        answers=dict(agent.answers),
        loss=mean_measures(episodes.suffered[:, None], episodes.rounds)[0],
        loss_per_round=float(episodes.suffered.sum()) / rounds,
        learning=learning,
        exploration=exploration,
        **findings,
    )


def _audit_full(sums: AgentSums) -> dict[str, Any]:
    """Compute the findings that need the losses of every action."""
    episodes, reached = sums.episodes, sums.reached
    count = len(episodes.rounds)
    lines = {"": reached.curves.mean(0)}
    ends = interval(reached.curves.reshape(len(reached.curves), -1))
    if ends is not None:
        lines |= {"_low": ends[0].reshape(-1, 4), "_high": ends[1].reshape(-1, 4)}
    curve = {"round": list(map(float, sums.stops))}
    for place, kind in enumerate(KINDS):
        for suffix, line in lines.items():
            curve[kind + suffix] = line[:, place].tolist()
    notes = []
    if count < MIN_EPISODES:
        notes.append(f"no intervals: they need {MIN_EPISODES} episodes, got {count}")
    if sums.grain > 1:
        notes.append(f"baselines change their play only every {sums.grain} rounds")
    played = len(episodes.baselines)
    if played < count:
        notes.append(f"baselines play only {played:,} of the episodes")
    baselines = {}
    for name, means in zip(BASELINES, episodes.baselines.mean(0).tolist(), strict=True):
        length, suffered, *regrets = means
        own = dict(zip(KINDS, regrets, strict=True))
        baselines[name] = {"loss_per_round": suffered / length, **own}
    stops = [float(min(stop * sums.grain, sums.horizon)) for stop in sums.coarse_stops]
    external = reached.baseline_curves.mean(0).tolist()
    measures = mean_measures(episodes.regrets, episodes.rounds)
    return {
        "regret": dict(zip(KINDS, measures, strict=True)),
        "curve": curve,
        "baselines": baselines,
        "baseline_curves": {"round": stops, **dict(zip(BASELINES, external, strict=True))},
        "notes": notes,
    }


def _audit_bandit(sums: AgentSums, schema: Schema) -> dict[str, Any]:
    """Estimate regrets against comparators shared by all episodes."""
    episodes, reached = sums.episodes, sums.reached
    count = len(episodes.rounds)
    plays = episodes.plays.sum(0)
    known = plays > 0
    values: dict[str, tuple[float, float | None, float | None]] = {}
    values["external"] = external_interval(episodes.against, episodes.variance, known)
    notes = [
        "dynamic regret and baselines need the losses of every action, which this log does not have"
    ]
    if not schema.mixed:
        notes.append("internal and swap regret need full policies, which this log does not have")
    else:
        gains = episodes.gains * known  # no swaps to actions that were never played
        if len(gains) == count >= MIN_EPISODES:
            values["internal"] = best_of_means(gains.reshape(count, 1, -1))
            values["swap"] = best_of_means(gains)
        else:
            mean = gains.sum(0) / count
            values["internal"] = float(internal_of(mean)), None, None
            values["swap"] = float(swap_of(mean)), None, None
    if count > 1:
        notes.append(
            "regret is measured against the best action over all episodes, because received losses do not reveal which "
            "action was best in each"
        )
    rare = known & (plays < MIN_PLAYS)
    cases = {
        "never played, so nothing is known about them": ~known,
        f"played fewer than {MIN_PLAYS} times, so their intervals are unreliable": rare,
        "could not be played in some rounds, so their losses there are guesses": episodes.blind.any(
            0
        ),
    }
    for note, applies in cases.items():
        if applies.any():
            notes.append(f"{note}: {', '.join(np.array(schema.actions)[applies])}")
    length = float(episodes.rounds.mean())
    curve = reached.curves.sum(0) / len(reached.scores[0].falls)
    ends = against_interval(episodes.against, episodes.variance)
    measures = mean_measures(episodes.against, episodes.rounds, ends)
    against = zip(schema.actions, measures, known, strict=True)
    return {
        "regret": {kind: Measure(v, v / length, *ends) for kind, (v, *ends) in values.items()},
        "curve": {
            "round": list(map(float, sums.stops)),
            "external": curve[:, known].max(1).tolist(),
        },
        "against": {action: measure for action, measure, is_known in against if is_known},
        "notes": notes,
    }


def _worst_swap(gains: Float[Array, "d d"], schema: Schema) -> Swap | None:
    i, j = np.unravel_index(np.argmax(gains), gains.shape)
    saving = float(gains[i, j])
    if saving <= 0:
        return None
    played, instead = schema.actions[i], schema.actions[j]
    prefix = "" if schema.named else "action "
    words = f"when it played {prefix}{played}, {prefix}{instead} would have saved "
    return Swap(played, instead, saving, f"{words}{saving:.3g} per round")


def _common_notes(log: AgentLog, sums: AgentSums) -> list[str]:
    notes = []
    if log.unanswered:
        rounds = counted(log.unanswered, "round")
        notes.append(f"no usable answer in {rounds} (played uniformly)")
    if log.skipped:
        notes.append(f"{counted(log.skipped, 'round')} missing within episodes")
    shorter = int((sums.episodes.rounds < sums.horizon).sum())
    if shorter:
        has = "has" if shorter == 1 else "have"
        few = f"{has} fewer than {sums.horizon} rounds: included in totals, but not in curves or tests"
        notes.append(f"{counted(shorter, 'episode')} {few}")
    if len(sums.episodes.rounds) > MAX_BINNED_EPISODES:
        notes.append(f"the published tests use only {MAX_BINNED_EPISODES} of the episodes")
    return notes


def verdicts(audit: Audit) -> str:
    """Count the agents with each verdict, most frequent first."""
    counts = Counter(agent.learning.verdict for agent in audit.agents)
    return listed(f"{count:,} {verdict}" for verdict, count in counts.most_common())


def shown(text: str) -> str:
    r"""Make text from a log safe to print: one line, no control characters, at most 300 characters.

    >>> shown("rock\x1b[31m\ud800")
    'rock\\x1b[31m\\ud800'
    """
    text = printable(text)
    return text if len(text) <= 300 else f"{text[:297]}..."


def explored(measures: dict[str, float]) -> str:
    """Describe the measures of `rx.exploration` in a sentence.

    >>> explored({"suffix_failure": 0.25, "minimum_fraction": 0.1, "greedy_fraction": 0.5})
    'in 25% of episodes it never tried the best action in the second half; its least-used action got 10% of an even
    share; it played the best action so far in 50% of rounds'
    """
    never, least, greedy = (f"{100 * value:.3g}%" for value in measures.values())
    return (
        f"in {never} of episodes it never tried the best action in the second half; "
        f"its least-used action got {least} of an even share; "
        f"it played the best action so far in {greedy} of rounds"
    )


def measure_cells(measure: Measure) -> list[Any]:
    """Return a measure per round, per episode, and its interval, as cells of a table."""
    return [measure.per_round, measure.total, _text.interval(measure.low, measure.high)]


def _agent_text(agent: AgentAudit) -> Iterator[str]:
    played = f"{counted(agent.rounds, 'round')} in {counted(agent.episodes, 'episode')}"
    actions = counted(len(agent.actions), "action")
    title = f"{shown(agent.agent)}: {played}, {actions}, {agent.feedback} feedback"
    rows: list[list[Any]] = [[name, *measure_cells(measure)] for name, measure in agent.measures()]
    yield fitted_table(("measure", *MEASURED), rows, title)
    yield paragraph(shown(agent.learning.words))
    if agent.fractions:
        ranked = sorted(agent.fractions.items(), key=lambda item: -item[1])
        shares = [f"{shown(name)} {share:.1%}" for name, share in ranked[:MAX_ACTIONS]]
        yield paragraph(f"played: {listed(shares)}")
    if agent.answers:
        counts = [f"{shown(name)} {count:,}" for name, count in sorted(agent.answers.items())]
        yield paragraph(f"answers by parser: {listed(counts)}")
    if agent.exploration:
        yield paragraph(f"exploration: {explored(agent.exploration)}")
    if agent.worst_swap:
        yield paragraph(f"worst swap: {shown(agent.worst_swap.words)}")
    yield ""
    if agent.contexts is not None:
        yield from _contexts_text(agent.contexts)
    if agent.baselines:
        rows = []
        for name, measures in agent.beside().items():
            values = [measures[key] for key in ("loss_per_round", "external", "swap")]
            rows.append([name, *values])
        columns = ("loss per round", "regret per episode", "swap regret per episode")
        yield fitted_table(("on the same losses", *columns), rows)
    yield from _tests_text(agent.learning)
    for note in agent.notes:
        yield paragraph(f"note: {shown(note)}")


def _tests_text(learning: Learning) -> Iterator[str]:
    """Tabulate the p-values of the verdict, then the published tests with their false alarms."""
    evidence = {"regret falls": learning.regret_falls, "play moves": learning.play_moves}
    rows: list[list[Any]] = []
    for name, p_value in evidence.items():
        if p_value is not None:
            rows.append([name, f"{p_value:.3g}", ""])
    for name, test in learning.tests.items():
        published = f"published: {name}"
        if name == "regression" and learning.exponent is not None:
            published += f" (exponent {number(learning.exponent)})"
        rows.append([published, f"{test.p_value:.3g}", f"{100 * test.false_alarms:.3g}"])
    if rows:
        yield fitted_table(("test", "p-value", "false alarms at 5 %, in %"), rows)


def _contexts_text(contexts: Contexts) -> Iterator[str]:
    by_regret = sorted(contexts.contexts, key=lambda context: -context.regret.total)
    rows: list[list[Any]] = [["best policy", "", "", *measure_cells(contexts.regret)]]
    for context in by_regret[:SHOWN_CONTEXTS]:
        facts = [shown(context.context), shown(context.best), context.rounds]
        rows.append([*facts, *measure_cells(context.regret)])
    columns = ("regret by context", "best action", "rounds", *MEASURED)
    yield fitted_table(columns, rows, f"{len(by_regret)} contexts, most regret first")
    rows = []
    for name, saved in contexts.saved.items():
        rows.append([name, contexts.replayed[name].per_round, *measure_cells(saved)])
    columns = ("loss per round", "saved per round", "saved per episode", MEASURED[2])
    yield fitted_table(("replayed on this log", *columns), rows)


def _bad_rows(bad: list[dict[str, str]]) -> list[list[Any]]:
    """List each kind of reason once, with its first line and the number of rows."""
    rows: dict[str, list[Any]] = {}
    for entry in bad:
        spans = [span.partition("-") for span in entry["lines"].split(", ")]
        kind = entry["reason"].partition(", got ")[0]
        row = rows.setdefault(kind, [spans[0][0], 0, entry["reason"]])
        row[1] += sum(int(last or first) - int(first) + 1 for first, _, last in spans)
    return list(rows.values())
