"""The matches of games: who sits where, played together where jax can, one by one where it cannot."""

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
"""Every measure, in the order of `MEASURES`, of every seat of a seating."""
MAX_BATCH_NUMBERS = 200_000_000
"""Numbers that matches played together may hold: 1.6 gigabytes."""


class Job(NamedTuple):
    """One drawn game, and where its results go."""

    game: int
    seed: int
    drawn: Game
    key: PRNGKeyArray | None
    start: tuple[Float[np.ndarray, "_"], ...] | None  # the policy of round 1 for every seat


class Outcome(NamedTuple):
    """Scores, and why learners or seatings of them failed."""

    scores: Scores
    failed: list[tuple[Seating, str]]


def groups(jobs: list[Job], learners: int, mesh: Mesh | None) -> Iterator[list[Job]]:
    """Games are played together, as many as memory holds, shape after shape; on a mesh only those of one shape."""
    group, held = [], 0
    for sizes, same in _by_shape(jobs):
        needed = len(seatings(range(learners), len(sizes))) * sum(d * d for d in sizes)
        if needed > MAX_BATCH_NUMBERS:
            raise ValueError(
                f"{learners} learners in a game of sizes {list(sizes)} need {needed:,} numbers at once, "
                f"more than {MAX_BATCH_NUMBERS:,}; take fewer learners or a smaller game"
            )
        for n, job in enumerate(same):
            if group and (held + needed > MAX_BATCH_NUMBERS or (mesh is not None and n == 0)):
                yield group
                group, held = [], 0
            group, held = [*group, job], held + needed
    yield group


def _by_shape(jobs: list[Job]) -> list[tuple[tuple[int, ...], list[Job]]]:
    shapes = dict.fromkeys(job.drawn.sizes for job in jobs)
    return [(sizes, [job for job in jobs if job.drawn.sizes == sizes]) for sizes in shapes]


def seating(i: int, j: int, seat: int, seats: int) -> Seating:
    """Learner `i` in one seat, `j` in all the others."""
    return tuple(i if n == seat else j for n in range(seats))


