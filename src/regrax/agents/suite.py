r"""A fixed benchmark of agents: eight tasks of 20 rounds, with classical learners as references.

| task | losses | best possible policy |
|---|---|---|
| `random` | standard Gaussian | `theory.optimal_policy` |
| `biased`, `biased-bandit` | Gaussian around means that are drawn from $N(0, 1)$ once per episode | follow the leader |
| `switching`, `switching-bandit` | Gaussian; one action is lower by 2, and changes with probability 0.1 | Bayes' rule |
| `adversarial` | Gaussian means whose sign changes every round, so that the leader loses | anticipates the sign |
| `weighted-rps`, `chicken` | the game's, against Hedge | dynamic programming |

Each task has three actions, except chicken, and actions are drawn from the agent's policies. In a bandit task the agent
sees only the loss of its own action; the best possible policy still sees every loss, so no agent can reach it.

The share of the way from uniform play to the best possible policy is 0 for the loss of the first and 1 for that of the
second. Random losses favour no action, so every policy has the same expected loss. There the share is that of expected
squared regret, which exceeds the lowest possible by $\sum_t E\|\pi_t - \pi^*_t\|^2$.
"""

import dataclasses
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import numpy as np
from jax.tree_util import Partial
from jaxtyping import Float
from scipy.special import softmax

from regrax import _checks as checks
from regrax._tables import to_csv, to_html, to_latex, to_pandas
from regrax._text import counted, fitted_table, interval, listed
from regrax.agents.audit import audit_log
from regrax.agents.cache import AnswerCache, Spent
from regrax.agents.chat import ChatAgent
from regrax.agents.episodes import OnRound, run_episodes
from regrax.experiments import OnProgress, Progress, ignore
from regrax.games import play, seated_learners
from regrax.learners import BanditLearner, Hedge, HostLearner, Learner, given_losses, play_rounds
from regrax.specs import as_game, as_learner
from regrax.theory import optimal_policy

ROUNDS = 20
MAX_EPISODES = 10**5
NAMES = ("A", "B", "C")
GAP = 2.0
SWITCH = 0.1
OPPONENTS = {"weighted-rps": 0.4479, "chicken": 0.2}
"""Step size of Hedge in each game: the stationary one, and a step that suits payoffs up to 7."""
REFERENCES = {
    "full": ("hedge(0.4479)", "regret_matching_plus()", "follow_the_leader()"),
    "bandit": ("exp3_ix(0.3, 0.15)", "tsallis_inf()"),
}

Losses = Float[np.ndarray, "n T d"]


@dataclass(frozen=True)
class TaskResult:
    """An agent's result in a task.

    Attributes:
        agent: the agent, or the reference, as a spec.
        task: name of the task.
        is_reference: True for a classical learner.
        regret_per_round: external regret per round.
        low: lower end of its 95 % interval, or None if there are too few episodes.
        high: upper end.
        share: share of the way from uniform play to the best possible policy.
        verdict: the audit's verdict.
        unanswered: number of rounds without a usable answer.
    """

    agent: str
    task: str
    is_reference: bool
    regret_per_round: float
    low: float | None
    high: float | None
    share: float
    verdict: str
    unanswered: int


@dataclass(frozen=True)
class Benchmark:
    """Results of a benchmark: a row for every task, for the agent and for every reference.

    Attributes:
        agent: the agent.
        episodes: episodes per task.
        rows: the results.
        spent: number of answers of a chat agent, with their tokens and their cost.
    """

    agent: str
    episodes: int
    rows: tuple[TaskResult, ...]
    spent: Spent

    def of_task(self, task: str) -> tuple[TaskResult, list[TaskResult]]:
        """Return the agent's row in a task, and those of the references."""
        own, *references = [row for row in self.rows if row.task == task]
        return own, references

    def to_dict(self) -> dict[str, Any]:
        """Convert to plain numbers, strings and lists for JSON."""
        return {**msgspec.to_builtins(self), "spent": self.spent._asdict()}

    def __str__(self) -> str:
        rows = []
        for task in dict.fromkeys(row.task for row in self.rows):
            own, references = self.of_task(task)
            shares = listed(f"{other.agent} {other.share:.0%}" for other in references)
            measured = [own.regret_per_round, interval(own.low, own.high), f"{own.share:.1%}"]
            rows.append([task, *measured, own.verdict, shares])
        columns = ("task", "regret per round", "95 % interval", "share", "verdict")
        title = f"{self.agent}, {counted(self.episodes, 'episode')} of each task"
        text = fitted_table((*columns, "classical shares"), rows, title)
        if self.spent.answers:
            text += f"\n{counted(self.spent.answers, 'answer')}, {self.spent.tokens:,} tokens"
        return text

    def columns(self) -> dict[str, list[Any]]:
        """Tabulate the rows."""
        names = [field.name for field in dataclasses.fields(TaskResult)]
        return {name: [getattr(row, name) for row in self.rows] for name in names}

    to_pandas, to_csv, to_latex, _repr_html_ = to_pandas, to_csv, to_latex, to_html


