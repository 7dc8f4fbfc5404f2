r"""Repeated play: every seat a learner, every round its expected (or sampled) losses, one `lax.scan`."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from string import ascii_lowercase

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from regrax import checks
from regrax.games.game import Game
from regrax.learners import Learner
from regrax.learners.base import Feedback, State
from regrax.learners.rounds import check_key, check_on_host, draw, observe

CHUNK = 256  # rounds whose joint play is held at once
SMALL = 512  # bytes: if no buffer of a loop body is larger, XLA on a CPU runs its parts in turn, unscheduled

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
        return self.policies if self.actions is None else _one_hots(self.actions, self.policies)


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
    tables = _tables(game)
    start_keys, round_keys = _split(key, len(learners), rounds)
    states = _start(game, learners, rounds, start_keys)
    play_round, block = _round(tables, learners, _policy, _update), _block(rounds, tables)
    return _trajectory(*_scan_in_blocks(play_round, states, round_keys, rounds, block))


def _trajectory(policies: tuple, losses: tuple, actions: tuple | None) -> Trajectory:
    shown = policies if actions is None else _one_hots(actions, policies)
    return Trajectory(policies, losses, actions, joint_play(shown))


def _tables(game: Game) -> list[Float[Array, "_ _"]]:
    """The losses of each player, its own action by the joint action of the others."""
    return [-game.own(n) for n in range(len(game.sizes))]


def _start(game: Game, learners: tuple[Learner, ...], rounds: int, keys: Iterable) -> list[State]:
    seats = zip(learners, game.sizes, keys, strict=True)
    return [learner.init(actions, rounds, key=key) for learner, actions, key in seats]


def _policy(learner: Learner, state: State) -> Float[Array, "d"]:
    return learner.policy(state)


def _update(learner: Learner, state: State, feedback: Feedback) -> State:
    return learner.update(state, feedback)


def _round(
    tables: list[Float[Array, "_ _"]],
    learners: tuple[Learner, ...],
    policy: Callable,
    update: Callable,
) -> Callable[[list[State], PRNGKeyArray | None], tuple[list[State], tuple]]:
    """What happens in one round, with the given ways to ask a learner for its policy and to update it."""
    seats = range(len(learners))

    def play_round(
        states: list[State], round_key: PRNGKeyArray | None
    ) -> tuple[list[State], tuple]:
        policies = tuple(policy(learners[n], states[n]) for n in seats)
        actions = None if round_key is None else _draw(round_key, policies)
        shown = policies if actions is None else _one_hots(actions, policies)
        losses = tuple(tables[n] @ outer([shown[m] for m in seats if m != n]) for n in seats)
        drawn = (None,) * len(learners) if actions is None else actions
        seen = [observe(learners[n], losses[n], drawn[n]) for n in seats]
        states = [update(learners[n], states[n], seen[n]) for n in seats]
        return states, (policies, losses, actions)

    return play_round


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
    start_keys, round_keys = _split(key, len(learners), rounds)
    states, rows = _start(game, learners, rounds, start_keys), []
    play_round = _round(_tables(game), learners, _compiled(_policy), _compiled(_update))
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


def _block(rounds: int, tables: list[Float[Array, "_ _"]]) -> int:
    """The largest divisor of `rounds` whose rows are small buffers, or 1 if the game's tables are not."""
    if max(table.nbytes for table in tables) > SMALL:
        return 1
    most = SMALL // max(table.nbytes // table.shape[1] for table in tables)
    return max(block for block in range(1, most + 1) if rounds % block == 0)


def _scan_in_blocks(
    play_round: Callable, states: list[State], keys: Array | None, rounds: int, block: int
) -> tuple:
    """What `lax.scan(play_round, states, keys, rounds)` stacks, by a loop over rounds inside a loop over blocks.

    Stacks of all rounds are large buffers, and when a loop body writes one, XLA schedules the parts of that body anew
    every round, which takes as long as playing a small game does: blocks play 10 x 10 games twice as fast.
    """
    # entering a body costs as well: two rounds an entry, unless it is slow to compile (heads of Blum-Mansour)
    light = all(jnp.ndim(leaf) < 2 for leaf in jax.tree.leaves(states))
    unroll = 2 if light and block % 2 == 0 else 1

    def play_block(states: list[State], keys: Array | None) -> tuple[list[State], tuple]:
        return lax.scan(play_round, states, keys, block, unroll=unroll)

    blocks = rounds // block
    split = jax.tree.map(lambda x: x.reshape(blocks, block, *x.shape[1:]), keys)
    _, rows = lax.scan(play_block, states, split, blocks)
    return jax.tree.map(lambda x: x.reshape(rounds, *x.shape[2:]), rows)


def _split(key: PRNGKeyArray | None, seats: int, rounds: int) -> tuple:
    if key is None:
        return [None] * seats, None
    start, draws = jax.random.split(key)
    return jax.random.split(start, seats), jax.random.split(draws, rounds)


def _draw(key: PRNGKeyArray, policies: tuple) -> tuple[Int[Array, ""], ...]:
    keys = jax.random.split(key, len(policies))
    return tuple(draw(k, pi) for k, pi in zip(keys, policies, strict=True))


def _one_hots(actions: tuple, policies: tuple) -> tuple:
    return tuple(
        jax.nn.one_hot(a, pi.shape[-1], dtype=pi.dtype)
        for a, pi in zip(actions, policies, strict=True)
    )


def outer(vectors: Sequence[Float[Array, "_"]]) -> Float[Array, "all"]:
    """The product distribution of several players, flattened with the first player slowest."""
    first = jnp.ones(1) if not vectors else vectors[0]
    return reduce(lambda product, v: jnp.outer(product, v).ravel(), vectors[1:], first)


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
