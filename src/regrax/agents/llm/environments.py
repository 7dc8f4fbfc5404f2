"""Tasks as environments and rewards for other trainers, without importing those trainers."""

from typing import Any

from regrax.agents.llm.losses import Episode
from regrax.agents.llm.task import Task, one_of, without_thoughts


def environment(task: Task, *, reward: str = "regret") -> type:
    """Build a class for TRL's `GRPOTrainer(environment_factory=...)` with `reset`, a tool `choose` and `get_reward`.

    A row's `seed` selects the losses, so rows with equal seeds form a group. If an answer names no action, nothing is
    played and the model can try again. Rounds that are never played count as if the action with the largest loss had
    been chosen. The class is named after the task, and so is the reward's column in the trainer's logs.

    Args:
        task: the task.
        reward: minus `regret`, or minus its square (`squared`).

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
    over = "All rounds are played."

    class Environment:
        def __init__(self) -> None:
            self._episode: Episode | None = None
            self.invalid = 0

        def reset(self, seed: int = 0, **_: Any) -> str:
            """Begin an episode and return the first message to the model."""
            self._episode = Episode(task, seed=int(seed))
            self.invalid = 0
            return task.opening_text() + task.ask_text(0)

        def choose(self, action: str) -> str:
            """Choose one of the options for this round.

            Args:
                action: the name of the option.

            Returns:
                The losses of the round and the next question.
            """
            if self._episode is None:
                raise ValueError("the environment must be reset before it is played")
            t = len(self._episode.actions)
            if t >= task.rounds:
                return over
            index = task.parse(action)
            if index is None:
                self.invalid += 1
                return f"{action!r} is none of {', '.join(task.actions)}. {task.ask_text(t)}"
            report = task.tell_text(t, self._episode.step(index), index).strip()
            following = task.ask_text(t + 1) if t + 1 < task.rounds else over
            return f"{report}\n{following}"

        def get_reward(self) -> float:
            """Minus the regret of the episode, or minus its square."""
            if self._episode is None:
                return 0.0
            self._episode.forfeit()
            regret = self._episode.regret
            return -regret if reward == "regret" else -(regret**2)

    Environment.__name__ = Environment.__qualname__ = task.name
    return Environment


def regret_reward(completions: list[Any], losses: list[Any], task: Task, **_: Any) -> list[float]:
    """Reward answers given all at once, one per line, with their negative regret.

    A line that names no action counts as the action with the largest loss.

    Args:
        completions: strings, or lists of messages whose last message is the answer.
        losses: a column of the dataset, `(T, d)` per row.
        task: the task.

    >>> regret_reward(["A\\nB", "?\\nA"], [[[0.0, 1.0], [1.0, 0.0]]] * 2, Task(2, 2))
    [1.0, -1.0]
    """
    rewards = []
    for completion, table in zip(completions, losses, strict=True):
        text = completion if isinstance(completion, str) else completion[-1]["content"]
        lines = [line for line in without_thoughts(text).splitlines() if line.strip()]
        episode = Episode(task, seed=0, losses=table)
        for line in lines[: len(table)]:
            episode.step(task.parse(line))
        episode.forfeit()
        rewards.append(-episode.regret)
    return rewards
