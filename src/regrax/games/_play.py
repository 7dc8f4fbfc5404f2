r"""Repeated play: every seat a learner, every round its expected (or sampled) losses, one `lax.scan`."""

from collections.abc import Callable, Sequence
from functools import partial
from string import ascii_lowercase

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from regrax import _checks as checks
from regrax.games._game import Game
from regrax.games._rounds import (
    all_rounds,
    one_hots,
    policy_of,
    round_of,
    split,
    start,
    tables_of,
    update_of,
)
from regrax.learners import Learner, check_key, check_on_host

CHUNK = 256  # rounds whose joint play is held at once

Heard = Callable[[tuple, tuple, tuple | None], None]


class Trajectory(eqx.Module):
    r"""What was played and suffered, a tuple entry a player, and the joint play $\mu_T$ it averages to.

    `played` is what counts: the policies, or, when actions were sampled, the actions as one-hot rows. Regret of
    `played` on `losses` divided by `T` is the gap of `joint`, player by player.
    """

    policies: tuple[Float[Array, "T _"], ...]
    losses: tuple[Float[Array, "T _"], ...]
    actions: tuple[Int[Array, "T"], ...] | None
    joint: Float[Array, "*d"]

    @property
    def rounds(self) -> int:
        """How many rounds were played."""
        return self.policies[0].shape[0]

    @property
    def played(self) -> tuple[Float[Array, "T _"], ...]:
        """The rows that joint play averages: policies, or sampled actions as one-hot rows."""
        return self.policies if self.actions is None else one_hots(self.actions, self.policies)


def play(
    game: Game,
    learners: Learner | Sequence[Learner],
    rounds: int,
    *,
    key: PRNGKeyArray | None = None,
    heard: Heard | None = None,
) -> Trajectory:
    r"""Play `game` for `rounds` rounds; one learner alone fills every seat.

    Without `key` feedback is expected, $\ell_{n,t} = -u_n(\cdot, \pi_{-n,t})$, and
    $\mu_T = \frac1T \sum_t \pi_{1,t} \otimes \cdots \otimes \pi_{N,t}$. With `key` every player draws an action
    $a_{n,t} \sim \pi_{n,t}$, feedback is $-u_n(\cdot, a_{-n,t})$ and $\mu_T$ is the frequency of joint actions.
    A bandit learner sees only its own entry of that, so it needs the key. `vmap` it over keys, learners' steps, or
    payoffs; an `Agent` in a seat runs in Python, and the rounds in a plain loop. So they do with `heard`, which is
    called with the policies, losses and actions (or None) of all players after every round.

    >>> from regrax.games import weighted_rps
    >>> from regrax.learners import Uniform
    >>> play(weighted_rps(), Uniform(), rounds=10).joint.shape
    (3, 3)
    """
    checks.at_least("rounds", rounds, 1)
    seated = _seat(game, learners)
    check_key(seated, key)
    if heard is None and not any(learner.host for learner in seated):
        return _play(game, seated, rounds, key)
    return _play_on_host(game, seated, rounds, key, heard)


def _seat(game: Game, learners: Learner | Sequence[Learner]) -> tuple[Learner, ...]:
    seats = len(game.sizes)
    seated = (learners,) * seats if isinstance(learners, Learner) else tuple(learners)
    seated = seated * seats if len(seated) == 1 else seated
    if len(seated) != seats:
        raise ValueError(
            f"learners must be one, or one for each of {seats} players, but are {len(seated)}"
        )
    for learner in seated:
        if not isinstance(learner, Learner):
            raise ValueError(f"learners must be Learner objects, but one is {learner!r}")
        if learner.plays_on != "simplex":
            raise ValueError(
                f"a seat takes learners on the simplex, but {learner} plays on the {learner.plays_on}"
            )
    return seated


@partial(jax.jit, static_argnames="rounds")
def _play(
    game: Game, learners: tuple[Learner, ...], rounds: int, key: PRNGKeyArray | None
) -> Trajectory:
    return _trajectory(*all_rounds(tables_of(game), learners, rounds, key))


def _trajectory(policies: tuple, losses: tuple, actions: tuple | None) -> Trajectory:
    shown = policies if actions is None else one_hots(actions, policies)
    return Trajectory(policies, losses, actions, joint_play(shown))


def _play_on_host(
    game: Game,
    learners: tuple[Learner, ...],
    rounds: int,
    key: PRNGKeyArray | None,
    heard: Heard | None,
) -> Trajectory:
    """The same rounds in a plain loop, for learners that jax cannot trace."""
    for learner in learners:
        if learner.host:
            check_on_host(learner, game.payoffs, key)
    tables = tables_of(game)
    start_keys, round_keys = split(key, len(learners), rounds)
    states, rows = start(tables, learners, rounds, start_keys), []
    play_round = round_of(tables, learners, _compiled(policy_of), _compiled(update_of))
    for t in range(rounds):
        states, row = play_round(states, None if round_keys is None else round_keys[t])
        rows.append(row)
        if heard is not None:
            heard(*row)
    return _trajectory(*jax.tree.map(lambda *column: jnp.stack(column), *rows))


def _compiled(method: Callable) -> Callable:
    """`method` for a plain loop: as it is for learners that run in Python, compiled once for the others."""
    traced = jax.jit(method)
    return lambda learner, *rest: (method if learner.host else traced)(learner, *rest)


def joint_play(played: Sequence[Float[Array, "T _"]]) -> Float[Array, "*d"]:
    r"""$\mu_T = \frac1T \sum_t \pi_{1,t} \otimes \cdots \otimes \pi_{N,t}$, a distribution over joint actions.

    >>> import jax.numpy as jnp
    >>> joint_play([jnp.eye(2), jnp.eye(2)]).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    axes = ascii_lowercase[: len(played)]
    average = partial(jnp.einsum, ",".join(f"Z{a}" for a in axes) + "->" + axes)
    rounds, sizes = played[0].shape[0], tuple(rows.shape[1] for rows in played)

    def add(total: Float[Array, "*d"], chunk: list) -> tuple:
        return total + average(*chunk), None

    # for more than two players einsum holds a product over all but one for every round: take the rounds in chunks,
    # the last one filled up with zeros
    chunks = -(-rounds // CHUNK) if len(played) > 2 else 1
    missing = chunks * CHUNK - rounds if chunks > 1 else 0
    padded = [jnp.pad(rows, ((0, missing), (0, 0))) for rows in played]
    parts = [rows.reshape(chunks, -1, rows.shape[1]) for rows in padded]
    total, _ = lax.scan(add, jnp.zeros(sizes, played[0].dtype), parts)
    return total / rounds
