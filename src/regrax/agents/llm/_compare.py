r"""Before and after: the regret of two models beside Hedge and the best possible policy, on the same losses.

Everything is measured on losses as the text rounds them. For standard Gaussian losses the best possible policy is
`Optimal`; for others there is none to compare with.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regrax import _checks as checks
from regrax.agents.exploration import Exploration, exploration
from regrax.agents.llm._language import Language, language_of, valid_rate
from regrax.agents.llm._learner import LanguageLearner
from regrax.agents.llm._losses import draw_losses, is_reactive, is_standard_gaussian
from regrax.agents.llm._rollouts import Rollouts, evaluate_rollouts, hedge_policies
from regrax.agents.llm._task import Task
from regrax.agents.llm._template import letters
from regrax.experiments import OnProgress, Progress, ignore
from regrax.regret import external_regret, running_external_regret
from regrax.theory import optimal_policy

ELSEWHERE = (
    *("gaussian", "uniform(-1.7, 1.7)", "laplace"),
    *("biased-gaussian(1.0)", "alternating", "drifting"),
)
"""Distributions that a model is tried on besides its own."""


@dataclass(frozen=True)
class Player:
    """Regret of one player over many sequences.

    Attributes:
        name: model before or after, or baseline.
        regret: mean over sequences.
        regret_error: its standard error.
        squared: mean of squared regret.
        squared_error: its standard error.
        curve: mean regret after every round.
        squared_curve: mean squared regret after every round.
    """

    name: str
    regret: float
    regret_error: float
    squared: float
    squared_error: float
    curve: tuple[float, ...]
    squared_curve: tuple[float, ...]


@dataclass(frozen=True)
class Setting:
    """Players in one setting, or why it cannot be told to the model."""

    name: str
    players: tuple[Player, ...]
    problem: str = ""


@dataclass(frozen=True)
class Comparison:
    """What training changed.

    Attributes:
        task: that was trained on.
        reactive: whether losses answer to what is played.
        sequences: per setting.
        trained_on: regret in the setting of the task.
        elsewhere: in other settings.
        language: perplexity on held-out text.
        valid: share of answers that could be read, before and after.
        exploration: measures before and after.
    """

    task: Task
    reactive: bool
    sequences: int
    trained_on: Setting
    elsewhere: tuple[Setting, ...]
    language: Language
    valid: tuple[float, ...]
    exploration: tuple[Exploration, ...]

    def player(self, name: str) -> Player:
        """One of the players in the setting that was trained on."""
        return next(one for one in self.trained_on.players if one.name == name)


def compare_models(
    before: Any,
    after: Any,
    tokenizer: Any,
    task: Task,
    *,
    sequences: int = 500,
    seed: int = 10_000,
    text: str | None = None,
    elsewhere: Sequence[str] = ELSEWHERE,
    on_progress: OnProgress = ignore,
) -> Comparison:
    """Measure a model before and after training.

    Args:
        before: the model as it was.
        after: the model as it is.
        tokenizer: of both.
        task: what it was trained on.
        sequences: of losses, in every setting.
        seed: of these losses; not the one of training.
        text: held-out text to measure lost language on; by default a few sentences, or transcripts.
        elsewhere: distributions besides the task's own.
        on_progress: called after every setting.
    """
    checks.at_least("sequences", sequences, 2)
    models, other_tasks = (before, after), _other_tasks(task, elsewhere)
    steps = len(other_tasks) + 2

    def play(asked: Task) -> list[Rollouts]:
        return [evaluate_rollouts(m, tokenizer, asked, sequences, seed=seed) for m in models]

    on_progress(Progress("compare", 0, steps, task.name))
    both, others = play(task), []
    bandit = task.feedback == "bandit"
    explored = tuple(exploration(one.actions, one.losses, bandit=bandit) for one in both)
    for name, other in other_tasks:
        on_progress(Progress("compare", len(others) + 1, steps, name))
        others.append(_setting(name, other, play))
    on_progress(Progress("compare", steps - 1, steps, "language"))
    language = language_of(before, after, tokenizer, task, text, seed)
    valid = tuple(valid_rate(model, tokenizer, task, seed) for model in models)
    on_progress(Progress("compare", steps, steps))
    own = Setting(task.name, _players(both, task))
    measured = (own, tuple(others), language, valid, explored)
    return Comparison(task, is_reactive(task), sequences, *measured)


def _other_tasks(task: Task, elsewhere: Sequence[str]) -> list[tuple[str, Task]]:
    """The same words with other rounds, numbers of actions and losses."""
    found = []
    if isinstance(task.losses, str) and not task.losses.startswith("in-game"):
        for rounds in (max(2, task.rounds // 2), 2 * task.rounds):
            found.append((f"{rounds} rounds", task.replace(rounds=rounds)))
        for names in (task.actions[:2], (*task.actions, letters(26)[-1])):
            found.append((f"{len(names)} actions", task.replace(actions=names)))
    found += [(spec, task.replace(losses=spec)) for spec in elsewhere if spec != task.losses]
    return found


def _setting(name: str, task: Task, play: Callable[[Task], list[Rollouts]]) -> Setting:
    try:
        played = play(task)
    except ValueError as error:
        return Setting(name, (), str(error))
    return Setting(name, _players(played, task))


def _players(played: list[Rollouts], task: Task) -> tuple[Player, ...]:
    before, after = played
    policies = {"after": after.policies, **baselines(after.losses, task)}
    others = [_player(name, pi, after.losses) for name, pi in policies.items()]
    return (_player("before", before.policies, before.losses), *others)


def baselines(losses: np.ndarray, task: Task) -> dict[str, np.ndarray]:
    r"""What uniform play, Hedge with its best step $k^*$ and, on Gaussian losses, the best possible policy play."""
    n, rounds, d = losses.shape
    found = {"uniform": np.full(losses.shape, 1 / d), "Hedge at k*": hedge_policies(losses)}
    if is_standard_gaussian(task):
        before = (losses.cumsum(1) - losses).astype(np.float32)
        left = np.broadcast_to(rounds - np.arange(rounds, dtype=np.float32), (n, rounds))
        found["best possible"] = np.asarray(optimal_policy(before, left), float)
    return found


def _player(name: str, played: np.ndarray, losses: np.ndarray) -> Player:
    curves = np.asarray(running_external_regret(played, losses))
    (regret, error), (squared, squared_error) = _mean(curves[:, -1]), _mean(curves[:, -1] ** 2)
    means = (tuple(each.mean(0).tolist()) for each in (curves, curves**2))
    return Player(name, regret, error, squared, squared_error, *means)


def squared_regret_share(
    model: Any, tokenizer: Any, task: Task, *, sequences: int = 10_000, seed: int = 20_000
) -> dict[str, tuple[float, float]]:
    r"""$E[R^2]$ of a model and of its baselines on the same fresh losses, each with its standard error.

    `share` is the part of the way from uniform play to Hedge that the model has come,
    $(E[R_u^2] - E[R^2]) / (E[R_u^2] - E[R_h^2])$; its error is that of a ratio of means over the same sequences.

    Args:
        model: a causal language model.
        tokenizer: its tokenizer.
        task: to be played.
        sequences: how many.
        seed: of the losses.
    """
    losses = draw_losses(task, sequences, seed=seed)
    learner = LanguageLearner(model, tokenizer, task)
    played = {"model": learner.answer_batch(losses), **baselines(losses, task)}
    squares = {name: np.square(external_regret(pi, losses)) for name, pi in played.items()}
    gained = squares["uniform"] - squares["model"]
    possible = squares["uniform"] - squares["Hedge at k*"]
    share = gained.mean() / possible.mean()
    error = _mean(gained - share * possible)[1] / possible.mean()
    found = {name: _mean(values) for name, values in squares.items()}
    return {**found, "share": (float(share), float(error))}


def _mean(values: np.ndarray) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / len(values) ** 0.5)
