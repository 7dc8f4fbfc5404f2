"""The matches of games of one shape: who sits where, played together where jax can, one by one where it cannot."""

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

Scores = dict[Seating, dict[str, Float[np.ndarray, "N"]]]
"""Every measure of every seat of a seating."""
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


def groups(jobs: list[Job], learners: int) -> Iterator[list[Job]]:
    """Games of one shape are played together, as many as memory holds."""
    for sizes in dict.fromkeys(job.drawn.sizes for job in jobs):
        same = [job for job in jobs if job.drawn.sizes == sizes]
        needed = len(seatings(range(learners), len(sizes))) * sum(d * d for d in sizes)
        together = MAX_BATCH_NUMBERS // needed
        if together < 1:
            raise ValueError(
                f"{learners} learners in a game of sizes {list(sizes)} need {needed:,} numbers at once, "
                f"more than {MAX_BATCH_NUMBERS:,}; take fewer learners or a smaller game"
            )
        for start in range(0, len(same), together):
            yield same[start : start + together]


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
    """All matches of games of one shape, an outcome per job; on a mesh the games are shared out."""
    apart = {
        k: f"it plays on the {l.domain.name}"
        for k, l in enumerate(learners)
        if not isinstance(l.domain, Simplex)
    }
    try:
        return _play_able(jobs, learners, apart, rounds, mesh)
    except Exception:  # a learner may be anybody's: whoever fails alone is left out, and whatever it raises is told
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
    wanted = seatings(able, len(jobs[0].drawn.sizes))
    traced = [s for s in wanted if not any(isinstance(learners[k], HostLearner) for k in s)]
    if traced:
        scores = _together(jobs, learners, traced, rounds, mesh)
        for outcome, found in zip(outcomes, scores, strict=True):
            outcome.scores.update(found)
    for each in wanted:
        if each not in traced:
            for job, outcome in zip(jobs, outcomes, strict=True):
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
    jobs: list[Job],
    learners: Sequence[Learner],
    wanted: list[Seating],
    rounds: int,
    mesh: Mesh | None,
) -> Iterator[Scores]:
    present = sorted({k for each in wanted for k in each})
    places = tuple(tuple(present.index(k) for k in each) for each in wanted)
    payoffs = jnp.asarray(np.stack([_scaled(job.drawn) for job in jobs]), float)
    keys = [job.key for job in jobs if job.key is not None]
    seated = tuple(learners[k] for k in present)
    sides = zip(*(job.start for job in jobs if job.start is not None), strict=True)
    starts = tuple(jnp.asarray(np.stack(side), float) for side in sides) or None
    placed = everywhere((payoffs, seated, jnp.stack(keys) if keys else None, starts), mesh)
    payoffs, seated, drawn, starts = placed
    found = swap_matrices(payoffs, seated, places, rounds, drawn, mesh, starts)
    for j in range(len(jobs)):
        yield _scores(wanted, [np.asarray(seat)[j].astype(float) / rounds for seat in found])


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
    measures = {
        "regret": regret,
        "swap_regret": np.stack([swap_of(gain) for gain in gains], 1),
        "payoff": 1 - np.stack(suffered, 1),
        "cce_gap": np.broadcast_to(regret.max(1, keepdims=True), regret.shape),
        "ce_gap": np.broadcast_to(internal.max(1, keepdims=True), internal.shape),
    }
    return {each: {name: v[m] for name, v in measures.items()} for m, each in enumerate(seated)}
