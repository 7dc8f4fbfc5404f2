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
from jaxtyping import Float, PRNGKeyArray

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
MAX_BATCH_NUMBERS = 200_000_000
"""Largest number of array entries in one program, which take 1.6 GB."""


class Job(NamedTuple):
    """One drawn game, scaled, with its position in the results."""

    game: int
    seeds: slice  # all seeds if nothing is random
    drawn: Game
    key: PRNGKeyArray | None
    start: tuple[Float[np.ndarray, "_"], ...] | None  # each player's policy in round 1

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.drawn.sizes


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
    names = tuple(named)
    seated = [as_learner(learner) for learner in named.values()]
    drawn = _drawn_games(games, seeds)
    if not seated or not drawn:
        raise ValueError("a tournament needs at least one learner and one game, got none")
    check_key(seated, key)
    titles = tuple(drawn)
    values = np.full((len(MEASURES), len(drawn), len(names), len(names), seeds), np.nan)
    failures: dict[Failure, None] = {}
    jobs = list(_jobs(drawn, seeds, start, key))
    mesh = mesh_of(devices)
    done = 0
    on_progress(Progress("games played", 0, len(jobs)))
    for group in _groups(jobs, len(names)):
        played = _play_group(group, seated, rounds, mesh)
        for job, (means, failed) in zip(group, played, strict=True):
            values[:, job.game, :, :, job.seeds] = means[..., None]
            for match, reason in failed.items():
                pairing = tuple(names[k] for k in dict.fromkeys(match))
                failures[Failure(titles[job.game], pairing, reason)] = None
        done += len(group)
        on_progress(Progress("games played", done, len(jobs)))
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
            game = draw_games(game, seeds)
        drawn[name] = [game] if isinstance(game, Game) else game
        if len(drawn[name]) not in (1, seeds):
            raise ValueError(f"{name} must have one game or {seeds}, got {len(drawn[name])}")
    return drawn


def _jobs(
    games: Mapping[str, Sequence[Game]], seeds: int, start: Start, key: PRNGKeyArray | None
) -> Iterator[Job]:
    for g, drawn in enumerate(games.values()):
        is_random = key is not None or start == "random" or len(drawn) > 1
        for seed in range(seeds if is_random else 1):
            game = _scaled(drawn[seed % len(drawn)])
            own = None if key is None else jax.random.fold_in(jax.random.fold_in(key, g), seed)
            starts = None
            if start == "random":
                starts = tuple(random_start(size, seed, n) for n, size in enumerate(game.sizes))
            yield Job(g, slice(seed, seed + 1) if is_random else slice(None), game, own, starts)


def seating(i: int, j: int, player: int, players: int) -> Seating:
    """Assign learner `i` to one player and `j` to all others."""
    return tuple(i if n == player else j for n in range(players))


def seatings(learners: int, players: int) -> dict[Seating, int]:
    """Number the distinct assignments of all pairs of learners.

    >>> seatings(2, 2)
    {(0, 0): 0, (0, 1): 1, (1, 0): 2, (1, 1): 3}
    """
    triples = itertools.product(range(learners), range(learners), range(players))
    distinct = dict.fromkeys(seating(i, j, n, players) for i, j, n in triples)
    return {match: number for number, match in enumerate(distinct)}


def _groups(jobs: Sequence[Job], learners: int) -> Iterator[list[Job]]:
    """Yield groups of jobs whose games have the same shape, each as large as fits in memory."""
    by_sizes = sorted(jobs, key=lambda job: job.sizes)
    for sizes, same in itertools.groupby(by_sizes, key=lambda job: job.sizes):
        group = list(same)
        needed = len(seatings(learners, len(sizes))) * sum(size**2 for size in sizes)
        if needed > MAX_BATCH_NUMBERS:
            raise ValueError(
                f"{learners} learners in a game of sizes {list(sizes)} need {needed:,} array entries at once, "
                f"more than {MAX_BATCH_NUMBERS:,}: choose fewer learners or a smaller game"
            )
        count = MAX_BATCH_NUMBERS // needed
        yield from (group[first : first + count] for first in range(0, len(group), count))


