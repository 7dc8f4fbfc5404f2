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

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from regrax import _checks as checks
from regrax.experiments.pool import OnProgress, Progress, ignore
from regrax.experiments.tournament.matches import Job, Scores, group_jobs, play_group, seating
from regrax.experiments.tournament.results import MEASURES, Failure, Tournament
from regrax.games import Game
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
    if start not in ("random", "own"):
        raise ValueError(f'start must be "random" or "own", got {start!r}')
    players = _named_learners(learners)
    drawn = _drawn_games(games, seeds)
    if not players or not drawn:
        raise ValueError("a tournament needs at least one learner and one game, got none")
    check_key(tuple(players.values()), key)
    names = tuple(players)
    titles = tuple(drawn)
    values = np.full((len(MEASURES), len(drawn), len(names), len(names), seeds), np.nan)
    failures: dict[Failure, None] = {}
    jobs = list(_jobs(drawn, seeds, start, key))
    mesh = mesh_of(devices)
    done = 0
    on_progress(Progress("games played", 0, len(jobs)))
    for group in group_jobs(jobs, len(names)):
        outcomes = play_group(group, tuple(players.values()), rounds, mesh)
        for job, outcome in zip(group, outcomes, strict=True):
            _enter(values, job, outcome.scores)
            for assigned, reason in [*outcome.failed, *_not_finite(outcome.scores)]:
                who = tuple(names[k] for k in assigned)
                failures[Failure(titles[job.game], who, reason)] = None
        done += len(group)
        on_progress(Progress("games played", done, len(jobs)))
    for game, own in enumerate(drawn.values()):
        if not _is_random(own, start, key):
            values[:, game] = values[:, game, :, :, :1]
    measured = dict(zip(MEASURES, values, strict=True))
    return Tournament(
        names, titles, rounds, seeds, start, key is not None, measured, tuple(failures)
    )


def _named_learners(learners: Learners) -> dict[str, Learner]:
    if isinstance(learners, Mapping):
        return {name: as_learner(learner) for name, learner in learners.items()}
    named: dict[str, Learner] = {}
    for learner in map(as_learner, learners):
        if str(learner) in named:
            raise ValueError(
                f"learners must be distinct, got {learner} twice; pass a mapping to name them"
            )
        named[str(learner)] = learner
    return named


def _drawn_games(games: Games, seeds: int) -> dict[str, Sequence[Game]]:
    """Return one game per name, or one per name and seed."""
    named: dict[str, Game | str | Sequence[Game]] = {}
    if isinstance(games, Mapping):
        named.update(games)
    else:
        for game in games:
            name = game.name if isinstance(game, Game) else str(game)
            if name in named:
                raise ValueError(
                    f"games must have distinct names, got {name} twice; pass a mapping to name them"
                )
            named[name] = game
    drawn: dict[str, Sequence[Game]] = {}
    for name, game in named.items():
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
            game = drawn[seed % len(drawn)]
            own = None if key is None else jax.random.fold_in(jax.random.fold_in(key, g), seed)
            starts = None
            if start == "random":
                starts = tuple(random_start(size, seed, n) for n, size in enumerate(game.sizes))
            yield Job(g, seed, game, own, starts)


def _enter(values: Float[np.ndarray, "M G K K R"], job: Job, scores: Scores) -> None:
    """Store the mean over positions for every pairing that was played in all of them."""
    players = len(job.drawn.sizes)
    missing = np.full((len(values), players), np.nan)
    for i, j in np.ndindex(values.shape[2:4]):
        parts = [scores.get(seating(i, j, n, players), missing)[:, n] for n in range(players)]
        values[:, job.game, i, j, job.seed] = np.mean(parts, 0)


def _not_finite(scores: Scores) -> Iterator[tuple[tuple[int, ...], str]]:
    for assigned, measures in scores.items():
        if not np.isfinite(measures).all():
            yield tuple(dict.fromkeys(assigned)), "play produced values that are not finite"
