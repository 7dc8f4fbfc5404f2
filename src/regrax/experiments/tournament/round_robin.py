r"""Every learner against every learner: regrets, payoffs and gaps, with confidence intervals.

Learner $i$ meets learner $j$ in every game: $i$ controls one player, $j$ all the others, and $i$ takes each position in
turn. Each player's payoffs are first shifted and scaled to span $[-1, 0]$, which does not change the strategic
situation. Losses are then in $[0, 1]$, a step size means the same in every game, and results can be averaged over
games. Each pairing gives

    regret, swap_regret   of learner i, per round
    payoff                of learner i, from 0 (its player's lowest payoff) to 1 (the highest)
    cce_gap, ce_gap       of the empirical distribution of play

as means over positions. Seeds determine everything random: the games of a random family, each player's policy in round
1 and, if actions are sampled, the actions. The policy in round 1 is the same for every learner in a position, because
in many famous games uniform play is an equilibrium, and learners that start there never move. Intervals are 95 %
Student's t intervals over seeds. Games, opponents and positions are fixed, so the interval has zero width if nothing is
random.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Float, PRNGKeyArray

from regrax import _checks as checks
from regrax.domains import Simplex
from regrax.experiments.pool import OnProgress, Progress, ignore
from regrax.experiments.tournament.results import MEASURES, Failure, Tournament
from regrax.games import Game, Seating, play, swap_matrices
from regrax.learners import HostLearner, Learner, check_key, random_start
from regrax.regret import external_of, gains_of, internal_of, swap_of
from regrax.sharding import Devices, mesh_of, replicate
from regrax.specs import as_learner, draw_games

Learners = Sequence[Learner | str] | Mapping[str, Learner | str]
Games = Sequence[Game | str] | Mapping[str, Game | str | Sequence[Game]]
Start = Literal["random", "own"]
Scores = dict[Seating, Float[np.ndarray, "measures N"]]
"""Each player's measures (in the order of `MEASURES`), for each assignment of learners to players."""
MAX_BATCH_NUMBERS = 200_000_000
"""Largest number of array entries in one program, which take 1.6 GB."""


class Job(NamedTuple):
    """One drawn game, scaled, with its position in the results."""

    game: int
    seed: int
    drawn: Game
    key: PRNGKeyArray | None
    start: tuple[Float[np.ndarray, "_"], ...] | None  # each player's policy in round 1


