"""Tasks and games as environments and rewards for other trainers, which are imported only when they are used."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from regrax import _checks as checks
from regrax.agents.llm.losses import Episode, losses_of
from regrax.agents.llm.task import Task, without_thoughts
from regrax.games import Game
from regrax.regret import external_regret
from regrax.specs import as_game

OVER = "All rounds are played."


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
    checks.one_of("reward", reward, ("regret", "squared"))

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
                return OVER
            index = task.parse(action)
            if index is None:
                self.invalid += 1
                return f"{action!r} is none of {', '.join(task.actions)}. {task.ask_text(t)}"
            report = task.tell_text(t, self._episode.step(index), index).strip()
            following = task.ask_text(t + 1) if t + 1 < task.rounds else OVER
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


def verifiers_environment(task: Task, reward: str = "regret") -> tuple[type, type]:
    """Build a `Taskset` and an `Env` class for the package `verifiers` (its `v1` interface, version 0.4).

    A module that exports both is an environment for `verifiers` and for prime-rl. Its tasks are numbered, and the
    number is the seed of the losses, so the rollouts of a group share their losses. The environment answers every reply
    of the agent `player` with the losses of the round, ends after the last round or after more invalid replies than
    rounds, and records the reward under the name of the measure.

    Args:
        task: the task.
        reward: minus `regret`, or minus its square (`squared`).
    """
    import verifiers.v1 as vf

    played_task = task
    play = environment(task, reward=reward)

    class Data(vf.TaskData):
        seed: int

    class DecisionTask(vf.Task[Data, vf.State, vf.TaskConfig]):
        pass

    class Config(vf.EnvConfig):
        player: vf.AgentConfig = vf.AgentConfig()

    class Decisions(vf.Taskset[DecisionTask, vf.TasksetConfig]):
        INFINITE = True

        def load(self) -> Iterator[DecisionTask]:
            for seed in itertools.count():
                prompt = play().reset(seed=seed)
                fields = {"name": f"{played_task.name}-{seed}", "prompt": prompt, "seed": seed}
                system = played_task.system or None
                yield DecisionTask(Data(system_prompt=system, **fields), self.config.task)

    class DecisionEnv(vf.Env[Config]):
        async def run(self, task: Any, agents: Any) -> None:
            game = play()
            game.reset(seed=task.data.seed)
            async with agents.player.interaction(task) as interaction:
                segment = await interaction.turn()
                while not segment.terminated:
                    reply = game.choose(segment.last_reply)
                    if reply.endswith(OVER) or game.invalid > played_task.rounds:
                        break
                    segment = await interaction.turn(reply)
            interaction.trace.record_reward(reward, game.get_reward(), 1.0)

    return Decisions, DecisionEnv


def parallel_environment(source: Task | Game | str, rounds: int | None = None) -> Any:
    r"""Build a PettingZoo parallel environment from a game or a task.

    In every round an agent observes what each of its actions would have paid in the round before (zeros at first)
    and receives the payoff of its action. A task has one agent, whose payoffs are minus the task's losses. In the
    last round all agents are truncated, and `infos` contain their regrets.

    Args:
        source: a game or its spec, or a task.
        rounds: the number of rounds, by default the task's, or 100 in a game.

    Returns:
        A `pettingzoo.ParallelEnv` with agents `player_0`, `player_1`, ...
    """
    from gymnasium import spaces
    from pettingzoo import ParallelEnv

    task = None
    payoffs = np.empty(0)
    if isinstance(source, Task):
        task = source if rounds is None else source.replace(rounds=rounds)
        horizon = task.rounds
        sizes = (task.d,)
    else:
        horizon = 100 if rounds is None else rounds
        checks.at_least("rounds", horizon, 1)
        payoffs = np.asarray(as_game(source).payoffs, float)
        sizes = payoffs.shape[1:]

    class Environment(ParallelEnv):
        def __init__(self) -> None:
            self.metadata = {"name": "regrax_v0", "render_modes": []}
            self.possible_agents = [f"player_{player}" for player in range(len(sizes))]
            self.agents = list(self.possible_agents)
            self.action_spaces = {}
            self.observation_spaces = {}
            for agent, size in zip(self.agents, sizes, strict=True):
                self.action_spaces[agent] = spaces.Discrete(size)
                self.observation_spaces[agent] = spaces.Box(-np.inf, np.inf, (size,), np.float64)

        def observation_space(self, agent: str) -> Any:
            return self.observation_spaces[agent]

        def action_space(self, agent: str) -> Any:
            return self.action_spaces[agent]

        def reset(self, seed: int | None = None, options: Any = None) -> tuple[dict, dict]:
            self.agents = list(self.possible_agents)
            self._rounds: list[tuple[list[int], list[np.ndarray]]] = []
            if task is not None:
                random = np.random.default_rng().integers(2**31)
                self._episode = Episode(task, seed=int(random if seed is None else seed))
            zeros = {agent: np.zeros(size) for agent, size in zip(self.agents, sizes, strict=True)}
            return zeros, {agent: {} for agent in self.agents}

        def step(self, actions: dict[str, int]) -> tuple[dict, dict, dict, dict, dict]:
            agents = self.agents
            played = [int(actions[agent]) for agent in agents]
            if task is not None:
                losses = [self._episode.step(played[0])]
            else:
                losses = [losses_of(payoffs, player, played) for player in range(len(played))]
            self._rounds.append((played, losses))
            last = len(self._rounds) == horizon
            seen = {}
            rewards = {}
            infos = {}
            for player, agent in enumerate(agents):
                seen[agent] = -losses[player]
                rewards[agent] = float(seen[agent][played[player]])
                infos[agent] = {}
                if last:
                    own = np.array([actions[player] for actions, _ in self._rounds])
                    faced = np.array([rows[player] for _, rows in self._rounds])
                    infos[agent]["regret"] = float(external_regret(own, faced))
            self.agents = [] if last else agents
            ended = dict.fromkeys(agents, False)
            return seen, rewards, ended, dict.fromkeys(agents, last), infos

    return Environment()
