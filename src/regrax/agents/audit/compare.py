r"""Compare agents: which has more regret, by how much, and with what certainty.

The episodes of two agents are either paired, with $d_e = y_e - x_e$ for the same episode, or independent samples $x$
and $y$:

    difference   dbar,  s^2 = var(d) / E                 ybar - xbar,  s^2 = var(x) / E_x + var(y) / E_y
    interval     difference -+ t_{0.975, nu} s, nu = E - 1 or Welch's degrees of freedom
    test         signs of d_e flipped at random          episodes assigned to the two at random
    statistic    t = difference / s, two-sided, valid even if the two have different variances
    effect size  dbar / sd(d)                            (ybar - xbar) / sd, with the pooled variance

Both effect sizes are multiplied by Hedges' small-sample correction $1 - 3 / (4 \nu - 1)$. References: Welch (1947), The
generalization of Student's problem; Janssen (1997), Studentized permutation tests for non-i.i.d. hypotheses; Holm
(1979), A simple sequentially rejective multiple test procedure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from jaxtyping import Float
from scipy.special import ndtr, stdtrit

from regrax import _checks as checks
from regrax._text import counted, fitted_table, interval, paragraph
from regrax.agents.audit.audits import (
    MEASURED,
    UNKNOWN_LOSSES,
    AgentAudit,
    audit_agent,
    measure_cells,
    shown,
)
from regrax.agents.audit.intervals import MIN_EPISODES, TAIL, Measure, mean_measures
from regrax.agents.audit.layouts import Layout
from regrax.agents.audit.read import AgentLog, Callback, Log, read_log
from regrax.agents.audit.sums import KINDS, AgentSums, sum_agent
from regrax.games import Game

Array = np.ndarray

MEASURES = (*KINDS, "policy", "loss")
MAX_CONTESTANTS = 50
MAX_SENTENCES = 10
LEVEL = 0.05  # significance level for all pairs together
PERMUTATIONS = 1999
MAX_PERMUTED_EPISODES = 2000  # with more (or more permutations), the statistic is treated as normal
WHY_LOSSES = {
    "bandit": "received losses do not reveal which action was best in each episode",
    "received": UNKNOWN_LOSSES,
}
Values = Float[Array, "E"]


@dataclass(frozen=True)
class Contestant:
    """An agent in a comparison.

    Attributes:
        name: unique among the contestants.
        log: path of its log.
        agent: its name in the log.
        episodes: number of episodes.
        rounds: total number of rounds.
        value: the compared measure, with its interval.
        audit: its full audit.
        rank: its best possible rank: 1 plus the number of agents that are significantly better.
        last_rank: its worst possible rank, which no significantly worse agent has.
    """

    name: str
    log: str
    agent: str
    episodes: int
    rounds: int
    value: Measure
    audit: AgentAudit
    rank: int
    last_rank: int

    def ranks(self) -> str:
        """Format the ranks that cannot be excluded, such as "2-4"."""
        return f"{self.rank}" if self.rank == self.last_rank else f"{self.rank}-{self.last_rank}"


@dataclass(frozen=True)
class Pair:
    """The difference between two agents, second minus first; positive if the second is worse.

    Attributes:
        first: name of a contestant.
        second: name of the other.
        paired: True if both faced the same losses in every episode.
        difference: the second agent's mean over episodes minus the first's.
        low: lower end of its 95 % interval.
        high: upper end.
        p_value: two-sided p-value of a permutation test.
        adjusted: p-value adjusted for all pairs by Holm's procedure.
        effect_size: the difference in standard deviations; None below five episodes, as are the interval and p-values.
        words: the result as a sentence.
    """

    first: str
    second: str
    paired: bool
    difference: float
    low: float | None
    high: float | None
    p_value: float | None
    adjusted: float | None
    effect_size: float | None
    words: str

    @property
    def worse(self) -> str | None:
        """Name of the significantly worse agent, at the 5 % level for all pairs together, or None."""
        if self.adjusted is None or self.adjusted > LEVEL or self.difference == 0:
            return None
        return self.second if self.difference > 0 else self.first


@dataclass(frozen=True)
class Comparison:
    """A comparison of agents: a ranking, and the difference for every pair.

    All ranks hold together at 95 %, because they follow from tests that hold together.

    Attributes:
        measure: the compared measure.
        contestants: the agents, in log order.
        pairs: the difference for every pair.
        notes: caveats about these numbers.
    """

    measure: str
    contestants: list[Contestant]
    pairs: list[Pair]
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain numbers, strings and lists for JSON, without the audits."""
        values = msgspec.to_builtins(self)
        for contestant in values["contestants"]:
            del contestant["audit"]
        return values

    def __str__(self) -> str:
        rows: list[list[Any]] = []
        for agent in self.ranking():
            verdict = agent.audit.learning.verdict
            facts = [shown(agent.name), agent.ranks(), verdict, agent.episodes, agent.rounds]
            rows.append([*facts, *measure_cells(agent.value)])
        title = "loss" if self.measure == "loss" else f"{self.measure} regret"
        title = f"{title}, {counted(len(rows), 'agent')}, best first"
        columns = ("agent", "rank", "verdict", "episodes", "rounds", *MEASURED)
        text = [fitted_table(columns, rows, title)]
        rows = []
        for pair in self.pairs:
            names = f"{shown(pair.second)} - {shown(pair.first)}"
            tests = [pair.p_value, pair.adjusted, pair.effect_size]
            episodes = "paired" if pair.paired else "independent"
            limits = interval(pair.low, pair.high)
            rows.append([names, pair.difference, limits, *tests, episodes])
        if rows:
            tests = ("p-value", "p-value by Holm", "effect size, SD")
            columns = ("difference", *MEASURED[1:], *tests, "episodes")
            text.append(fitted_table(columns, rows))
        if len(rows) <= MAX_SENTENCES:
            text += [paragraph(pair.words) for pair in self.pairs]
        return "\n".join([*text, *(paragraph(f"note: {note}") for note in self.notes)])

    def ranking(self) -> list[Contestant]:
        """List the agents from best to worst; agents whose ranks overlap are tied."""
        return sorted(self.contestants, key=lambda agent: agent.value.per_round)

    def above(self, limit: float) -> list[str]:
        """List the agents whose measure per round is above a limit."""
        return [agent.name for agent in self.contestants if agent.value.per_round > limit]

    def worse(self) -> list[str]:
        """List the agents that are significantly worse than the first, at the 5 % level for all pairs together."""
        pairs = [pair for pair in self.pairs if pair.first == self.contestants[0].name]
        if any(pair.adjusted is None for pair in pairs):
            raise ValueError(
                "to decide which agent is worse, each must have at least five episodes"
            )
        return [pair.second for pair in pairs if pair.worse == pair.second]