def round_robin(
    learners: Learners,
    games: Games,
    rounds: int,
    *,
    seeds: int = 1,
    start: Start = "random",
    key: PRNGKeyArray | None = None,
    on_progress: OnProgress = ignore,
    devices: Devices | None = None,
) -> Tournament:
    """Play every learner against every learner in every game; pairings that fail are listed in `failures`.

    Args:
        learners: Learners or their specs; a mapping gives them names.
        games: Games or their specs; a random family without a seed is drawn again for each seed. A mapping from names
            may also contain one game per seed.
        rounds: Rounds per match.
        seeds: Number of independent random draws.
        start: Policy in round 1: `"random"`, drawn uniformly from the simplex for each seed and player and shared by
            all learners, or the learners' `"own"`.
        key: Random key for sampling actions, required by bandit learners.
        on_progress: Called when games are finished.
        devices: Devices that share the games of each shape.

    >>> results = round_robin(["uniform()", "hedge(0.3)"], ["matching-pennies"], 2, start="own")
    >>> results.values["payoff"][0, :, :, 0].tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    checks.at_least("seeds", seeds, 1)
    checks.at_least("rounds", rounds, 1)
    checks.one_of("start", start, ("random", "own"))
    named = _named("learners", learners, lambda learner: str(as_learner(learner)))
    players = {name: as_learner(learner) for name, learner in named.items()}
    drawn = _drawn_games(games, seeds)
    if not players or not drawn:
        raise ValueError("a tournament needs at least one learner and one game, got none")
    seated = tuple(players.values())
    check_key(seated, key)
    names = tuple(players)
    titles = tuple(drawn)
    values = np.full((len(MEASURES), len(drawn), len(names), len(names), seeds), np.nan)
    failures: dict[Failure, None] = {}
    jobs = list(_jobs(drawn, seeds, start, key))
    mesh = mesh_of(devices)
    done = 0
    on_progress(Progress("games played", 0, len(jobs)))
    for group in _groups(jobs, len(names)):
        for job, (scores, failed) in zip(
            group, _play_group(group, seated, rounds, mesh), strict=True
        ):
            values[:, job.game, :, :, job.seed] = _by_pairing(scores, len(names), job.drawn)
            for assigned, reason in failed:
                pairing = tuple(names[k] for k in dict.fromkeys(assigned))
                failures[Failure(titles[job.game], pairing, reason)] = None
        done += len(group)
        on_progress(Progress("games played", done, len(jobs)))
    for game, own in enumerate(drawn.values()):
        if not _is_random(own, start, key):
            values[:, game] = values[:, game, :, :, :1]
    measured = dict(zip(MEASURES, values, strict=True))
    return Tournament(
        names, titles, rounds, seeds, start, key is not None, measured, tuple(failures)
    )


def _named(
    kind: str, entries: Sequence[Any] | Mapping[str, Any], name_of: Callable[[Any], str]
) -> dict[str, Any]:
    """Return the entries by name; raise ValueError if two entries of a sequence have the same name."""
    if isinstance(entries, Mapping):
        return dict(entries)
    named = {}
    for entry in entries:
        name = name_of(entry)
        if name in named:
            raise ValueError(
                f"{kind} must have distinct names, got {name} twice; pass a mapping to name them"
            )
        named[name] = entry
    return named


def _drawn_games(games: Games, seeds: int) -> dict[str, Sequence[Game]]:
    """Return one game per name, or one per name and seed."""
    drawn: dict[str, Sequence[Game]] = {}
    for name, game in _named("games", games, lambda game: getattr(game, "name", game)).items():
        if isinstance(game, str):
            drawn[name] = draw_games(game, seeds)
        elif isinstance(game, Game):
            drawn[name] = [game]
        else:
            drawn[name] = game
        if len(drawn[name]) not in (1, seeds):
            raise ValueError(f"{name} must have one game or {seeds}, got {len(drawn[name])}")
    return drawn


def _is_random(drawn: Sequence[Game], start: Start, key: PRNGKeyArray | None) -> bool:
    return key is not None or start == "random" or len(drawn) > 1


def _jobs(
    games: Mapping[str, Sequence[Game]], seeds: int, start: Start, key: PRNGKeyArray | None
) -> Iterator[Job]:
    for g, drawn in enumerate(games.values()):
        for seed in range(seeds if _is_random(drawn, start, key) else 1):
            game = _scaled(drawn[seed % len(drawn)])
            own = None if key is None else jax.random.fold_in(jax.random.fold_in(key, g), seed)
            starts = None
            if start == "random":
                starts = tuple(random_start(size, seed, n) for n, size in enumerate(game.sizes))
            yield Job(g, seed, game, own, starts)


def seating(i: int, j: int, player: int, players: int) -> Seating:
    """Assign learner `i` to one player and `j` to all others."""
    return tuple(i if n == player else j for n in range(players))


def seatings(learners: Sequence[int], players: int) -> list[Seating]:
    """List the distinct assignments of all pairs of learners.

    >>> seatings([0, 1], 2)
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    triples = itertools.product(learners, learners, range(players))
    return list(dict.fromkeys(seating(i, j, n, players) for i, j, n in triples))


def _groups(jobs: Sequence[Job], learners: int) -> Iterator[list[Job]]:
    """Yield groups of jobs whose games have the same shape, each as large as fits in memory."""
    for sizes, same in itertools.groupby(sorted(jobs, key=_sizes), key=_sizes):
        group = list(same)
        matches = len(seatings(range(learners), len(sizes)))
        needed = matches * sum(size**2 for size in sizes)
        if needed > MAX_BATCH_NUMBERS:
            raise ValueError(
                f"{learners} learners in a game of sizes {list(sizes)} need {needed:,} array entries at once, "
                f"more than {MAX_BATCH_NUMBERS:,}: choose fewer learners or a smaller game"
            )
        count = MAX_BATCH_NUMBERS // needed
        yield from (group[first : first + count] for first in range(0, len(group), count))


def _sizes(job: Job) -> tuple[int, ...]:
    return job.drawn.sizes


