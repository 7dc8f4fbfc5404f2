"""A task as an environment for trainers of others: duck-typed, so that nothing here needs them."""

from typing import Any

import numpy as np

from regrax.agents.llm._config import one_of
from regrax.agents.llm._losses import Episode
from regrax.agents.llm._task import Task

OVER = "All rounds are played."


def environment(task: Task, *, reward: str = "regret") -> type:
    """A class for TRL's `GRPOTrainer(environment_factory=...)`: `reset(**row)`, the tool `choose`, `get_reward()`.

    A row's `seed` says which losses are met: rows that share it share them, so a group does. Answers that name no
    action are told so, cost nothing, and the round goes on; rounds that are never played count as the worst action.

    >>> game = environment(Task(("A", "B"), 2, losses=[[0.0, 1.0], [1.0, 0.0]]))()
    >>> print(game.reset(seed=0).splitlines()[-1])
    Round 1, your choice:
    >>> print(game.choose("A"))
    Losses: A 0.0, B 1.0
    Round 2, your choice:
    >>> game.choose("B"), game.get_reward()
    ('Losses: A 1.0, B 0.0\\nAll rounds are played.', 1.0)
    """
    one_of("reward", reward, ("regret", "squared"))

    class Environment:
        def __init__(self) -> None:
            self._episode: Episode | None = None
            self.invalid = 0

        def reset(self, seed: int = 0, **_: Any) -> str:
            """Begin an episode; what is returned is said to the model."""
            self._episode, self.invalid = Episode(task, seed=int(seed)), 0
            return task.opening_text() + task.ask_text(0)

        def choose(self, action: str) -> str:
            """Choose one of the options for this round.

            Args:
                action: the name of the option.

            Returns:
                What the round cost, and the next question.
            """
            if self._episode is None:
                raise ValueError("the environment must be reset before it is played")
            t, index = len(self._episode.actions), task.parse(action)
            if t >= task.rounds:
                return OVER
            if index is None:
                self.invalid += 1
                return f"{action!r} is none of {', '.join(task.actions)}. {task.ask_text(t)}"
            told = task.tell_text(t, self._episode.step(index), index).strip()
            return f"{told}\n{task.ask_text(t + 1) if t + 1 < task.rounds else OVER}"

        def get_reward(self) -> float:
            """Minus the regret of the episode, or minus its square."""
            episode = self._episode
            if episode is None:
                return 0.0
            while len(episode.actions) < task.rounds:
                episode.step(int(episode.losses.sum(0).argmax()))
            return -episode.regret if reward == "regret" else -(episode.regret**2)

    return Environment


def regret_reward(completions: list[Any], losses: list[Any], task: Task, **_: Any) -> list[float]:
    """Minus the regret of answers given all at once, one per line: a plain reward function.

    A line that names no action counts as the worst action.

    Args:
        completions: texts, or messages whose last is the text.
        losses: a column of the data set, `(T, d)` per row.
        task: that was asked.

    >>> regret_reward(["A\\nB", "?\\nA"], [[[0.0, 1.0], [1.0, 0.0]]] * 2, Task(2, 2))
    [1.0, -1.0]
    """
    rewards = []
    for completion, table in zip(completions, losses, strict=True):
        text = completion if isinstance(completion, str) else completion[-1]["content"]
        lines = [line for line in text.splitlines() if line.strip()]
        episode = Episode(task, seed=0, losses=table)
        for t, row in enumerate(table):
            named = task.parse(lines[t]) if t < len(lines) else None
            episode.step(int(np.argmax(row)) if named is None else named)
        rewards.append(-episode.regret)
    return rewards