class Difference(NamedTuple):
    """The mean of the second sample minus that of the first; only `value` is set for fewer than five episodes."""

    value: float
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    effect_size: float | None = None


@dataclass(frozen=True)
class _Agent:
    """An agent, with a digest of each episode's losses if they are known for every action."""

    log: Path
    audit: AgentAudit
    sums: AgentSums
    digests: dict[str, int]

    def values(self, measure: str) -> Values:
        """Return the measure in every episode; the best policy is one for all episodes, so losses stand for it."""
        if measure in ("loss", "policy"):
            return self.sums.episodes.suffered
        return self.sums.episodes.regrets[:, KINDS.index(measure)]


def compare_logs(
    paths: Sequence[str | Path],
    *,
    agent: str | None = None,
    measure: str = "external",
    layout: Layout | None = None,
    game: Game | str | None = None,
    callback: Callback | None = None,
) -> Comparison:
    r"""Rank agents by regret, with an interval, a permutation test and an effect size for every pair.

    Episodes are paired by name if both agents faced the same losses in each, and independent otherwise.

    Args:
        paths: one log per agent, or a single log with several agents.
        agent: the agent to take from each log; required if there are several logs and one has several agents.
        measure: "external", "internal", "swap" or "dynamic" regret, "policy" for regret against the best policy by
            context, or "loss". If only received losses are known, losses are compared; for agents that face the same
            losses, they differ by as much as external regret does.
        layout: how to convert records from another harness to rows.
        game: a game whose payoffs give the loss of every action.
        callback: called with the current activity, the amount done so far, and the total.

    >>> import json, tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name, action in (("good", 1), ("bad", 0)):
    ...     rows = [{"episode": e, "action": action, "losses": [e % 3 + 1, 0]} for e in range(8) for _ in range(9)]
    ...     _ = (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    >>> comparison = compare_logs([folder / "good.jsonl", folder / "bad.jsonl"])
    >>> comparison.pairs[0].paired, comparison.pairs[0].difference, comparison.worse()
    (True, 16.875, ['bad.jsonl'])
    >>> [(agent.name, agent.ranks()) for agent in comparison.ranking()]
    [('good.jsonl', '1'), ('bad.jsonl', '2')]
    """
    checks.one_of("measure", measure, MEASURES)
    if not paths:
        raise ValueError("at least one log must be given, got none")
    agents: list[_Agent] = []
    for path in map(Path, paths):
        log = read_log(path, callback, layout, game)
        log.check_usable(path)
        for own in _chosen(log, path, agent, len(paths) == 1):
            sums = sum_agent(own)
            agents.append(_Agent(path, audit_agent(own, sums), sums, _digests(own)))
    if len(agents) > MAX_CONTESTANTS:
        raise ValueError(f"at most {MAX_CONTESTANTS} agents can be compared, got {len(agents)}")
    notes = []
    if measure == "policy":
        for own in agents:
            if own.audit.contexts is None:
                reason = "must give contexts and propensities to compare policies"
                raise ValueError(f"{own.log} {reason}")
        if len(agents) > 1:
            notes = ["pairs are compared by loss, because the best policy is one for all episodes"]
    elif measure != "loss":
        without_regret = sorted({own.audit.feedback for own in agents} - {"full"})
        notes = [f"losses are compared, not regrets: {WHY_LOSSES[kind]}" for kind in without_regret]
        if notes:
            measure = "loss"
    labels = _labels(agents)
    pairs = _pairs(labels, agents, measure)
    contestants = []
    for name, own in zip(labels, agents, strict=True):
        audit = own.audit
        if measure == "policy" and audit.contexts is not None:
            value = audit.contexts.regret
        else:
            values = own.values(measure)[:, None]
            (value,) = mean_measures(values, own.sums.episodes.rounds)
        worse = [pair.worse for pair in pairs if pair.worse and name in (pair.first, pair.second)]
        better_agents = worse.count(name)
        ranks = 1 + better_agents, len(agents) - len(worse) + better_agents
        about = (name, str(own.log), audit.agent, audit.episodes, audit.rounds)
        contestants.append(Contestant(*about, value, audit, *ranks))
    return Comparison(measure, contestants, pairs, notes)