def _play_group(
    jobs: list[Job], learners: Sequence[Learner], rounds: int, mesh: Mesh | None
) -> Iterator[tuple[Scores, list[tuple[Seating, str]]]]:
    """Play all matches in games of the same shape; yield each game's scores, and what failed with the reason."""
    failed = {}
    traced = []
    for k, learner in enumerate(learners):
        if not isinstance(learner.domain, Simplex):
            failed[k] = f"it plays on the {learner.domain.name}"
        elif not isinstance(learner, HostLearner):
            traced.append(k)
    try:
        scores = _play_traced(jobs, learners, traced, rounds, mesh)
    except Exception:  # learners may be user-defined, so leave out those that fail on their own
        errors = {k: _trace_error(learners[k], jobs[0], rounds) for k in traced}
        failed |= {k: error for k, error in errors.items() if error}
        if not any(errors.values()):
            raise
        traced = [k for k in traced if k not in failed]
        scores = _play_traced(jobs, learners, traced, rounds, mesh)
    able = [k for k in range(len(learners)) if k not in failed]
    for job, own in zip(jobs, scores, strict=True):
        problems: list[tuple[Seating, str]] = [((k,), reason) for k, reason in failed.items()]
        for assigned in seatings(able, len(job.drawn.sizes)):
            if assigned in own:
                continue
            seated = [learners[k] for k in assigned]
            try:
                played = play(
                    job.drawn, seated, rounds, key=job.key, start=job.start, keep="summary"
                )
                own[assigned] = _measures([matrix[None] / rounds for matrix in played.matrices])[0]
            except Exception as error:
                problems.append((assigned, _first_line(error)))
        for assigned, measures in own.items():
            if not np.isfinite(measures).all():
                problems.append((assigned, "play produced values that are not finite"))
        yield own, problems


def _trace_error(learner: Learner, job: Job, rounds: int) -> str:
    """Trace one round of a learner without running it, and return its error or an empty string."""

    def one_round(start: Float[Array, "d"]) -> Any:
        started = learner if job.start is None else learner.starting_at(start)
        state = started.init(start.size, rounds, key=job.key)
        feedback = started.observe(jnp.zeros_like(start), jnp.array(0))
        return started.policy(state), started.update(state, feedback)

    try:
        for size in set(job.drawn.sizes):
            jax.eval_shape(one_round, jnp.ones(size) / size)
    except Exception as error:
        return _first_line(error)
    return ""


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _play_traced(
    jobs: list[Job],
    learners: Sequence[Learner],
    traced: list[int],
    rounds: int,
    mesh: Mesh | None,
) -> list[Scores]:
    """Play the learners that jax can trace, with all games in one program."""
    if not traced:
        return [{} for _ in jobs]
    players = len(jobs[0].drawn.sizes)
    inputs = [(job.drawn.payoffs, job.start) for job in jobs]
    payoffs, starts = jax.tree.map(lambda *arrays: np.stack(arrays), *inputs)
    keys = jax.tree.map(lambda *own: jnp.stack(own), *[job.key for job in jobs])
    seated = tuple(learners[k] for k in traced)
    payoffs, seated, keys, starts = replicate((payoffs, seated, keys, starts), mesh)
    places = tuple(seatings(range(len(traced)), players))
    matrices = swap_matrices(payoffs, seated, places, rounds, keys, mesh, starts)
    means = [np.asarray(matrix, float) / rounds for matrix in matrices]
    assigned = seatings(traced, players)
    return [
        dict(zip(assigned, _measures(of_game), strict=True)) for of_game in zip(*means, strict=True)
    ]


def _scaled(game: Game) -> Game:
    """Shift and scale each player's payoffs to span [-1, 0]; constant payoffs become 0."""
    flat = np.asarray(game.payoffs, float).reshape(len(game.sizes), -1)
    flat = flat / np.maximum(np.abs(flat).max(1, keepdims=True), np.finfo(float).tiny)
    span = np.ptp(flat, axis=1, keepdims=True)
    scaled = (flat - flat.max(1, keepdims=True)) / np.where(span > 0, span, 1)
    return Game(scaled.reshape(game.payoffs.shape))


def _measures(matrices: Sequence[Any]) -> Float[np.ndarray, "M measures N"]:
    """Compute the measures per round from each player's matrices, one per assignment."""
    gains = [gains_of(matrix) for matrix in matrices]
    losses = np.stack([np.trace(matrix, axis1=1, axis2=2) for matrix in matrices], 1)
    regret = np.stack([external_of(gain) for gain in gains], 1)
    internal = np.stack([internal_of(gain) for gain in gains], 1)
    swap = np.stack([swap_of(gain) for gain in gains], 1)
    cce_gap = np.broadcast_to(regret.max(1, keepdims=True), regret.shape)
    ce_gap = np.broadcast_to(internal.max(1, keepdims=True), internal.shape)
    return np.stack([regret, swap, 1 - losses, cce_gap, ce_gap], 1)


def _by_pairing(scores: Scores, count: int, game: Game) -> Float[np.ndarray, "measures K K"]:
    """Return the mean over positions for every pairing that was played in all of them, and NaN for the others."""
    players = len(game.sizes)
    missing = np.full((len(MEASURES), players), np.nan)
    means = np.empty((len(MEASURES), count, count))
    for i, j in np.ndindex(count, count):
        parts = [scores.get(seating(i, j, n, players), missing)[:, n] for n in range(players)]
        means[:, i, j] = np.mean(parts, 0)
    return means
