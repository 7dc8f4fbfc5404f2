r"""Repeated play: each player has a learner, and the game determines the losses from what the players do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import jax
import numpy as np
from jax.tree_util import Partial

from regrax import _checks as checks
from regrax.games.game import Game
from regrax.games.trajectory import (
    Summary,
    Trajectory,
    game_losses,
    joint_sum,
    summary_of,
)
from regrax.specs import as_game, as_learner

if TYPE_CHECKING:  # learners take a third of a second to import, and listing the games needs none
    from regrax.learners import Key, Learner, Round

Keep = Literal["all", "summary"]
MAX_ROUNDS = 2**31 - 1
"""Learners count rounds in 32 bits."""
MAX_EPISODES = 10**6


@overload
def play(
    game: Game | str, learners: Any, rounds: int, *, key: Key = ..., start: Any = ..., prior: Any = ...,
    keep: Literal["all"] = ...,
    on_round: Callable[[Round], None] | None = ..., on_progress: Callable[[int, int], None] | None = ...,
) -> Trajectory: ...  # fmt: skip
@overload
def play(
    game: Game | str, learners: Any, rounds: int, *, key: Key = ..., start: Any = ..., prior: Any = ...,
    keep: Literal["summary"],
    on_round: Callable[[Round], None] | None = ..., on_progress: Callable[[int, int], None] | None = ...,
) -> Summary: ...  # fmt: skip
def play(
    game: Game | str,
    learners: Learner | str | Sequence[Learner | str],
    rounds: int,
    *,
    key: Key = None,
    start: Any = None,
    prior: Any = None,
    keep: Keep = "all",
    on_round: Callable[[Round], None] | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Trajectory | Summary:
    r"""Play `game` for `rounds` rounds.

    Without `key` losses are expectations, $\ell_{n,t} = -u_n(\cdot, \pi_{-n,t})$, and
    $\mu_T = \frac1T \sum_t \pi_{1,t} \otimes \cdots \otimes \pi_{N,t}$. With `key` every player draws an action
    $a_{n,t} \sim \pi_{n,t}$, losses are $-u_n(\cdot, a_{-n,t})$ and $\mu_T$ is the frequency of joint actions.
    The result holds NumPy arrays. Inside `jit`, `vmap` and `grad` it holds traced arrays, so you can `vmap` over keys,
    step sizes or payoffs.

    Args:
        game: the game, or its spec, as in `"weighted-rps"`.
        learners: a learner, or its spec, as in `"hedge(0.45)"`, for each player; a single learner plays for every
            player. A `HostLearner` is played in a Python loop.
        rounds: how many rounds to play, an integer >= 1.
        key: a JAX random key to draw actions with; bandit learners need one. By default losses are expectations.
        start: each player's policy in round 1: probabilities, an action's index or label, `"random"`,
            `"random(7)"` for another seed, or `"own"` or None (the default) for the learner's own choice. A single
            string applies to every player. See `Learner.starting_at`.
        prior: the initial distribution of each learner's weights, in the same forms as `start`; by default uniform.
            Requires learners that have a prior; see `Learner.with_prior`.
        keep: `"all"` returns every round as a `Trajectory`; `"summary"` returns sums, whose size does not depend on the
            number of rounds.
        on_round: called with the `Round` after every round; play is then a Python loop.
        on_progress: called from time to time with the number of rounds played so far and `rounds`.

    >>> from regrax.games import weighted_rps
    >>> from regrax.learners import Uniform
    >>> play(weighted_rps(), Uniform(), rounds=10).joint.shape
    (3, 3)
    >>> play("matching-pennies", "hedge(0.1)", rounds=10, start=[[0.8, 0.2], "own"]).policies[0].shape
    (10, 2)
    """
    from regrax.learners.engine import check_policies, play_rounds

    game = as_game(game)
    check_rounds(game, rounds, keep)
    seated = players = seated_learners(game, learners)
    if prior is not None:
        players = _each("with_prior", players, start_policies(game, prior, "prior"))
    if start is not None:
        players = _each("starting_at", players, start_policies(game, start))
    environment = Partial(game_losses, game.loss_tables)
    parts = []
    total: Any = 0.0
    done = 0
    for part in play_rounds(players, environment, game.sizes, rounds, key=key, on_round=on_round):
        products = joint_sum(part.played)
        count = len(part.policies[0])
        if checks.is_concrete(products) and not abs(products.sum() - count) < 0.5:
            check_policies(players, part.policies, done)  # a policy is not a distribution
        total = total + products
        done += count
        if keep == "all":
            parts.append(part)
        if on_progress is not None:
            on_progress(done, rounds)
    joint = total / rounds
    if keep == "summary":
        return summary_of(joint, game, rounds).of(game, seated)
    rows = parts[0]
    if len(parts) > 1:
        rows = jax.tree.map(lambda *columns: np.concatenate(columns), *parts)
    joint = joint.astype(rows.policies[0].dtype)
    whole = Trajectory(rows.policies, rows.losses, rows.actions, joint)
    return whole.of(game, seated)


def check_rounds(game: Game, rounds: int, keep: Keep, episodes: int = 1) -> None:
    """Raise unless the rounds can be counted and their results fit in memory."""
    checks.at_least("rounds", rounds, 1, MAX_ROUNDS)
    checks.at_least("episodes", episodes, 1, MAX_EPISODES)
    if keep == "all":
        needed = 16.0 * rounds * sum(game.sizes)
        hint = 'use keep="summary", or no log and no plot'
        checks.fits_in_memory(f"storing {rounds:,} rounds", needed, hint)
    elif keep == "summary":
        needed = 64.0 * sum(size * size for size in game.sizes)
        what = f"computing the regrets of {max(game.sizes):,} actions"
        checks.fits_in_memory(what, needed, "play a game with fewer actions")
    else:
        raise ValueError(f'keep must be "all" or "summary", got {keep!r}')


def seated_learners(
    game: Game, learners: Learner | str | Sequence[Learner | str]
) -> tuple[Learner, ...]:
    """Return one learner per player of the game; a single learner plays for every player."""
    from regrax.domains import Simplex
    from regrax.learners.base import HostLearner, Learner

    if isinstance(learners, Learner | str):
        learners = [learners]
    if not hasattr(learners, "__iter__"):
        raise ValueError(f"learners must be Learner objects or specs, got {learners!r}")
    players = [as_learner(learner) for learner in learners]
    count = len(game.sizes)
    if len(players) == 1:
        players = players * count
    if len(players) != count:
        raise ValueError(
            f"expected one learner, or one for each of {count} players, got {len(players)}"
        )
    for n, learner in enumerate(players):
        if not isinstance(learner.domain, Simplex):
            raise ValueError(
                f"learners in a game must play on the simplex, but {learner} plays on the {learner.domain.name}"
            )
        if isinstance(learner, HostLearner):
            players[n] = learner.seated(game, n)
    return tuple(players)


def start_policies(game: Game, start: Any, name: str = "start") -> tuple[Any, ...]:
    """Return each player's policy in round 1, or None for the learner's own choice.

    Args:
        game: the game.
        start: see `play`.
        name: name of the setting in error messages.

    >>> from regrax.games import chicken
    >>> [policy.tolist() for policy in start_policies(chicken(), ["swerve", 1])]
    [[1.0, 0.0], [0.0, 1.0]]
    """
    from regrax.learners import as_start

    labels = game.actions
    starts = start
    if start is None or isinstance(start, str):
        starts = [start] * len(labels)
    if not hasattr(starts, "__len__") or isinstance(starts, dict | set):
        raise ValueError(f"{name} must be a list with one entry per player, got {starts!r}")
    if len(starts) != len(labels):
        raise ValueError(
            f"{name} must have one entry for each of {len(labels)} players, got {len(starts)}"
        )
    return tuple(
        as_start(policy, len(labels[n]), n, labels[n], name) for n, policy in enumerate(starts)
    )


def _each(
    change: Literal["with_prior", "starting_at"],
    learners: tuple[Learner, ...],
    policies: Sequence[Any],
) -> tuple[Learner, ...]:
    """Change every learner with its policy; a policy of None leaves the learner unchanged."""
    return tuple(
        learner if policy is None else getattr(learner, change)(policy)
        for learner, policy in zip(learners, policies, strict=True)
    )