def _play_group(
    jobs: list[Job], learners: Sequence[Learner], rounds: int, mesh: Mesh | None
) -> Iterator[tuple[Float[np.ndarray, "measures K K"], dict[Seating, str]]]:
    """Play all matches in games of the same shape.

    Yields:
        For each game, the means over positions of every pairing, NaN where a match failed, and the reasons of failures.
    """
    players = len(jobs[0].sizes)
    matches = seatings(len(learners), players)
    tables = [(job.drawn.payoffs, job.start) for job in jobs]
    payoffs, starts = jax.tree.map(lambda *arrays: np.stack(arrays), *tables)
    keys = jax.tree.map(lambda *own: jnp.stack(own), *[job.key for job in jobs])
    failed = {}
    traced = set()
    for k, learner in enumerate(learners):
        if not isinstance(learner.domain, Simplex):
            failed[(k,)] = f"it plays on the {learner.domain.name}"
        elif not isinstance(learner, HostLearner):
            traced.add(k)

    def together(chosen: Sequence[Seating]) -> list[Any]:
        """Play matches in one program; return each player's swap matrices, of shape `(J, M, d, d)`."""
        playing = {k for match in chosen for k in match}
        seated = tuple(learner if k in playing else None for k, learner in enumerate(learners))
        inputs = {"payoffs": payoffs, "learners": seated, "keys": keys, "starts": starts}
        inputs = replicate(inputs, mesh)
        return swap_matrices(**inputs, seatings=tuple(chosen), rounds=rounds, mesh=mesh)  # pyright: ignore

    def score_traced() -> Float[np.ndarray, "J M measures N"]:
        """Score the matches of the traced learners; the scores of other matches are NaN."""
        scores = np.full((len(jobs), len(matches), len(MEASURES), players), np.nan)
        chosen = [match for match in matches if traced.issuperset(match)]
        if chosen:
            scores[:, [matches[match] for match in chosen]] = _measures(together(chosen), rounds)
        return scores

    try:
        scores = score_traced()
    except Exception:  # learners may be user-defined, so leave out those that fail on their own
        errors = {}
        for k in traced:
            try:
                jax.eval_shape(lambda k=k: together([(k,) * players]))
            except Exception as error:
                errors[k] = _first_line(error)
        if not errors:
            raise
        failed |= {(k,): error for k, error in errors.items()}
        traced -= errors.keys()
        scores = score_traced()
    left_out = {k for (k,) in failed}
    for job, own in zip(jobs, scores, strict=True):
        problems = dict(failed)
        for match, number in matches.items():
            if not left_out.isdisjoint(match):
                continue
            if not traced.issuperset(match):
                seated = [learners[k] for k in match]
                settings = {"key": job.key, "start": job.start}
                try:
                    played = play(job.drawn, seated, rounds, keep="summary", **settings)
                except Exception as error:
                    problems[match] = _first_line(error)
                    continue
                own[number] = _measures(played.matrices, rounds)
            if not np.isfinite(own[number]).all():
                problems[match] = "play produced values that are not finite"
        means = np.empty((len(MEASURES), len(learners), len(learners)))
        for i, j in np.ndindex(means.shape[1:]):
            parts = [own[matches[seating(i, j, n, players)], :, n] for n in range(players)]
            means[:, i, j] = np.mean(parts, 0)
        yield means, problems


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _scaled(game: Game) -> Game:
    """Shift and scale each player's payoffs to span [-1, 0]; constant payoffs become 0."""
    flat = np.asarray(game.payoffs, float).reshape(len(game.sizes), -1)
    flat = flat / np.maximum(np.abs(flat).max(1, keepdims=True), np.finfo(float).tiny)
    span = np.ptp(flat, axis=1, keepdims=True)
    scaled = (flat - flat.max(1, keepdims=True)) / np.where(span > 0, span, 1)
    return Game(scaled.reshape(game.payoffs.shape))


def _measures(matrices: Sequence[Any], rounds: int) -> Float[np.ndarray, "*matches measures N"]:
    """Compute the measures from each player's swap matrices, one per match."""
    means = [np.asarray(matrix, float) / rounds for matrix in matrices]
    gains = [gains_of(mean) for mean in means]
    losses = np.stack([np.trace(mean, axis1=-2, axis2=-1) for mean in means], -1)
    regret, internal, swap = (
        np.stack([kind(gain) for gain in gains], -1) for kind in (external_of, internal_of, swap_of)
    )
    cce_gap = np.broadcast_to(regret.max(-1, keepdims=True), regret.shape)
    ce_gap = np.broadcast_to(internal.max(-1, keepdims=True), internal.shape)
    return np.stack([regret, swap, 1 - losses, cce_gap, ce_gap], -2)
