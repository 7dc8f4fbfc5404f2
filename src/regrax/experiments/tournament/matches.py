"""Matches of a tournament: all pairings of the learners in a set of drawn games, in one compiled program."""

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
from regrax.sharding import everywhere

Scores = dict[Seating, Float[np.ndarray, "measures N"]]
"""For each assignment of learners to players, every measure (in the order of `MEASURES`) of every player."""
MAX_BATCH_NUMBERS = 200_000_000
"""Numbers that one program may hold: 1.6 GB."""


class Job(NamedTuple):
    """One drawn game, with its position in the results."""

    game: int
    seed: int
    drawn: Game
    key: PRNGKeyArray | None
    start: tuple[Float[np.ndarray, "_"], ...] | None  # policy of round 1 for each player

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.drawn.sizes


class Outcome(NamedTuple):
    """Scores of a job, and the learners or pairings that failed, with the reason."""

    scores: Scores
    failed: list[tuple[Seating, str]]


def seating(i: int, j: int, player: int, players: int) -> Seating:
    """Assign learner `i` to one player and `j` to all others."""
    return tuple(i if n == player else j for n in range(players))


def seatings(learners: Sequence[int], players: int) -> list[Seating]:
    """List the assignments of all pairs of learners, each once.

    >>> seatings([0, 1], 2)
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    triples = itertools.product(learners, learners, range(players))
    return list(dict.fromkeys(seating(i, j, n, players) for i, j, n in triples))


def group_jobs(jobs: Sequence[Job], learners: int, mesh: Mesh | None) -> Iterator[list[Job]]:
    """Split jobs into groups that fit in memory, sorted by shape; on a mesh, each group has one shape."""
    group: list[Job] = []
    held = 0
    for job in sorted(jobs, key=lambda job: job.sizes):
        matches = len(seatings(range(learners), len(job.sizes)))
        needed = matches * sum(size**2 for size in job.sizes)
        if needed > MAX_BATCH_NUMBERS:
            raise ValueError(
                f"{learners} learners in a game of sizes {list(job.sizes)} need {needed:,} numbers at once, "
                f"more than {MAX_BATCH_NUMBERS:,}: choose fewer learners or a smaller game"
            )
        other_shape = mesh is not None and group and group[-1].sizes != job.sizes
        if group and (other_shape or held + needed > MAX_BATCH_NUMBERS):
            yield group
            group = []
            held = 0
        group.append(job)
        held += needed
    yield group


def play_group(
    jobs: list[Job], learners: Sequence[Learner], rounds: int, mesh: Mesh | None = None
) -> list[Outcome]:
    """Play all matches of a group of jobs; on a mesh, devices share the games."""
    off_simplex = {
        k: f"it plays on the {learner.domain.name}"
        for k, learner in enumerate(learners)
        if not isinstance(learner.domain, Simplex)
    }
    failed = {job.sizes: off_simplex for job in jobs}
    try:
        return _play(jobs, learners, failed, rounds, mesh)
    except Exception:  # learners may be the user's: leave out those that raise on their own
        failed = {
            job.sizes: off_simplex | _untraceable(learners, job, rounds)
            for job in {job.sizes: job for job in jobs}.values()
        }
        if all(reasons == off_simplex for reasons in failed.values()):
            raise
        return _play(jobs, learners, failed, rounds, mesh)


def _untraceable(learners: Sequence[Learner], job: Job, rounds: int) -> dict[int, str]:
    """Trace one round of each learner, without playing, and return the errors."""

    def one_round(learner: Learner, start: Float[Array, "d"]) -> Any:
        started = learner if job.start is None else learner.starting_at(start)
        state = started.init(start.size, rounds, key=job.key)
        feedback = started.observe(jnp.zeros_like(start), jnp.array(0))
        return started.policy(state), started.update(state, feedback)

    errors = {}
    for k, learner in enumerate(learners):
        if isinstance(learner, HostLearner):
            continue
        try:
            for size in set(job.sizes):
                jax.eval_shape(
                    lambda start, own=learner: one_round(own, start), jnp.ones(size) / size
                )
        except Exception as error:
            errors[k] = _first_line(error)
    return errors


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def _play(
    jobs: list[Job],
    learners: Sequence[Learner],
    failed: dict[tuple[int, ...], dict[int, str]],
    rounds: int,
    mesh: Mesh | None,
) -> list[Outcome]:
    """Play the matches of the learners that have not failed in games of a shape."""
    able = {
        sizes: [k for k in range(len(learners)) if k not in reasons]
        for sizes, reasons in failed.items()
    }
    traced = {
        sizes: [k for k in own if not isinstance(learners[k], HostLearner)]
        for sizes, own in able.items()
    }
    outcomes = []
    for job, scores in zip(jobs, _play_traced(jobs, learners, traced, rounds, mesh), strict=True):
        reasons = failed[job.sizes]
        outcome = Outcome(scores, [((k,), reason) for k, reason in reasons.items()])
        for assigned in seatings(able[job.sizes], len(job.sizes)):
            if assigned not in scores:
                _play_in_python(outcome, job, learners, assigned, rounds)
        outcomes.append(outcome)
    return outcomes


def _play_traced(
    jobs: list[Job],
    learners: Sequence[Learner],
    traced: dict[tuple[int, ...], list[int]],
    rounds: int,
    mesh: Mesh | None,
) -> Iterator[Scores]:
    """Play the learners that jax can trace, all jobs in one program."""
    shapes = [list(own) for _, own in itertools.groupby(jobs, key=lambda job: job.sizes)]
    assigned = [seatings(traced[own[0].sizes], len(own[0].sizes)) for own in shapes]
    used = sorted({k for matches in assigned for match in matches for k in match})
    if not used:
        yield from [{} for _ in jobs]
        return
    places = tuple(
        tuple(tuple(used.index(k) for k in match) for match in matches) for matches in assigned
    )
    payoffs = [jnp.asarray(np.stack([_scaled(job.drawn) for job in own]), float) for own in shapes]
    keys = None
    if jobs[0].key is not None:
        keys = [jnp.stack([job.key for job in own]) for own in shapes]
    starts = None
    if jobs[0].start is not None:
        starts = [
            tuple(jnp.asarray(np.stack(side), float) for side in zip(*[job.start for job in own], strict=True))
            for own in shapes
        ]  # fmt: skip
    seated = tuple(learners[k] for k in used)
    payoffs, seated, keys, starts = everywhere((payoffs, seated, keys, starts), mesh)
    played = swap_matrices(payoffs, seated, places, rounds, keys, mesh, starts)
    for own, matches, matrices in zip(shapes, assigned, played, strict=True):
        means = [np.asarray(matrix, float) / rounds for matrix in matrices]
        for j in range(len(own)):
            yield _scores(matches, [mean[j] for mean in means])


def _play_in_python(
    outcome: Outcome, job: Job, learners: Sequence[Learner], assigned: Seating, rounds: int
) -> None:
    """Play one match with a learner that runs in Python."""
    try:
        game = Game(_scaled(job.drawn))
        seated = [learners[k] for k in assigned]
        played = play(game, seated, rounds, key=job.key, start=job.start, keep="summary")
    except Exception as error:
        outcome.failed.append((tuple(dict.fromkeys(assigned)), _first_line(error)))
    else:
        matrices = [matrix[None] / rounds for matrix in played.matrices]
        outcome.scores.update(_scores([assigned], matrices))


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