def difference(
    first: Values, second: Values, paired: bool, seed: int = 0, permutations: int = PERMUTATIONS
) -> Difference:
    """Compare two agents' episodes.

    >>> difference(np.arange(10.0), np.arange(10.0) + [0, 1] * 5, paired=True).value
    0.5
    """
    samples = [second - first] if paired else [second, first]
    value = float(samples[0].mean()) if paired else float(second.mean() - first.mean())
    if min(map(len, samples)) < MIN_EPISODES:
        return Difference(value)
    variances = np.array([sample.var(ddof=1) for sample in samples])
    freedoms = np.array([len(sample) - 1 for sample in samples])
    shares = variances / (freedoms + 1)
    error = float(np.sqrt(shares.sum()))
    if error <= 1e-12 * max(np.abs(first).max(), np.abs(second).max()):
        p_value = 1.0 if value == 0 else _permutation_test(samples, seed, permutations)
        return Difference(value, value, value, p_value)
    reach = error * float(stdtrit(error**4 / (shares**2 / freedoms).sum(), 1 - TAIL))
    freedom = freedoms.sum()
    deviation = (variances @ freedoms / freedom) ** 0.5
    effect = float(value / deviation * (1 - 3 / (4 * freedom - 1)))
    p_value = _permutation_test(samples, seed, permutations)
    return Difference(value, value - reach, value + reach, p_value, effect)