SIGNS = (-1.0) ** np.arange(ROUNDS)


def _random(rng: np.random.Generator) -> Float[np.ndarray, "T d"]:
    return rng.normal(size=(ROUNDS, len(NAMES)))


def _biased(rng: np.random.Generator) -> Float[np.ndarray, "T d"]:
    return rng.normal(size=len(NAMES)) + _random(rng)


def _switching(rng: np.random.Generator) -> Float[np.ndarray, "T d"]:
    changes = rng.random(ROUNDS) < SWITCH
    good = (rng.integers(3) + np.cumsum(changes * rng.integers(1, 3, ROUNDS))) % 3
    return _random(rng) - GAP * np.eye(3)[good]


def _adversarial(rng: np.random.Generator) -> Float[np.ndarray, "T d"]:
    return SIGNS[:, None] * rng.normal(size=len(NAMES)) + 0.1 * _random(rng)


def _argmin(values: Losses) -> Losses:
    lowest = values == values.min(-1, keepdims=True)
    return lowest / lowest.sum(-1, keepdims=True)


def _leader(losses: Losses, signs: Any = 1.0) -> Losses:
    signed = losses * signs
    return _argmin((signed.cumsum(1) - signed) * signs)


def _filtered(losses: Losses) -> Losses:
    """Play the action that is most likely the good one, by Bayes' rule."""
    policies = np.empty_like(losses)
    chance = np.full((len(losses), 3), 1 / 3)
    for t in range(ROUNDS):
        policies[:, t] = _argmin(-chance)
        chance = softmax(np.log(chance) - GAP * losses[:, t], -1)  # the likelihood of each action
        chance = (1 - SWITCH) * chance + SWITCH * (1 - chance) / 2
    return policies


def _optimal(losses: Losses) -> Losses:
    before = (losses.cumsum(1) - losses).astype(np.float32)
    left = np.broadcast_to(ROUNDS - np.arange(ROUNDS, dtype=np.float32), losses.shape[:2])
    return np.asarray(optimal_policy(before, left), float)


@dataclass(frozen=True)
class BenchmarkTask:
    """A task of the benchmark.

    Attributes:
        name: its name; a game's spec if it has no losses.
        draw: draws the losses of an episode, or None in a game.
        best: the best possible policies on loss sequences.
        feedback: `full` or `bandit`.
    """

    name: str
    draw: Callable[[np.random.Generator], Float[np.ndarray, "T d"]] | None = None
    best: Callable[[Losses], Losses] = _leader
    feedback: str = "full"

    def players(self, agent: Learner) -> Sequence[Learner]:
        """Return the players, with the agent prepared for the task's names and feedback."""
        if self.draw is None:
            return seated_learners(as_game(self.name), [agent, Hedge(OPPONENTS[self.name])])
        if isinstance(agent, ChatAgent):
            about = {"game": "a repeated decision problem", "names": NAMES}
            return [dataclasses.replace(agent, **about, history=self.feedback)]
        if self.feedback == "full" or isinstance(agent, BanditLearner):
            return [agent]
        if hasattr(agent, "task"):  # a language model
            task = agent.task.replace(feedback="bandit")  # pyright: ignore
            return [dataclasses.replace(agent, task=task)]  # pyright: ignore
        if not isinstance(agent, HostLearner):
            raise ValueError(f"{agent} needs the loss of every action, which {self.name} hides")
        return [OwnLossOnly(agent)]

    def play(self, seed: int, episode: int, players: Sequence[Learner], on_round: OnRound) -> Any:
        """Play an episode; return its rounds, stacked."""
        place = TASKS.index(self)
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), place), episode)
        if self.draw is None:
            return play(as_game(self.name), players, ROUNDS, key=key, on_round=on_round)
        losses = self.draw(np.random.default_rng([seed, place, episode])).round(2)
        rounds = (ROUNDS, jnp.asarray(losses, float), key)
        given = Partial(given_losses)
        parts = play_rounds(tuple(players), given, (len(NAMES),), *rounds, on_round=on_round)
        return jax.tree.map(lambda *part: np.concatenate(part), *parts)

    def share(self, policies: Losses, losses: Losses) -> float:
        """Compute the share of the way from uniform play to the best possible policy."""
        own = (policies * losses).sum() / len(losses)
        if self.draw is None:
            uniform = game_loss(self.name, np.mean)
            best = game_loss(self.name, np.min)
        else:
            ideal = self.best(losses)
            if self.draw is _random:
                return float(1 - np.square(policies - ideal).sum() / np.square(1 / 3 - ideal).sum())
            uniform = losses.mean(-1).sum() / len(losses)
            best = (ideal * losses).sum() / len(losses)
        return float((uniform - own) / (uniform - best))


