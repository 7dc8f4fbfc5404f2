r"""Everyone against everyone: learners paired over games, their regrets, payoffs and gaps with confidence intervals.

Learner $i$ meets learner $j$ in every game: $i$ takes one seat, $j$ all the others, and every seat has its turn.
Every player's payoffs are first shifted and scaled to span $[-1, 0]$ (strategically nothing changes), so that losses
lie in $[0, 1]$, a step size means the same in every game, and results can be averaged over games. Of each pairing

    regret, swap_regret   of learner i, per round
    payoff                of learner i, 0 the worst and 1 the best that the game holds for its seat
    cce_gap, ce_gap       of the joint play

are kept, means over the seats. Seeds draw what is random: the games of a family and, when actions are sampled, the
actions. Intervals are Student's over seeds, at 95 %; games, opponents and seats are given, not drawn, so where nothing
is random the interval has no width.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from regrax import _checks as checks
from regrax.experiments._progress import OnProgress, Progress, ignore
from regrax.experiments.tournament._results import MEASURES, Failure, Tournament
from regrax.experiments.tournament._schedule import Job, Scores, groups, play_group, seating
from regrax.games import Game, Seating
from regrax.learners import Learner, check_key
from regrax.sharding import Devices, mesh_of


def round_robin(
    learners: Sequence[Learner],
    games: Mapping[str, Sequence[Game]],
    rounds: int,
    *,
    seeds: int = 1,
    key: PRNGKeyArray | None = None,
    on_progress: OnProgress = ignore,
    devices: Devices | None = None,
) -> Tournament:
    """Every learner against every learner in every game; what fails is in `failures`, the rest goes on.

    `games` maps a name to the games drawn for it, one for each seed, or to one game. With `key` actions are drawn,
    which bandit learners need. `on_progress` is called as games are finished. `devices` share the drawn games of
    a shape.

    >>> from regrax.games import matching_pennies
    >>> from regrax.learners import FollowTheLeader, Uniform
    >>> found = round_robin([Uniform(), FollowTheLeader()], {"pennies": [matching_pennies()]}, 2)
    >>> found.values["payoff"][0, :, :, 0].tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    _check(learners, games, rounds, seeds, key)
    names, held = tuple(str(learner) for learner in learners), tuple(games)
    values = {m: np.full((len(held), len(names), len(names), seeds), np.nan) for m in MEASURES}
    failures: dict[Failure, None] = {}
    jobs, done, mesh = list(_jobs(games, seeds, key)), 0, mesh_of(devices)
    on_progress(Progress("games played", 0, len(jobs)))
    for group in groups(jobs, len(learners)):
        for job, outcome in zip(group, play_group(group, learners, rounds, mesh), strict=True):
            _enter(values, job, outcome.scores)
            told = [*outcome.failed, *_not_finite(outcome.scores)]
            failures |= dict.fromkeys(
                Failure(held[job.game], tuple(names[k] for k in who), why) for who, why in told
            )
        done += len(group)
        on_progress(Progress("games played", done, len(jobs)))
    for g, drawn in enumerate(games.values()):
        if key is None and len(drawn) == 1:  # nothing is random
            for rows in values.values():
                rows[g] = rows[g, :, :, :1]
    return Tournament(names, held, rounds, seeds, key is not None, values, tuple(failures))


def _enter(values: dict[str, Any], job: Job, scores: Scores) -> None:
    """The mean over the seats of every pairing that was played in all of them."""
    seats, learners = len(job.drawn.sizes), range(values["regret"].shape[1])
    for i, j in itertools.product(learners, learners):
        parts = [scores.get(seating(i, j, seat, seats)) for seat in range(seats)]
        for measure, rows in values.items():
            cells = [np.nan if part is None else part[measure][n] for n, part in enumerate(parts)]
            rows[job.game, i, j, job.seed] = np.mean(cells)


def _not_finite(scores: Scores) -> Iterator[tuple[Seating, str]]:
    for seated, measures in scores.items():
        if not all(np.isfinite(rows).all() for rows in measures.values()):
            yield tuple(dict.fromkeys(seated)), "the play gave numbers that are not finite"


def _check(
    learners: Sequence[Learner],
    games: Mapping[str, Sequence[Game]],
    rounds: int,
    seeds: int,
    key: PRNGKeyArray | None,
) -> None:
    checks.at_least("rounds", rounds, 1)
    checks.at_least("seeds", seeds, 1)
    names = [str(learner) for learner in learners]
    if not names or not games:
        raise ValueError("a tournament needs at least one learner and one game, but has none")
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"learners must differ, but {name} is there twice")
    for name, drawn in games.items():
        if len(drawn) not in (1, seeds):
            raise ValueError(f"{name} must have one game or {seeds}, but has {len(drawn)}")
    check_key(learners, key)


def _jobs(
    games: Mapping[str, Sequence[Game]], seeds: int, key: PRNGKeyArray | None
) -> Iterator[Job]:
    for g, drawn in enumerate(games.values()):
        for r in range(1 if key is None and len(drawn) == 1 else seeds):
            own = None if key is None else jax.random.fold_in(jax.random.fold_in(key, g), r)
            yield Job(g, r, drawn[r % len(drawn)], own)
