r"""Everyone against everyone: learners paired over games, their regrets, payoffs and gaps with confidence intervals.

Learner $i$ meets learner $j$ in every game: $i$ takes one seat, $j$ all the others, and every seat has its turn.
Every player's payoffs are first shifted and scaled to span $[-1, 0]$ (strategically nothing changes), so that losses
lie in $[0, 1]$, a step size means the same in every game, and results can be averaged over games. Of each pairing

    regret, swap_regret   of learner i, per round
    payoff                of learner i, 0 the worst and 1 the best that the game holds for its seat
    cce_gap, ce_gap       of the joint play

are kept, means over the seats. Seeds draw what is random: the games of a family, the policy of round 1 of every seat
and, when actions are sampled, the actions. A start is the same for whoever takes the seat. In many famous games uniform
play is the equilibrium, and from there nothing would move. Intervals are Student's over seeds, at 95 %; games,
opponents and seats are given, not drawn, so where nothing is random the interval has no width.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from regrax import _checks as checks
from regrax.experiments._progress import OnProgress, Progress, ignore
from regrax.experiments.tournament._results import MEASURES, Failure, Tournament
from regrax.experiments.tournament._schedule import Job, Scores, groups, play_group, seating
from regrax.games import Game, Seating
from regrax.learners import Learner, check_key, random_start
from regrax.sharding import Devices, mesh_of
from regrax.specs import as_learner, draw_games

Learners = Sequence[Learner | str] | Mapping[str, Learner | str]
Games = Sequence[Game | str] | Mapping[str, Game | str | Sequence[Game]]
Start = Literal["random", "own"]


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
    """Every learner against every learner in every game; what fails is in `failures`, the rest goes on.

    Args:
        learners: learners or specs of them; a mapping gives them names of one's own.
        games: games or specs of them; a random family without a seed is drawn anew for every seed. A mapping from names
            may also hold the games drawn for each seed.
        rounds: how long every match is.
        seeds: how often what is random is drawn.
        start: the policy of round 1: `"random"`, uniform on the simplex, drawn for every seed and seat and the same for
            every learner; or the learners' `"own"` choice.
        key: to draw actions with, which bandit learners need.
        on_progress: called as games are finished.
        devices: share the drawn games of a shape.

    >>> found = round_robin(["uniform()", "hedge(0.3)"], ["matching-pennies"], 2, start="own")
    >>> found.values["payoff"][0, :, :, 0].tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    checks.at_least("seeds", seeds, 1)
    learners, games = _named(learners), _drawn(games, seeds)
    if start not in ("random", "own"):
        raise ValueError(f'start must be "random" or "own", got {start!r}')
    _check(learners, games, rounds, seeds, key)
    names, players, held = tuple(learners), tuple(learners.values()), tuple(games)
    values = np.full((len(MEASURES), len(held), len(names), len(names), seeds), np.nan)
    failures: dict[Failure, None] = {}
    jobs, done, mesh = list(_jobs(games, seeds, start, key)), 0, mesh_of(devices)
    on_progress(Progress("games played", 0, len(jobs)))
    for group in groups(jobs, len(players), mesh):
        for job, outcome in zip(group, play_group(group, players, rounds, mesh), strict=True):
            _enter(values, job, outcome.scores)
            told = [*outcome.failed, *_not_finite(outcome.scores)]
            failures |= dict.fromkeys(
                Failure(held[job.game], tuple(names[k] for k in who), why) for who, why in told
            )
        done += len(group)
        on_progress(Progress("games played", done, len(jobs)))
    for g, drawn in enumerate(games.values()):
        if _draws(drawn, start, key, seeds) < seeds:
            values[:, g] = values[:, g, :, :, :1]
    measured = dict(zip(MEASURES, values, strict=True))
    return Tournament(names, held, rounds, seeds, start, key is not None, measured, tuple(failures))


def _enter(values: Float[np.ndarray, "M G K K R"], job: Job, scores: Scores) -> None:
    """The mean over the seats of every pairing that was played in all of them."""
    seats, missing = len(job.drawn.sizes), np.full((len(values), len(job.drawn.sizes)), np.nan)
    for i, j in np.ndindex(values.shape[2:4]):
        parts = [scores.get(seating(i, j, n, seats), missing)[:, n] for n in range(seats)]
        values[:, job.game, i, j, job.seed] = np.mean(parts, 0)


def _not_finite(scores: Scores) -> Iterator[tuple[Seating, str]]:
    for seated, measures in scores.items():
        if not np.isfinite(measures).all():
            yield tuple(dict.fromkeys(seated)), "the play gave numbers that are not finite"


def _named(learners: Learners) -> dict[str, Learner]:
    """Learners by their names, which are their specs unless a mapping gives others."""
    if isinstance(learners, Mapping):
        return {name: as_learner(learner) for name, learner in learners.items()}
    named: dict[str, Learner] = {}
    for learner in map(as_learner, learners):
        if str(learner) in named:
            raise ValueError(
                f"learners must differ, got {learner} twice; a mapping gives them names"
            )
        named[str(learner)] = learner
    return named


def _drawn(games: Games, seeds: int) -> dict[str, Sequence[Game]]:
    """The games of every name: one, or one per seed."""
    pairs = games.items() if isinstance(games, Mapping) else ((str(game), game) for game in games)
    return {name: _games_of(game, seeds) for name, game in pairs}


def _games_of(game: Game | str | Sequence[Game], seeds: int) -> Sequence[Game]:
    if isinstance(game, str):
        return draw_games(game, seeds)
    return [game] if isinstance(game, Game) else game


def _check(
    learners: Mapping[str, Learner],
    games: Mapping[str, Sequence[Game]],
    rounds: int,
    seeds: int,
    key: PRNGKeyArray | None,
) -> None:
    checks.at_least("rounds", rounds, 1)
    if not learners or not games:
        raise ValueError("a tournament needs at least one learner and one game, got none")
    for name, drawn in games.items():
        if len(drawn) not in (1, seeds):
            raise ValueError(f"{name} must have one game or {seeds}, got {len(drawn)}")
    check_key(tuple(learners.values()), key)


def _draws(drawn: Sequence[Game], start: Start, key: PRNGKeyArray | None, seeds: int) -> int:
    """How often a game is played: once if nothing is random."""
    return 1 if key is None and start == "own" and len(drawn) == 1 else seeds


def _jobs(
    games: Mapping[str, Sequence[Game]], seeds: int, start: Start, key: PRNGKeyArray | None
) -> Iterator[Job]:
    for g, drawn in enumerate(games.values()):
        for r in range(_draws(drawn, start, key, seeds)):
            own = None if key is None else jax.random.fold_in(jax.random.fold_in(key, g), r)
            game = drawn[r % len(drawn)]
            starts = tuple(random_start(d, r, n) for n, d in enumerate(game.sizes))
            yield Job(g, r, game, own, None if start == "own" else starts)