TASKS = (
    BenchmarkTask("random", _random, _optimal),
    BenchmarkTask("biased", _biased),
    BenchmarkTask("biased-bandit", _biased, feedback="bandit"),
    BenchmarkTask("switching", _switching, _filtered),
    BenchmarkTask("switching-bandit", _switching, _filtered, "bandit"),
    BenchmarkTask("adversarial", _adversarial, partial(_leader, signs=SIGNS[:, None])),
    BenchmarkTask("weighted-rps"),
    BenchmarkTask("chicken"),
)


def game_loss(name: str, choose: Callable[[Any], Any], rounds: int = ROUNDS) -> float:
    """Compute the expected total loss against Hedge, by dynamic programming over counts of one's own actions.

    Args:
        name: the game.
        choose: `np.min` for the best possible policy, `np.mean` for uniform play.
        rounds: the number of rounds.

    >>> game_loss("weighted-rps", np.mean), game_loss("weighted-rps", np.min)
    (1.185, -1.482)
    """
    own, other = np.asarray(as_game(name).payoffs, float)

    @cache
    def rest(counts: tuple[int, ...]) -> float:
        if sum(counts) == rounds:
            return 0.0
        opponent = softmax(OPPONENTS[name] * (np.array(counts) @ other))
        losses = -own @ opponent
        for action in range(len(counts)):
            after = [count + (place == action) for place, count in enumerate(counts)]
            losses[action] += rest(tuple(after))
        return float(choose(losses))

    return rest((0,) * len(own))


class OwnLossOnly(HostLearner):
    """A Python agent that sees only the losses of its own actions; the others are NaN."""

    base: Learner

    def init(self, actions: int, rounds: int | None = None, *, key: Any = None) -> Any:
        return self.base.init(actions, rounds, key=key)

    def policy(self, state: Any) -> Any:
        return self.base.policy(state)

    def observe(self, loss: Any, action: Any) -> Any:
        seen = np.full(np.shape(loss), np.nan)
        seen[int(action)] = loss[int(action)]
        return seen

    def update(self, state: Any, feedback: Any) -> Any:
        return self.base.update(state, feedback)


def benchmark(
    agent: Learner | str,
    folder: str | Path,
    episodes: int = 20,
    *,
    seed: int = 0,
    concurrency: int = 8,
    cache: AnswerCache | None = None,
    resume: bool = False,
    on_progress: OnProgress = ignore,
) -> Benchmark:
    """Run an agent through the benchmark, with classical learners on the same losses.

    Args:
        agent: a chat agent, a Python agent, a language model or any other learner, or its spec.
        folder: folder for the answers, and for a log of every task, `TASK.jsonl`.
        episodes: episodes per task.
        seed: the random seed of losses and draws.
        concurrency: the number of episodes to play at a time.
        cache: the cache of a chat agent's answers; by default the file `answers` in the folder.
        resume: continue a benchmark that was stopped.
        on_progress: called after every task.

    >>> result = benchmark("follow_the_leader()", tempfile.mkdtemp(), 2)  # doctest: +SKIP
    >>> result.of_task("biased")[0].share  # doctest: +SKIP
    1.0
    """
    checks.at_least("episodes", episodes, 1, MAX_EPISODES)
    checks.at_least("seed", seed, 0, 2**32 - 1)
    agent = as_learner(agent)
    for task in TASKS:
        task.players(agent)  # raises if it cannot play the task
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    cache = cache or AnswerCache(folder / "answers")
    results = []
    with tempfile.TemporaryDirectory() as aside:
        for done, task in enumerate(TASKS):
            on_progress(Progress("benchmark", done, len(TASKS), task.name))
            entrants = [(agent, folder / f"{task.name}.jsonl")]
            for spec in REFERENCES[task.feedback]:
                entrants.append((as_learner(spec), Path(aside) / f"{task.name} {spec}.jsonl"))
            for learner, log in entrants:
                played = run_episodes(
                    partial(task.play, seed),
                    task.players(learner),
                    range(episodes),
                    names=("agent", "opponent"),
                    place=("benchmark", task.name, seed),
                    log=log,
                    concurrency=concurrency,
                    cache=cache,
                    resume=resume,
                )
                first = [(episode.policies[0], episode.losses[0]) for episode in played]
                share = task.share(*map(np.stack, zip(*first, strict=True)))
                audited = audit_log(log).agents[0]
                regret, low, high = audited.regret_per_round("external")
                assert regret is not None
                about = (str(learner), task.name, learner is not agent, regret, low, high, share)
                results.append(TaskResult(*about, audited.learning.verdict, audited.unanswered))
    on_progress(Progress("benchmark", len(TASKS), len(TASKS)))
    return Benchmark(str(agent), episodes, tuple(results), cache.spent())
