"""Where a task's losses come from: drawn before play, or round by round where opponents react to what is played."""

from typing import Any

import jax
import numpy as np

from regrax import _checks as checks
from regrax.learners import Uniform
from regrax.llm._task import Task
from regrax.specs import parse_distribution
from regrax.training import Distribution, InGame


def distribution_of(task: Task) -> Distribution | None:
    """The distribution that a task names, or None if its losses are numbers.

    >>> distribution_of(Task(3, 20)).name
    'gaussian'
    """
    return parse_distribution(task.losses) if isinstance(task.losses, str) else None


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
        self._given: Any = losses
        self._opponents: _Opponents | None = None
        source = distribution_of(task)
        if losses is None and isinstance(source, InGame):
            self._opponents = _Opponents(source, task, seed)
        elif losses is None:
            self._given = draw_losses(task, 1, seed=seed)[0]

    def step(self, action: int) -> np.ndarray:
        """Play one round."""
        t = len(self.actions)
        if t >= self.task.rounds:
            raise ValueError(f"the episode is over after {self.task.rounds} rounds")
        row = self._opponents.losses(action) if self._opponents else self._given[t]
        self.actions.append(int(action))
        self._rows.append(self.task.rounded(row))
        return self._rows[-1]

    @property
    def losses(self) -> np.ndarray:
        """The losses of the rounds so far, `(t, d)`."""
        return np.array(self._rows).reshape(-1, self.task.d)

    @property
    def regret(self) -> float:
        """The regret of the actions so far."""
        losses = self.losses
        if not self.actions:
            return 0.0
        suffered = losses[np.arange(len(losses)), self.actions].sum()
        return float(suffered - losses.sum(0).min())


class _Opponents:
    """The other seats of a game; actions are drawn, the model's own is given."""

    def __init__(self, source: InGame, task: Task, seed: int) -> None:
        self.payoffs, self.seat = np.asarray(source.game.payoffs, float), source.seat
        sizes = source.game.sizes
        fits = sizes[self.seat] == task.d
        checks.shape("game", self.payoffs, f"with {task.d} actions at seat {self.seat}", fits)
        learners = source.learners * len(sizes) if len(source.learners) == 1 else source.learners
        self.learners = [l if n != self.seat else Uniform() for n, l in enumerate(learners)]
        keys = jax.random.split(jax.random.key(seed), len(sizes))
        self.states = [
            l.init(size, task.rounds, key=key)
            for l, size, key in zip(self.learners, sizes, keys, strict=True)
        ]
        self.rng = np.random.default_rng(seed)

    def losses(self, action: int) -> np.ndarray:
        """The losses of this round for the model's seat; the others see the action."""
        played = [self._draw(n) for n in range(len(self.learners))]
        played[self.seat] = action
        rows = [self._row(n, played) for n in range(len(played))]
        self.states = [
            l.update(state, l.observe(_floats(row), jax.numpy.asarray(a)))
            for l, state, row, a in zip(self.learners, self.states, rows, played, strict=True)
        ]
        return rows[self.seat]

    def _draw(self, n: int) -> int:
        policy = np.asarray(self.learners[n].policy(self.states[n]), float)
        return int(self.rng.choice(len(policy), p=policy / policy.sum()))

    def _row(self, n: int, played: list[int]) -> np.ndarray:
        others = tuple(slice(None) if m == n else a for m, a in enumerate(played))
        return -self.payoffs[n][others]


def _floats(row: np.ndarray) -> Any:
    return jax.numpy.asarray(row, float)
