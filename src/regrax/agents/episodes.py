"""Play episodes of a game, several at a time, and write them to a log for the audit."""

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from regrax import _checks as checks
from regrax._files import open_log
from regrax.agents.cache import AnswerCache
from regrax.agents.chat import ChatAgent
from regrax.games import Game, Trajectory, check_rounds, play, seated_learners
from regrax.learners import HostLearner, Key, Learner
from regrax.specs import as_game

Played = TypeVar("Played")  # with policies, losses and actions per player
OnRound = Callable[[Any], None] | None
Write = Callable[[dict[str, Any]], None]


def play_episodes(
    game: Game | str,
    learners: Sequence[Learner | str],
    rounds: int,
    episodes: int = 1,
    *,
    key: Key = None,
    start: Any = None,
    prior: Any = None,
    log: Path | str | None = None,
    first: int = 0,
    concurrency: int = 8,
    cache: AnswerCache | Path | str | None = None,
    resume: bool = False,
) -> Iterator[Trajectory]:
    """Play several episodes of a game, each from the beginning; questions to chat agents use the game's names.

    Given a key, actions in episode `e` are sampled with `fold_in(key, e)`; episode 0 alone uses the key itself.
    Episodes are returned and logged in order. Those with chat servers are played in parallel; functions and local
    models are called by one episode after another.

    Args:
        game: the game, or its spec.
        learners: a learner, or its spec, for each player.
        rounds: the number of rounds per episode.
        episodes: the number of episodes.
        key: the random key for sampling actions; without it, every player sees expected losses.
        start, prior: the policies for round 1 and the initial weights, as in `play`.
        log: a new file with one JSON line per round and player, written before the next round begins.
        first: the number of the first episode.
        concurrency: the number of episodes to play at a time.
        cache: a file for the answers of chat agents. Answers that it already contains are not requested again, so a
            run that was stopped continues where it was.
        resume: write the log again if it exists, from the answers in the cache.

    >>> from regrax.games import matching_pennies
    >>> from regrax.learners import Uniform
    >>> len(list(play_episodes(matching_pennies(), [Uniform(), Uniform()], 5, episodes=3)))
    3
    """
    game = as_game(game)
    check_rounds(game, rounds, "all", episodes)
    alone = (first, episodes) == (0, 1)

    def play_one(episode: int, players: Sequence[Learner], on_round: OnRound) -> Trajectory:
        own = key if key is None or alone else jax.random.fold_in(key, episode)
        return play(game, players, rounds, key=own, start=start, prior=prior, on_round=on_round)

    seed = None if key is None else jax.random.key_data(key).tolist()
    yield from run_episodes(
        play_one,
        seated_learners(game, learners),
        range(first, first + episodes),
        names=game.players,
        place=(game.name, seed, alone),
        log=log,
        concurrency=concurrency,
        cache=cache,
        resume=resume,
    )


def run_episodes(
    play_one: Callable[[int, Sequence[Learner], OnRound], Played],
    learners: Sequence[Learner],
    episodes: range,
    *,
    names: Sequence[str],
    place: tuple[Any, ...],
    log: Path | str | None,
    concurrency: int,
    cache: AnswerCache | Path | str | None,
    resume: bool,
) -> Iterator[Played]:
    """Run `play_one(episode, learners, on_round)` for every episode; return and log the results in order.

    Args:
        play_one: plays an episode, calling `on_round` after every round unless it is None.
        learners: one per player.
        episodes: the numbers of the episodes.
        names: names of the players in the log.
        place: distinguishes this run's answers from those of other runs in the cache.
        log, concurrency, cache, resume: see `play_episodes`.
    """
    checks.at_least("concurrency", concurrency, 1)
    if isinstance(cache, str | Path):
        cache = AnswerCache(cache)
    hosted = [learner for learner in learners if isinstance(learner, HostLearner)]
    are_servers = all(isinstance(x, ChatAgent) and x.endpoint is not None for x in hosted)
    workers = min(concurrency, len(episodes)) if hosted and are_servers else 1
    # with external agents the log exists from the first round; otherwise it appears once it is complete
    opened = contextlib.nullcontext()
    if log is not None:
        opened = open_log(Path(log), at_once=bool(hosted), again=resume)
    with opened as lines:

        def run(episode: int, write: Write) -> tuple[list[Learner], Played]:
            players = []
            for number, learner in enumerate(learners):
                if isinstance(learner, ChatAgent):
                    learner = learner.for_episode(cache, *place, number, episode)
                players.append(learner)
            done = 0

            def log_round(played: Any) -> None:
                """Write a round's row for every player, including the exchanges of chat agents."""
                nonlocal done
                done += 1
                numbers = jax.tree.map(lambda values: values.tolist(), tuple(played))
                policies, losses, actions = numbers
                for n, player in enumerate(players):
                    row = {"episode": episode, "agent": names[n], "round": done}
                    row["policy"] = policies[n]
                    if actions is not None:
                        row["action"] = actions[n]
                    row["losses"] = losses[n]
                    if isinstance(player, ChatAgent) and player.exchanges:
                        exchange = player.exchanges[-1]
                        row["answered"] = exchange["answered"]
                        row["parser"] = exchange["tries"][-1].get("parser")
                        row["exchange"] = {name: exchange[name] for name in ("question", "tries")}
                    write(row)

            try:
                played: Any = play_one(episode, players, log_round if hosted else None)
            except ValueError as error:
                if lines and done:
                    where = f" of episode {episode}" if episode else ""
                    hint = "; resume to continue" if cache else ""
                    error = ValueError(f"{error} ({log} has the first {done} rounds{where}{hint})")
                raise error from None
            if lines and not hosted:
                stacked = (played.policies, played.losses, played.actions)
                for t in range(len(played.policies[0])):
                    log_round(jax.tree.map(lambda values, t=t: values[t], stacked))
            return players, played

        def write(row: dict[str, Any]) -> None:
            if lines:
                lines.write(json.dumps(row) + "\n")
                if hosted:
                    lines.flush()

        for players, played in _in_order(run, episodes, workers, write):
            for learner, player in zip(learners, players, strict=True):
                if isinstance(learner, ChatAgent) and isinstance(player, ChatAgent):
                    learner.exchanges.extend(player.exchanges)
            yield played


def _in_order(
    run: Callable[[int, Write], Played], episodes: range, workers: int, write: Write
) -> Iterator[Played]:
    """Run episodes in parallel; yield the results, and write the rows, in the order of the episodes."""
    if workers == 1:
        for episode in episodes:
            yield run(episode, write)
        return
    precise = jnp.result_type(float) == jnp.float64  # a setting of this thread
    stopped = Event()

    def work(episode: int, rows: SimpleQueue[Any]) -> Played:
        def put(row: dict[str, Any]) -> None:
            if stopped.is_set():
                raise InterruptedError
            rows.put(row)

        try:
            with jax.enable_x64(precise):
                return run(episode, put)
        finally:
            rows.put(None)

    pool = ThreadPoolExecutor(workers)
    try:
        queues = [SimpleQueue[Any]() for _ in episodes]
        running = [pool.submit(work, *pair) for pair in zip(episodes, queues, strict=True)]
        for rows, future in zip(queues, running, strict=True):
            for row in iter(rows.get, None):
                write(row)
            yield future.result()
    finally:
        stopped.set()
        pool.shutdown(cancel_futures=True)  # answers in flight are still added to the cache
