r"""Repeated play: every player a learner, the game the environment that turns what is played into losses."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, overload

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from regrax.domains import Simplex
from regrax.games._environment import (
    Summary,
    Tables,
    Trajectory,
    game_losses,
    joint_play,
    joint_sum,
    summary_of,
)
from regrax.games._requests import Keep, check_rounds, check_seats, start_policies
from regrax.games.game import Game
from regrax.learners import (
    HostLearner,
    Key,
    Learner,
    Round,
    check_key,
    check_policies,
    init_players,
    is_traced,
    play_in_calls,
    play_in_python,
    runs_in_python,
    scan_rounds,
)
from regrax.specs import as_game, as_learner


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

    Without `key` feedback is expected, $\ell_{n,t} = -u_n(\cdot, \pi_{-n,t})$, and
    $\mu_T = \frac1T \sum_t \pi_{1,t} \otimes \cdots \otimes \pi_{N,t}$. With `key` every player draws an action
    $a_{n,t} \sim \pi_{n,t}$, feedback is $-u_n(\cdot, a_{-n,t})$ and $\mu_T$ is the frequency of joint actions.
    Outside of `jit`, `vmap` and `grad` the arrays of the result are numpy's; inside, `vmap` it over keys, step sizes or
    payoffs.

    Args:
        game: the game, or its spec, as in `"weighted-rps"`.
        learners: one learner, or its spec, as in `"hedge(0.45)"`, per player; a single one plays for every player. A
            `HostLearner` is played in a Python loop.
        rounds: how many rounds to play, an integer >= 1.
        key: a JAX random key to draw actions with; bandit learners need one. By default losses are expected ones.
        start: for each player the policy of round 1: probabilities, an action's index or label, `"random"`,
            `"random(7)"` for another seed, or `"own"` or None (the default) for the learner's own choice. A single
            string applies to every player. See `Learner.starting_at`.
        prior: for each player the distribution that its learner's weights begin from, given as `start` is; by default
            uniform. Only for learners that have one; see `Learner.with_prior`.
        keep: `"all"` rounds, as a `Trajectory`; or a `"summary"`, whose memory does not grow with the rounds.
        on_round: called with the `Round` after every round; play is then a Python loop.
        on_progress: called with the rounds played so far and `rounds`, from time to time.

    >>> from regrax.games import weighted_rps
    >>> from regrax.learners import Uniform
    >>> play(weighted_rps(), Uniform(), rounds=10).joint.shape
    (3, 3)
    >>> play("matching-pennies", "hedge(0.1)", rounds=10, start=[[0.8, 0.2], "own"]).policies[0].shape
    (10, 2)
    """
    if not isinstance(game, Game):
        game = as_game(game)
    check_rounds(game, rounds, keep)
    players = seated_learners(game, learners)
    if prior is not None:
        players = _each(Learner.with_prior, players, start_policies(game, prior, "prior"))
    if start is not None:
        players = _each(Learner.starting_at, players, start_policies(game, start))
    check_key(players, key)
    if runs_in_python(players, game.payoffs, key) or on_round is not None:
        rows = _in_python(game.loss_tables, players, rounds, key, on_round)
    elif is_traced(game.payoffs, players, key):
        rows = _traced(game.loss_tables, players, rounds, key)
    else:
        try:
            return _in_calls(game, players, rounds, key, keep, on_progress)
        except jax.errors.TracerArrayConversionError:  # inside of a `jit` of something else
            rows = _traced(game.loss_tables, players, rounds, key)
    whole = Trajectory(rows.policies, rows.losses, rows.actions, joint_play(rows.played))
    return whole if keep == "all" else whole.summary()


def seated_learners(
    game: Game, learners: Learner | str | Sequence[Learner | str]
) -> tuple[Learner, ...]:
    """A learner for every player of the game; a single one plays for them all."""
    if isinstance(learners, Learner | str):
        learners = [learners]
    given = tuple(
        learner if isinstance(learner, Learner) else as_learner(learner) for learner in learners
    )
    check_seats(game, len(given))
    for learner in given:
        if not isinstance(learner.domain, Simplex):
            raise ValueError(
                f"a seat takes learners on the simplex, but {learner} plays on the {learner.domain.name}"
            )
    if len(given) < len(game.sizes):
        given = given * len(game.sizes)
    return tuple(
        learner.seated(game, n) if isinstance(learner, HostLearner) else learner
        for n, learner in enumerate(given)
    )


def _each(
    change: Callable[[Learner, Any], Learner],
    learners: tuple[Learner, ...],
    policies: Sequence[Any],
) -> tuple[Learner, ...]:
    """Give every learner its policy; None leaves it as it is."""
    return tuple(
        learner if policy is None else change(learner, policy)
        for learner, policy in zip(learners, policies, strict=True)
    )


@partial(jax.jit, static_argnames="rounds")
def _traced(tables: Tables, learners: tuple[Learner, ...], rounds: int, key: Key) -> Round:
    sizes = tuple(len(table) for table in tables)
    states, keys = init_players(learners, sizes, rounds, key)
    environment = partial(game_losses, tables)
    return scan_rounds(learners, environment, states, rounds, keys=keys)[1]


def _in_calls(
    game: Game,
    learners: tuple[Learner, ...],
    rounds: int,
    key: Key,
    keep: Keep,
    on_progress: Callable[[int, int], None] | None,
) -> Trajectory | Summary:
    environment = Partial(game_losses, game.loss_tables)
    joint = np.zeros(game.sizes)
    parts = []
    done = 0
    for part in play_in_calls(learners, environment, game.sizes, rounds, key=key):
        count = len(part.policies[0])
        products = joint_sum(part.played)
        if not abs(products.sum() - count) < 0.5:  # a policy is missing, or not a number
            check_policies(learners, part.policies, done)
        joint += products
        done += count
        if keep == "all":
            parts.append(part)
        if on_progress is not None:
            on_progress(done, rounds)
    joint /= rounds
    if keep == "summary":
        return summary_of(joint, game, rounds)
    rows = parts[0]
    if len(parts) > 1:
        rows = jax.tree.map(lambda *columns: np.concatenate(columns), *parts)
    joint = joint.astype(rows.policies[0].dtype)
    return Trajectory(rows.policies, rows.losses, rows.actions, joint)


def _in_python(
    tables: Tables,
    learners: tuple[Learner, ...],
    rounds: int,
    key: Key,
    on_round: Callable[[Round], None] | None,
) -> Round:
    environment = partial(game_losses, jax.tree.map(jnp.asarray, tables))
    sizes = [len(table) for table in tables]
    rows = []
    for played in play_in_python(learners, environment, sizes, rounds, key=key):
        rows.append(played)
        if on_round is not None:
            on_round(played)
    return jax.tree.map(lambda *column: np.stack(column), *rows)