def holm(p_values: list[float]) -> list[float]:
    """Adjust p-values for multiple tests by Holm's procedure.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values)
    scaled = np.asarray(p_values)[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted.round(12).tolist()


def _chosen(log: Log, path: Path, agent: str | None, alone: bool) -> list[AgentLog]:
    """Return the agents to compare from a log."""
    names = list(log.agents)
    some = ", ".join(names[:10])
    if agent is not None:
        if agent not in names:
            raise ValueError(f"{path} has no agent {agent!r} (it has {some})")
        names = [agent]
    elif len(names) > 1 and not alone:
        raise ValueError(f"{path} has {len(names)} agents ({some}): choose which one to compare")
    return [log.agents[name] for name in names[: MAX_CONTESTANTS + 1]]


def _digests(agent: AgentLog) -> dict[str, int]:
    if agent.schema.feedback != "full":
        return {}
    d = agent.d
    digests = {}
    for episode in agent.episodes:
        losses = agent.read(episode)[:, d : 2 * d]
        digests[episode] = hash(losses.tobytes())
    return digests


def _labels(agents: list[_Agent]) -> list[str]:
    """Choose the shortest distinct labels: the file name, the agent name, or both."""
    choices = [
        [agent.log.name for agent in agents],
        [agent.audit.agent for agent in agents],
        [f"{agent.log.name}: {agent.audit.agent}" for agent in agents],
        [f"{agent.log}: {agent.audit.agent}" for agent in agents],
        [f"{place}: {agent.log.name}" for place, agent in enumerate(agents)],
    ]
    return next(labels for labels in choices if len(set(labels)) == len(labels))


def _pairs(labels: list[str], agents: list[_Agent], measure: str) -> list[Pair]:
    results = []
    places = list(combinations(range(len(agents)), 2))
    permutations = max(PERMUTATIONS, int(2 * len(places) / LEVEL))  # Holm multiplies by the pairs
    for i, j in places:
        first, second = agents[i], agents[j]
        paired = bool(first.digests) and first.digests == second.digests
        x = first.values(measure)
        y = second.values(measure)
        if paired:
            order = {name: place for place, name in enumerate(second.sums.names)}
            y = y[[order[name] for name in first.sums.names]]
        result = difference(x, y, paired, permutations=permutations)
        results.append((labels[i], labels[j], paired, result))
    adjusted = iter(holm([result.p_value for *_, result in results if result.p_value is not None]))
    pairs = []
    for first, second, paired, result in results:
        p = None if result.p_value is None else next(adjusted)
        value, low, high, p_value, effect = result
        if p is None:
            words = f"{first} and {second}: cannot tell, because each needs at least five episodes"
        elif p > LEVEL or value == 0:
            words = f"{first} and {second}: no clear difference (p = {p:.2g})"
        else:
            verdict = "worse" if value > 0 else "better"
            words = f"{second} is {verdict} than {first} (p = {p:.2g})"
        pairs.append(Pair(first, second, paired, value, low, high, p_value, p, effect, words))
    return pairs


def _permutation_test(samples: list[Values], seed: int, permutations: int) -> float:
    """Compute the two-sided p-value for one sample of differences or for two samples."""
    generator = np.random.default_rng(seed)
    pooled = np.concatenate(samples)
    statistic = _student if len(samples) == 1 else _welch
    own = np.arange(len(pooled)) < len(samples[0])  # for a single sample, all signs are +1
    observed = abs(statistic(pooled, own[None])[0])
    if len(pooled) * permutations > MAX_PERMUTED_EPISODES * PERMUTATIONS:
        return float(2 * ndtr(-observed))
    shape = (permutations, len(pooled))
    if len(samples) == 1:
        drawn = generator.choice([-1.0, 1.0], shape)
    else:
        drawn = generator.permuted(np.broadcast_to(own, shape), axis=1)
    null = statistic(pooled, drawn)
    return float((1 + np.sum(np.abs(null) >= observed * (1 - 1e-9))) / (1 + permutations))


def _student(values: Values, signs: Array) -> Float[Array, "b"]:
    """Compute Student's t for the values under each row of signs."""
    rows = signs * values
    error = rows.std(1, ddof=1) / rows.shape[1] ** 0.5
    return rows.mean(1) / np.maximum(error, 1e-300)


def _welch(pooled: Values, masks: Array) -> Float[Array, "b"]:
    """Compute Welch's t for every assignment of the episodes to two samples."""
    centred = pooled - pooled.mean()
    samples = np.stack([masks, ~masks]).astype(float)
    n = samples.sum(2)
    means = samples @ centred / n
    squares = samples @ centred**2 / n
    variance = (np.maximum(squares - means**2, 0) / (n - 1)).sum(0)
    return (means[0] - means[1]) / np.maximum(np.sqrt(variance), 1e-300)
