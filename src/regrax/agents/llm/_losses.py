"""Where a task's losses come from: drawn before play, or round by round where opponents react to what is played."""

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from regrax import _checks as checks
from regrax.agents.llm._task import Task
from regrax.learners import Uniform
from regrax.regret import external_regret
from regrax.specs import parse_distribution
from regrax.training import Distribution, Gaussian, InGame


def distribution_of(task: Task) -> Distribution | None:
    """The distribution that a task names, or None if its losses are numbers.

    >>> distribution_of(Task(3, 20))
    Gaussian(covariance=None)
    """
    return parse_distribution(task.losses) if isinstance(task.losses, str) else None


def is_reactive(task: Task) -> bool:
    """Whether the losses answer to what is played."""
    return isinstance(distribution_of(task), InGame)


def is_standard_gaussian(task: Task) -> bool:
    """Whether the losses are those that the hindsight loss and the best possible policy are for."""
    source = distribution_of(task)
    return isinstance(source, Gaussian) and source.covariance is None


def draw_losses(task: Task, count: int, *, seed: int, step: int = 0) -> np.ndarray:
    """`count` sequences of losses as the text rounds them, `(count, T, d)`.

    Args:
        task: whose losses.
        count: how many sequences, an integer >= 1.
        seed: of the draws.
        step: of training; the same seed and step draw the same.

    >>> draw_losses(Task(3, 20), 5, seed=0).shape
    (5, 20, 3)
    """
    checks.at_least("count", count, 1)
    checks.at_least("seed", seed, 0)
    source = distribution_of(task)
    if source is None:
        table = np.asarray(task.losses, float).reshape(-1, task.rounds, task.d)
        rng = np.random.default_rng((seed, step))
        return task.rounded(table[rng.integers(len(table), size=count)])
    key = jax.random.fold_in(jax.random.key(seed), step)
    drawn = source.draw(task.rounds, task.d, count, key=key)
    return task.rounded(np.moveaxis(np.asarray(drawn), -1, 0))


def favours_no_action(task: Task) -> bool:
    """Whether every policy has the same expected regret on the task's losses.

    >>> favours_no_action(Task(3, 20)), favours_no_action(Task(3, 20, losses="biased-gaussian(1.0)"))
    (True, False)
    """
    source = distribution_of(task)
    return source is not None and source.mean is not None


def warn_no_signal(task: Task, by: str) -> None:
    """Warn where low expected regret cannot be learnt, because every policy has the same."""
    if by != "squared" and favours_no_action(task):
        warnings.warn(
            f"these losses ({task.losses}) favour no action: every policy has the same expected regret, so choosing "
            "by regret carries no signal. What does: squared regret, biased or structured losses, opponents that react",
            stacklevel=3,
        )


class Episode:
    """One sequence of rounds as it is played: an action in, the losses of that round out.

    The opponents of an `in-game` task play in it and see what is played; other losses are there beforehand.

    >>> episode = Episode(Task(2, 2, losses=[[0.0, 1.0], [1.0, 0.0]]), seed=0)
    >>> episode.step(0).tolist(), episode.step(0).tolist(), episode.regret
    ([0.0, 1.0], [1.0, 0.0], 0.0)
    """

    def __init__(self, task: Task, *, seed: int, losses: Any = None) -> None:
        self.task, self.actions = task, []
        self._rows: list[np.ndarray] = []
        source = distribution_of(task)
        if losses is None and isinstance(source, InGame):
            self._next = _Opponents(source, task, seed).losses
        else:
            given = iter(draw_losses(task, 1, seed=seed)[0] if losses is None else losses)
            self._next = lambda _: next(given)

    def step(self, action: int) -> np.ndarray:
        """Play one round."""
        if len(self.actions) >= self.task.rounds:
            raise ValueError(f"the episode is over after {self.task.rounds} rounds")
        self._rows.append(self.task.rounded(self._next(action)))
        self.actions.append(int(action))
        return self._rows[-1]

    @property
    def losses(self) -> np.ndarray:
        """The losses of the rounds so far, `(t, d)`."""
        return np.array(self._rows).reshape(-1, self.task.d)

    @property
    def regret(self) -> float:
        """The regret of the actions so far."""
        actions = np.array(self.actions)
        return float(external_regret(actions, self.losses)) if self.actions else 0.0


class _Opponents:
    """The other seats of a game; actions are drawn, the model's own is given."""

    def __init__(self, source: InGame, task: Task, seed: int) -> None:
        self.payoffs, self.seat = np.asarray(source.game.payoffs, float), source.seat
        sizes = source.game.sizes
        fits = sizes[self.seat] == task.d
        checks.shape("game", self.payoffs, f"with {task.d} actions at seat {self.seat}", fits)
        learners = source.learners * (len(sizes) if len(source.learners) == 1 else 1)
        self.learners = [l if n != self.seat else Uniform() for n, l in enumerate(learners)]
        keys = jax.random.split(jax.random.key(seed), len(sizes))
        seats = zip(self.learners, sizes, keys, strict=True)
        self.states = [l.init(size, task.rounds, key=key) for l, size, key in seats]
        self.rng = np.random.default_rng(seed)

    def losses(self, action: int) -> np.ndarray:
        """The losses of this round for the model's seat; the others see the action."""
        seats = zip(self.learners, self.states, strict=True)
        policies = [np.asarray(l.policy(state), float) for l, state in seats]
        played = [int(self.rng.choice(len(pi), p=pi / pi.sum())) for pi in policies]
        played[self.seat] = action
        rows = [
            -self.payoffs[(n, *played[:n], slice(None), *played[n + 1 :])]
            for n in range(len(played))
        ]
        seen = zip(self.learners, self.states, rows, played, strict=True)
        self.states = [
            l.update(state, l.observe(jnp.asarray(row, float), jnp.asarray(a)))
            for l, state, row, a in seen
        ]
        return rows[self.seat]
