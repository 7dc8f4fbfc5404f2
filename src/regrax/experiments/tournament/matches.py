"""Matches of a tournament: all pairings of learners in games of the same shape, in one compiled program."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Float, PRNGKeyArray

from regrax.domains import Simplex
from regrax.games import Game, Seating, play, swap_matrices
from regrax.learners import HostLearner, Learner
from regrax.regret import external_of, gains_of, internal_of, swap_of
from regrax.sharding import replicate

Scores = dict[Seating, Float[np.ndarray, "measures N"]]
"""Each player's measures (in the order of `MEASURES`), for each assignment of learners to players."""
MAX_BATCH_NUMBERS = 200_000_000
"""Largest number of array entries in one program, which take 1.6 GB."""


class Job(NamedTuple):
    """One drawn game, with its position in the results."""

    game: int
    seed: int
    drawn: Game
    key: PRNGKeyArray | None
    start: tuple[Float[np.ndarray, "_"], ...] | None  # each player's policy in round 1


class Outcome(NamedTuple):
    """Scores of a job, and the learners or pairings that failed, with reasons."""

    scores: Scores
    failed: list[tuple[Seating, str]]


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


def group_jobs(jobs: Sequence[Job], learners: int) -> Iterator[list[Job]]:
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


def play_group(
    jobs: list[Job], learners: Sequence[Learner], rounds: int, mesh: Mesh | None = None
) -> list[Outcome]:
    """Play all matches in games of the same shape; on a mesh, devices share the games."""
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
    outcomes = []
    for job, own in zip(jobs, scores, strict=True):
        problems: list[tuple[Seating, str]] = [((k,), reason) for k, reason in failed.items()]
        for assigned in seatings(able, len(job.drawn.sizes)):
            if assigned in own:
                continue
            try:
                own |= _play_in_python(job, learners, assigned, rounds)
            except Exception as error:
                problems.append((tuple(dict.fromkeys(assigned)), _first_line(error)))
        outcomes.append(Outcome(own, problems))
    return outcomes


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
    payoffs = jnp.asarray(np.stack([_scaled(job.drawn) for job in jobs]), float)
    keys = None
    if jobs[0].key is not None:
        keys = jnp.stack([job.key for job in jobs])  # pyright: ignore[reportArgumentType]
    starts = None
    if jobs[0].start is not None:
        sides = zip(*[job.start or () for job in jobs], strict=True)
        starts = tuple(jnp.asarray(np.stack(side), float) for side in sides)
    seated = tuple(learners[k] for k in traced)
    payoffs, seated, keys, starts = replicate((payoffs, seated, keys, starts), mesh)
    places = tuple(seatings(range(len(traced)), players))
    matrices = swap_matrices(payoffs, seated, places, rounds, keys, mesh, starts)
    means = [np.asarray(matrix, float) / rounds for matrix in matrices]
    assigned = seatings(traced, players)
    return [_scores(assigned, [mean[j] for mean in means]) for j in range(len(jobs))]


def _play_in_python(
    job: Job, learners: Sequence[Learner], assigned: Seating, rounds: int
) -> Scores:
    """Play one match with a learner that runs in Python."""
    game = Game(_scaled(job.drawn))
    seated = [learners[k] for k in assigned]
    played = play(game, seated, rounds, key=job.key, start=job.start, keep="summary")
    return _scores([assigned], [matrix[None] / rounds for matrix in played.matrices])


def _scaled(game: Game) -> Float[np.ndarray, "N *d"]:
    """Shift and scale each player's payoffs to span [-1, 0]; constant payoffs become 0."""
    flat = np.asarray(game.payoffs, float).reshape(len(game.sizes), -1)
    flat = flat / np.maximum(np.abs(flat).max(1, keepdims=True), np.finfo(float).tiny)
    span = np.ptp(flat, axis=1, keepdims=True)
    scaled = (flat - flat.max(1, keepdims=True)) / np.where(span > 0, span, 1)
    return scaled.reshape(game.payoffs.shape)


def _scores(assigned: list[Seating], matrices: list[Any]) -> Scores:
    """Compute the measures per round from each player's matrices, one per assignment."""
    gains = [gains_of(matrix) for matrix in matrices]
    losses = np.stack([np.trace(matrix, axis1=1, axis2=2) for matrix in matrices], 1)
    regret = np.stack([external_of(gain) for gain in gains], 1)
    internal = np.stack([internal_of(gain) for gain in gains], 1)
    swap = np.stack([swap_of(gain) for gain in gains], 1)
    cce_gap = np.broadcast_to(regret.max(1, keepdims=True), regret.shape)
    ce_gap = np.broadcast_to(internal.max(1, keepdims=True), internal.shape)
    measures = np.stack([regret, swap, 1 - losses, cce_gap, ce_gap], 1)
    return dict(zip(assigned, measures, strict=True))
