"""Play episodes of a game one after another, and write them to a log for the audit."""

import contextlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import jax

from regrax._files import open_log
from regrax.agents.chat import ChatAgent
from regrax.games import Game, Trajectory, check_rounds, play, seated_learners
from regrax.learners import HostLearner, Key, Learner
from regrax.specs import as_game


def play_episodes(
    game: Game | str,
    learners: Sequence[Learner | str],
    rounds: int,
    episodes: int = 1,
    *,
    key: Key = None,
    start: Any = None,
    log: Path | str | None = None,
    first: int = 0,
) -> Iterator[Trajectory]:
    """Play several episodes of a game, each from the beginning; questions to chat agents use the game's names.

    Given a key, actions in episode `e` are sampled with `fold_in(key, e)`; a single episode uses the key itself.

    Args:
        game: the game, or its spec.
        learners: a learner, or its spec, for each player.
        rounds: the number of rounds per episode.
        episodes: the number of episodes.
        key: the random key for sampling actions; without it, every player sees expected losses.
        start: the policies for round 1, as in `play`.
        log: a new file with one JSON line per round and player, written before the next round begins.
        first: the number of the first episode.

    >>> from regrax.games import matching_pennies
    >>> from regrax.learners import Uniform
    >>> len(list(play_episodes(matching_pennies(), [Uniform(), Uniform()], 5, episodes=3)))
    3
    """
    game = as_game(game)
    check_rounds(game, rounds, "all", episodes)
    seated = seated_learners(game, learners)
    has_outside = any(isinstance(learner, HostLearner) for learner in seated)
    # with external agents the log exists from the first round; otherwise it appears once it is complete
    opened = contextlib.nullcontext() if log is None else open_log(Path(log), at_once=has_outside)
    with opened as lines:
        for episode in range(first, first + episodes):
            own = key if key is None or episodes == 1 else jax.random.fold_in(key, episode)
            writer = None
            if lines is not None and has_outside:
                writer = _RoundWriter(lines, game, seated, episode)
            try:
                trajectory = play(game, seated, rounds, key=own, start=start, on_round=writer)
            except ValueError as error:
                if writer is None:
                    raise
                where = f" of episode {episode}" if episode else ""
                raise ValueError(
                    f"{error} ({writer.lines.name} has the first {writer.done} rounds{where})"
                ) from None
            if lines is not None and writer is None:
                _write_trajectory(lines, game, trajectory, episode)
            yield trajectory


class _RoundWriter:
    """Writes each round to a log before the next begins, including the exchanges of chat agents."""

    def __init__(
        self, lines: IO[str], game: Game, learners: Sequence[Learner], episode: int
    ) -> None:
        self.lines = lines
        self.game = game
        self.learners = learners
        self.episode = episode
        self.done = 0

    def __call__(self, played: Any) -> None:
        self.done += 1
        policies, losses, actions = _as_lists(played)
        rows = _rows(self.game, self.episode, self.done, policies, losses, actions)
        for row, learner in zip(rows, self.learners, strict=True):
            if isinstance(learner, ChatAgent) and learner.exchanges:
                exchange = learner.exchanges[-1]
                row["answered"] = exchange["answered"]
                row["parser"] = exchange["tries"][-1].get("parser")
                row["exchange"] = {name: exchange[name] for name in ("question", "tries")}
            self.lines.write(json.dumps(row) + "\n")
        self.lines.flush()


def _write_trajectory(lines: IO[str], game: Game, trajectory: Trajectory, episode: int) -> None:
    parts = _as_lists((trajectory.policies, trajectory.losses, trajectory.actions))
    for t in range(trajectory.rounds):
        played = [part and [values[t] for values in part] for part in parts]
        for row in _rows(game, episode, t + 1, *played):
            lines.write(json.dumps(row) + "\n")


def _as_lists(parts: Any) -> list[Any]:
    """Convert each player's policies, losses and actions (or None) to lists."""
    return [part and [values.tolist() for values in part] for part in parts]


def _rows(
    game: Game, episode: int, number: int, policies: Any, losses: Any, actions: Any
) -> list[dict[str, Any]]:
    """Return the log rows for a round, one per player."""
    rows = []
    for n, name in enumerate(game.players):
        row = {"episode": episode, "agent": name, "round": number, "policy": policies[n]}
        if actions is not None:
            row["action"] = actions[n]
        row["losses"] = losses[n]
        rows.append(row)
    return rows