def seatings(learners: Sequence[int], seats: int) -> list[Seating]:
    """All pairs of learners in all seats; each seating once.

    >>> seatings([0, 1], 2)
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    pairs = [(i, j) for i in learners for j in learners]
    return list(dict.fromkeys(seating(i, j, s, seats) for i, j in pairs for s in range(seats)))


def play_group(
    jobs: list[Job], learners: Sequence[Learner], rounds: int, mesh: Mesh | None = None
) -> list[Outcome]:
    """All matches of the games, an outcome per job; on a mesh the games are shared out."""
    apart = {
        k: f"it plays on the {l.domain.name}"
        for k, l in enumerate(learners)
        if not isinstance(l.domain, Simplex)
    }
    try:
        return _play_able(jobs, learners, apart, rounds, mesh)
    except Exception:  # a learner may be anybody's: whoever fails alone is left out, and whatever it raises is told
        if len(shapes := _by_shape(jobs)) > 1:
            parts = [play_group(same, learners, rounds, mesh) for _, same in shapes]
            return list(itertools.chain(*parts))
        alone = {
            k: _reason(learner, jobs[0], rounds)
            for k, learner in enumerate(learners)
            if k not in apart
        }
        failed = {k: reason for k, reason in alone.items() if reason is not None}
        if not failed:
            raise
        return _play_able(jobs, learners, apart | failed, rounds, mesh)


def _play_able(
    jobs: list[Job],
    learners: Sequence[Learner],
    failed: dict[int, str],
    rounds: int,
    mesh: Mesh | None,
) -> list[Outcome]:
    """All matches of those who have not failed."""
    outcomes = [Outcome({}, [((k,), reason) for k, reason in failed.items()]) for _ in jobs]
    able = [k for k in range(len(learners)) if k not in failed]
    traced = [k for k in able if not isinstance(learners[k], HostLearner)]
    shapes = _by_shape(jobs)
    if traced:
        scores = _together([same for _, same in shapes], learners, traced, rounds, mesh)
        for outcome, found in zip(outcomes, scores, strict=True):
            outcome.scores.update(found)
    for sizes, _ in shapes:
        same = [(o, job) for o, job in zip(outcomes, jobs, strict=True) if job.drawn.sizes == sizes]
        for each in seatings(able, len(sizes)):
            if not set(each) <= set(traced):
                for outcome, job in same:
                    _alone(outcome, job, learners, each, rounds)
    return outcomes


def _reason(learner: Learner, job: Job, rounds: int) -> str | None:
    """Why a learner cannot play games of these sizes, found without playing; None if it can."""
    if isinstance(learner, HostLearner):
        return None

    def one_round(start: Float[Array, "d"]) -> Any:
        started = learner if job.start is None else learner.starting_at(start)
        state = started.init(start.size, rounds, key=job.key)
        feedback = started.observe(jnp.zeros_like(start), jnp.array(0))
        return started.policy(state), started.update(state, feedback)

    try:
        for actions in set(job.drawn.sizes):
            jax.eval_shape(one_round, jnp.ones(actions) / actions)
    except Exception as error:
        return _line(error)
    return None


def _line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _together(
    shapes: list[list[Job]],
    learners: Sequence[Learner],
    able: list[int],
    rounds: int,
    mesh: Mesh | None,
) -> Iterator[Scores]:
    """The scores of every job, shape after shape, of all seatings of learners that jax can trace."""
    counts = [len(jobs[0].drawn.sizes) for jobs in shapes]
    places = tuple(tuple(seatings(range(len(able)), seats)) for seats in counts)
    payoffs = [_array([_scaled(job.drawn) for job in jobs]) for jobs in shapes]
    own = [[job.key for job in jobs if job.key is not None] for jobs in shapes]
    keys = [jnp.stack(each) for each in own if each]
    sides = [zip(*[job.start for job in jobs if job.start], strict=True) for jobs in shapes]
    starts = [tuple(map(_array, side)) for side in sides]
    seated = jax.tree.map(_number, tuple(learners[k] for k in able))
    placed = replicate((payoffs, seated, keys or None, starts if any(starts) else None), mesh)
    payoffs, seated, drawn, started = placed
    found = swap_matrices(payoffs, seated, places, rounds, drawn, mesh, started)
    for jobs, seats, matrices in zip(shapes, counts, found, strict=True):
        means = [np.asarray(matrix, float) / rounds for matrix in matrices]
        for j in range(len(jobs)):
            yield _scores(seatings(able, seats), [mean[j] for mean in means])


def _number(leaf: Any) -> Any:
    """A hyperparameter as an array, which a program is given: as a number it would be a part of it."""
    return np.asarray(leaf, jnp.result_type(leaf)) if isinstance(leaf, float) else leaf


def _array(rows: Sequence[Float[np.ndarray, "*d"]]) -> Float[Array, "J *d"]:
    return jnp.asarray(np.stack(rows), float)


def _alone(
    outcome: Outcome, job: Job, learners: Sequence[Learner], seated: Seating, rounds: int
) -> None:
    """One match with a learner that runs in Python."""
    try:
        seats = [learners[k] for k in seated]
        game = Game(_scaled(job.drawn))
        played = play(game, seats, rounds, key=job.key, start=job.start, keep="summary")
    except Exception as error:
        outcome.failed.append((tuple(dict.fromkeys(seated)), _line(error)))
        return
    matrices = [matrix[None] / rounds for matrix in played.matrices]
    outcome.scores.update(_scores([seated], matrices))


def _scaled(game: Game) -> Float[np.ndarray, "N *d"]:
    """Payoffs between -1 and 0; those of a player to whom nothing matters are 0."""
    flat = np.asarray(game.payoffs, float).reshape(len(game.sizes), -1)
    flat = flat / np.maximum(np.abs(flat).max(1, keepdims=True), np.finfo(float).tiny)
    span = np.ptp(flat, axis=1, keepdims=True)
    scaled = (flat - flat.max(1, keepdims=True)) / np.where(span > 0, span, 1)
    return scaled.reshape(game.payoffs.shape)


def _scores(seated: list[Seating], matrices: list[Any]) -> Scores:
    """The measures from the matrices of every seat, per round, seatings first."""
    suffered = [np.trace(matrix, axis1=1, axis2=2) for matrix in matrices]
    gains = [gains_of(matrix) for matrix in matrices]
    regret = np.stack([external_of(gain) for gain in gains], 1)
    internal = np.stack([internal_of(gain) for gain in gains], 1)
    measures = [
        regret,
        np.stack([swap_of(gain) for gain in gains], 1),
        1 - np.stack(suffered, 1),
        np.broadcast_to(regret.max(1, keepdims=True), regret.shape),
        np.broadcast_to(internal.max(1, keepdims=True), internal.shape),
    ]
    return dict(zip(seated, np.stack(measures, 1), strict=True))
