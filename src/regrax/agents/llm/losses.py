"""A task's losses, drawn before play, or round by round if opponents react to the model."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from regrax import _checks as checks
from regrax.agents.llm.task import Task
from regrax.games import play
from regrax.games.play import seated_learners
from regrax.learners import HostLearner, Learner, Uniform
from regrax.regret import external_regret
from regrax.specs import parse_distribution, parse_learner
from regrax.theory import optimal_policy
from regrax.training import BiasedGaussian, Distribution, Gaussian, InGame


def task_distribution(task: Task) -> Distribution | None:
    """Return the distribution of a task's losses, or None if they are given as numbers.

    >>> task_distribution(Task(3, 20))
    Gaussian(covariance=None)
    """
    if not isinstance(task.losses, str):
        return None
    return parse_distribution(task.losses, {"in_game": _in_game})


def _in_game(game: str, *learners: str, seat: int = 0) -> Distribution:
    """Parse the losses of a seat in a game whose learners may be language models."""
    models: Any = {"llm": _language_model}
    return InGame(game, tuple(parse_learner(text, models) for text in learners), seat)


def _language_model(path: str, chat: bool = False) -> Learner:
    from regrax.agents.llm.learner import llm

    if not Path(path).is_dir():  # a task file must not trigger downloads
        raise ValueError(f"a task's opponents must be models in local folders, got {path!r}")
    return llm(path, chat=chat)


def is_reactive(task: Task) -> bool:
    """True if the losses depend on what the model plays."""
    return isinstance(task_distribution(task), InGame)


def gaussian_spread(task: Task) -> float | None:
    r"""Return the spread $s$ of $\ell_t = m + \epsilon_t$, $m \sim N(0, s^2 I)$, $\epsilon_t \sim N(0, I)$, or None.

    >>> gaussian_spread(Task(3, 20)), gaussian_spread(Task(3, 20, losses="biased-gaussian(0.5)"))
    (0.0, 0.5)
    """
    source = task_distribution(task)
    if isinstance(source, BiasedGaussian):
        return float(source.spread)
    if isinstance(source, Gaussian) and source.covariance is None:
        return 0.0
    return None


def hindsight_forecast(task: Task, losses: Any) -> np.ndarray:
    r"""Forecast the best action in hindsight, $q_t = P(\arg\min_j S_{T,j} = \cdot \mid \ell_1, \dots, \ell_{t-1})$.

    For losses with mean $m \sim N(0, s^2 I)$ and unit noise, let $n = t - 1$. Given the past, $S_T$ is Gaussian with
    mean $S_n (1 + s^2 T) / (1 + s^2 n)$ and variance $(T - n) (1 + s^2 T) / (1 + s^2 n)$ per action. Dividing by the
    factor of $S_n$ turns the forecast into `optimal_policy` of $S_n$ with $(T - n) (1 + s^2 n) / (1 + s^2 T)$ rounds
    remaining. With $s = 0$ it is the policy that minimises expected squared regret.

    Args:
        task: a task with `gaussian` or `biased-gaussian` losses.
        losses: `(n, T, d)`.

    >>> task = Task(2, 2, losses="biased-gaussian(1.0)")
    >>> hindsight_forecast(task, np.array([[[1.0, 0.0], [0.0, 0.0]]])).round(3).tolist()
    [[[0.5, 0.5], [0.193, 0.807]]]
    """
    spread = gaussian_spread(task)
    if spread is None:
        raise ValueError(
            f"the forecast needs gaussian or biased-gaussian losses, got {task.losses!r:.60}"
        )
    losses = np.asarray(losses, np.float32)
    rounds = losses.shape[1]
    past = np.arange(rounds, dtype=np.float32)
    left = (rounds - past) * (1 + spread**2 * past) / (1 + spread**2 * rounds)
    before = losses.cumsum(1) - losses
    return np.asarray(optimal_policy(before, np.broadcast_to(left, before.shape[:2])), float)


def favours_no_action(task: Task) -> bool:
    """True if every policy has the same expected regret on the task's losses.

    >>> favours_no_action(Task(3, 20)), favours_no_action(Task(3, 20, losses="biased-gaussian(1.0)"))
    (True, False)
    """
    source = task_distribution(task)
    return source is not None and source.mean is not None


def warn_no_signal(task: Task) -> None:
    """Warn if expected regret cannot be lowered because it is the same for every policy."""
    if favours_no_action(task):
        warnings.warn(
            f"these losses ({task.losses}) favour no action: every policy has the same expected regret, so training "
            "on regret gets no signal. Use squared regret, biased or structured losses, or opponents that react",
            stacklevel=3,
        )


def draw_losses(task: Task, count: int, *, seed: int, step: int = 0) -> np.ndarray:
    """Draw loss sequences of shape `(count, T, d)`, rounded as in the text.

    Args:
        task: the task.
        count: the number of sequences.
        seed: the random seed.
        step: the training step. Equal seeds and steps give equal losses.

    >>> draw_losses(Task(3, 20), 5, seed=0).shape
    (5, 20, 3)
    """
    checks.at_least("count", count, 1)
    checks.at_least("seed", seed, 0)
    source = task_distribution(task)
    if source is None:
        table = np.asarray(task.losses, float).reshape(-1, task.rounds, task.d)
        rng = np.random.default_rng((seed, step))
        return task.rounded(table[rng.integers(len(table), size=count)])
    key = jax.random.fold_in(jax.random.key(seed), step)
    if isinstance(source, InGame) and any(isinstance(x, HostLearner) for x in source.learners):
        keys = jax.random.split(key, count)
        games = [play(source.game, source.learners, task.rounds, key=own) for own in keys]
        return task.rounded([game.losses[source.seat] for game in games])
    drawn = source.draw(task.rounds, task.d, count, key=key)
    return task.rounded(np.moveaxis(np.asarray(drawn), -1, 0))


class Episode:
    """One sequence of rounds: `step` takes an action and returns the losses of that round.

    The opponents of an `in-game` task see each action and react to it. Other losses are fixed in advance.

    Args:
        task: the task.
        seed: the random seed for the losses.
        losses: fixed losses `(T, d)` instead of the task's own.

    >>> episode = Episode(Task(2, 2, losses=[[0.0, 1.0], [1.0, 0.0]]), seed=0)
    >>> episode.step(0).tolist(), episode.step(0).tolist(), episode.regret
    ([0.0, 1.0], [1.0, 0.0], 0.0)
    """

    def __init__(self, task: Task, *, seed: int, losses: Any = None) -> None:
        self.task = task
        self.actions: list[int] = []
        self._rows: list[np.ndarray] = []
        self._opponents = None
        source = task_distribution(task) if losses is None else None
        if isinstance(source, InGame):
            self._opponents = _Opponents(source, task, seed)
        else:
            self._fixed = draw_losses(task, 1, seed=seed)[0] if losses is None else losses

    def step(self, action: int | None) -> np.ndarray:
        """Play one round and return its losses; None plays the action with the largest loss."""
        t = len(self.actions)
        if t >= self.task.rounds:
            raise ValueError(f"the episode is over after {self.task.rounds} rounds")
        row = self._fixed[t] if self._opponents is None else self._opponents.next_losses()
        row = self.task.rounded(row)
        action = int(row.argmax()) if action is None else int(action)
        if self._opponents is not None:
            self._opponents.observe(action)
        self._rows.append(row)
        self.actions.append(action)
        return row

    def forfeit(self) -> None:
        """Play the remaining rounds with the action that has the largest loss in each."""
        while len(self.actions) < self.task.rounds:
            self.step(None)

    @property
    def losses(self) -> np.ndarray:
        """Losses of the rounds so far, `(t, d)`."""
        return np.array(self._rows).reshape(-1, self.task.d)

    @property
    def regret(self) -> float:
        """Regret of the actions so far."""
        if not self.actions:
            return 0.0
        return float(external_regret(np.array(self.actions), self.losses))


class _Opponents:
    """The other players of a game, with sampled actions."""

    def __init__(self, source: InGame, task: Task, seed: int) -> None:
        self.payoffs = np.asarray(source.game.payoffs, float)
        self.seat = source.seat
        sizes = source.game.sizes
        fits = sizes[self.seat] == task.d
        checks.shape("game", self.payoffs, f"with {task.d} actions at seat {self.seat}", fits)
        self.learners = list(seated_learners(source.game, source.learners))
        self.learners[self.seat] = Uniform()  # a placeholder for the model
        keys = jax.random.split(jax.random.key(seed), len(sizes))
        self.states = [
            learner.init(size, task.rounds, key=key)
            for learner, size, key in zip(self.learners, sizes, keys, strict=True)
        ]
        self.rng = np.random.default_rng(seed)
        self.actions: list[int] = []

    def next_losses(self) -> np.ndarray:
        """Sample the opponents' actions and return the losses of the model's actions."""
        self.actions = []
        for learner, state in zip(self.learners, self.states, strict=True):
            policy = np.asarray(learner.policy(state), float)
            self.actions.append(int(self.rng.choice(len(policy), p=policy / policy.sum())))
        return losses_of(self.payoffs, self.seat, self.actions)

    def observe(self, action: int) -> None:
        """Report the model's action to the opponents."""
        self.actions[self.seat] = action
        for player, learner in enumerate(self.learners):
            losses = jnp.asarray(losses_of(self.payoffs, player, self.actions), float)
            seen = learner.observe(losses, jnp.asarray(self.actions[player]))
            self.states[player] = learner.update(self.states[player], seen)


def losses_of(payoffs: np.ndarray, player: int, actions: Sequence[int]) -> np.ndarray:
    """Return the losses of all of a player's actions, given the actions of the others."""
    return -payoffs[player, *actions[:player], :, *actions[player + 1 :]]
