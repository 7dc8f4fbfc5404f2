"""A task as an environment for trainers of others: duck-typed, so that nothing here needs them."""

from typing import Any

from regrax.llm._config import one_of
from regrax.llm._losses import Episode
from regrax.llm._task import Task


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

    class Environment(_Environment):
        asked, kind = task, reward

    return Environment


class _Environment:
    asked: Task
    kind: str

    def __init__(self) -> None:
        self._episode: Episode | None = None
        self.invalid = 0

    def reset(self, seed: int = 0, **_: Any) -> str:
        """Begin an episode; what is returned is said to the model."""
        self._episode, self.invalid = Episode(self.asked, seed=int(seed)), 0
        return self.asked.opening_text() + self.asked.ask_text(0)

    def choose(self, action: str) -> str:
        """Choose one of the options for this round.

        Args:
            action: the name of the option.

        Returns:
            What the round cost, and the next question.
        """
        episode = self._episode
        if episode is None:
            raise ValueError("the environment must be reset before it is played")
        t, index = len(episode.actions), self.asked.parse(action)
        if t >= self.asked.rounds:
            return "All rounds are played."
        if index is None:
            self.invalid += 1
            return (
                f"{action!r} is none of {', '.join(self.asked.actions)}. {self.asked.ask_text(t)}"
            )
        told = self.asked.tell_text(t, episode.step(index), index).strip()
        last = t + 1 == self.asked.rounds
        return told + "\n" + ("All rounds are played." if last else self.asked.ask_text(t + 1))

    def get_reward(self) -> float:
        """Minus the regret of the episode, or minus its square."""
        episode = self._episode
        if episode is None:
            return 0.0
        while len(episode.actions) < self.asked.rounds:
            worst = int(episode.losses.sum(0).argmax()) if len(episode.actions) else 0
            episode.step(worst)
        return -episode.regret if self.kind == "regret" else -(episode.regret**2)


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
            episode.step(
                max(range(task.d), key=lambda j, row=row: row[j]) if named is None else named
            )
        rewards.append(-episode.regret)
    return rewards
