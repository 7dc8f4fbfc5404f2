"""Episodes of a game, played one after another and written into a log that the audit reads."""

import contextlib
import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

import jax

from regrax._files import open_log
from regrax.agents._chat import ChatAgent
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
    """Play `episodes` times, each from the beginning; chat agents are asked with the game's names.

    With a key the actions of episode `e` are drawn with `fold_in(key, e)`, of a single episode with the key itself.

    Args:
        game: the game, or its spec.
        learners: one per seat, or its spec.
        rounds: of each episode.
        episodes: how many.
        key: to draw actions with; by default everyone sees expected losses.
        start: the policies of round 1, as `play` takes them.
        log: a new file for a JSON line per round and player, written before the next round begins.
        first: the number of the first episode.

    >>> from regrax.games import matching_pennies
    >>> from regrax.learners import Uniform
    >>> len(list(play_episodes(matching_pennies(), [Uniform(), Uniform()], 5, episodes=3)))
    3
    """
    game = as_game(game)
    check_rounds(game, rounds, "all", episodes)
    seated = seated_learners(game, learners)
    outside = any(isinstance(learner, HostLearner) for learner in seated)
    with _opened(log, outside) as lines:
        for episode in range(first, first + episodes):
            own = key if key is None or episodes == 1 else jax.random.fold_in(key, episode)
            playing = partial(play, game, seated, rounds, key=own, start=start)
            if lines is not None and outside:
                yield _play_and_log(playing, lines, game, seated, episode)
                continue
            trajectory = playing()
            if lines is not None:
                _write(lines, game, trajectory, episode)
            yield trajectory


def _opened(log: Path | str | None, outside: bool) -> Any:
    """The log: of outside agents there from the first round on, of others when it is whole."""
    if log is None:
        return contextlib.nullcontext()
    return open_log(Path(log), at_once=outside)


def _write(lines: IO[str], game: Game, trajectory: Trajectory, episode: int) -> None:
    columns = _listed((trajectory.policies, trajectory.losses, trajectory.actions))
    for t in range(trajectory.rounds):
        row = [part and [rows[t] for rows in part] for part in columns]
        lines.writelines(_lines(game, episode, t + 1, row))


def _play_and_log(
    playing: Any, lines: IO[str], game: Game, learners: Sequence[Learner], episode: int
) -> Trajectory:
    """Play with outside agents: each round is in the log, with what was said, before the next begins."""
    said = [l.exchanges if isinstance(l, ChatAgent) else () for l in learners]
    done = 0

    def write(played: Any) -> None:
        nonlocal done
        done += 1
        lines.writelines(_lines(game, episode, done, _listed(played), [s[-1:] for s in said]))
        lines.flush()

    try:
        return playing(on_round=write)
    except ValueError as error:
        where = f"{lines.name} has the {done} rounds before"
        where += f" in episode {episode}" if episode else ""
        raise ValueError(f"{error} ({where})") from None


def _listed(parts: tuple) -> list[Any]:
    """Policies, losses and actions (or None) of all players as plain lists."""
    return [part and [array.tolist() for array in part] for part in parts]


def _lines(
    game: Game, episode: int, number: int, played: list[Any], said: Sequence[Any] = ()
) -> Iterator[str]:
    """A round's lines, one per player; `played` are policies, losses and actions."""
    policies, losses, actions = played
    for n, name in enumerate(game.players):
        row = {"episode": episode, "agent": name, "round": number, "policy": policies[n]}
        row |= {} if actions is None else {"action": actions[n]}
        row |= {"losses": losses[n]}
        row |= _exchange(said[n][0]) if said and said[n] else {}
        yield json.dumps(row) + "\n"


def _exchange(exchange: dict[str, Any]) -> dict[str, Any]:
    parser = exchange["tries"][-1].get("parser")
    said = {name: exchange[name] for name in ("question", "tries")}
    return {"answered": exchange["answered"], "parser": parser, "exchange": said}
