r"""The loop over rounds.

In every round each learner chooses a policy, the environment turns the policies into losses, and each learner updates
its state with the losses it sees. Loss sequences, games and adversaries are environments.

`play_round` plays one round, and `play_rounds` repeats it: in calls of one compiled program, between which Python
handles Ctrl-C and reports progress; in a `lax.scan` under `jit`, `vmap` or `grad`; or in a Python loop, for learners
that cannot be traced.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer
from jax.tree_util import Partial
from jaxtyping import Array, Float, Int

from regrax import _checks as checks
from regrax.domains import Simplex
from regrax.learners.base import BanditLearner, HostLearner, Key, Learner, State
from regrax.learners.starts import as_start
from regrax.specs import as_learner

Vectors = tuple[Any, ...]
"""A vector per player: policies or losses."""
Environment = Callable[[Vectors, Any], Vectors]
"""A function from the players' policies (or one-hot actions) and the round's row of data to every player's losses."""

MAX_ROUNDS_PER_CALL = 2**14
MAX_NUMBERS_PER_CALL = 2**18
"""Limit on rounds times actions of all players in one call: two megabytes of buffers, and at most about a second of
work (Blum-Mansour in a 1000x1000 game)."""


class Round(NamedTuple):
    """Policies, losses and actions of a round or, stacked, of many rounds.

    Attributes:
        policies: per player, of shape `(d,)` or `(T, d)`.
        losses: per player, of the same shapes.
        actions: drawn actions per player, of shape `()` or `(T,)`; None if losses are expectations.
    """

    policies: tuple[Any, ...]
    losses: tuple[Any, ...]
    actions: tuple[Any, ...] | None

    @property
    def played(self) -> tuple[Any, ...]:
        """The rows that were played: policies, or drawn actions as one-hot rows."""
        if self.actions is None:
            return self.policies
        return one_hots(self.actions, self.policies)


def play_round(
    learners: Sequence[Any],
    environment: Environment,
    states: tuple[State, ...],
    row: Any = None,
    keys: Sequence[Any] | None = None,
) -> tuple[tuple[State, ...], Round]:
    """Play one round; return the new states and the round.

    Args:
        learners: one per player.
        environment: maps the players' moves and `row` to every player's losses.
        states: one per player.
        row: the environment's data for this round.
        keys: one per player, to draw actions; without them the policies themselves are played.
    """
    policies = tuple(learner.policy(state) for learner, state in zip(learners, states, strict=True))
    if keys is None:
        actions = None
        played = policies
        seen = [None] * len(policies)
    else:
        actions = tuple(draw(key, policy) for key, policy in zip(keys, policies, strict=True))
        played = one_hots(actions, policies)
        seen = actions
    losses = environment(played, row)
    players = zip(learners, states, losses, seen, strict=True)
    after = tuple(
        learner.update(state, learner.observe(loss, action))
        for learner, state, loss, action in players
    )
    return after, Round(policies, losses, actions)


def draw(key: Any, policy: Float[Array, "*n d"]) -> Int[Array, "*n"]:
    r"""Draw an action $a \sim \pi$; with a batch of keys, draw one action per row."""
    logits = jnp.log(policy)  # an action of probability 0 has logit -inf and is never drawn
    if policy.ndim == 1:
        return jax.random.categorical(key, logits)
    return jax.vmap(jax.random.categorical)(key, logits)


def one_hots(actions: tuple, policies: tuple) -> tuple:
    """Encode actions as one-hot rows of the policies' size and type; not finite where a policy is not."""
    rows = []
    for action, policy in zip(actions, policies, strict=True):
        if isinstance(action, np.ndarray):
            row = np.eye(policy.shape[-1], dtype=policy.dtype)[action]
        else:
            row = jax.nn.one_hot(action, policy.shape[-1], dtype=policy.dtype)
        rows.append(row + 0 * policy)  # an action drawn from nan must not count as played
    return tuple(rows)


def init_players(
    learners: Sequence[Any], sizes: Sequence[int], rounds: int | None, key: Key
) -> tuple[tuple[State, ...], tuple[Any, ...] | None]:
    """Initialise every player; return their states and one key per player to draw actions with.

    Args:
        learners: one per player.
        sizes: number of actions per player.
        rounds: upper bound on the number of rounds, for learners with a buffer.
        key: random key, split among states and draws; None if no actions are drawn.
    """
    if key is None:
        players = zip(learners, sizes, strict=True)
        return tuple(learner.init(size, rounds) for learner, size in players), None
    keys = [jax.random.split(own) for own in jax.random.split(key, len(sizes))]
    players = zip(learners, sizes, keys, strict=True)
    states = tuple(learner.init(size, rounds, key=own[0]) for learner, size, own in players)
    return states, tuple(own[1] for own in keys)


def keys_of_round(keys: Sequence[Any] | None, number: Any) -> list[Any] | None:
    """Derive a round's keys from the players' keys, each of which is a key or a batch of keys."""
    if keys is None:
        return None
    fold = jax.random.fold_in
    return [
        fold(key, number) if key.ndim == 0 else jax.vmap(fold, (0, None))(key, number)
        for key in keys
    ]


def scan_rounds(
    learners: Sequence[Any],
    environment: Environment,
    states: tuple[State, ...],
    rounds: int,
    rows: Any = None,
    keys: Sequence[Any] | None = None,
) -> tuple[tuple[State, ...], Round]:
    """Play rounds with `lax.scan`; return the final states and all rounds, stacked.

    Args:
        learners: one per player.
        environment: maps the players' moves and the round's row to every player's losses.
        states: states before the first round.
        rounds: number of rounds.
        rows: the environment's data, one row per round.
        keys: one per player, to draw actions with.
    """

    def step(states: tuple, given: tuple) -> tuple[tuple, Round]:
        number, row = given
        return play_round(learners, environment, states, row, keys_of_round(keys, number))

    return lax.scan(step, states, (jnp.arange(rounds), rows), rounds)


def play_rounds(
    learners: tuple[Learner, ...],
    environment: Environment,
    sizes: tuple[int, ...],
    rounds: int,
    rows: Any = None,
    key: Key = None,
    record: Callable[[Round], Any] = lambda played: played,
    on_round: Callable[[Round], None] | None = None,
) -> Iterator[Any]:
    """Play, and yield stacks of consecutive rounds as NumPy arrays, or as one stack of traced arrays.

    The number of rounds is an argument of the compiled program, which serves all numbers up to a power of two.

    Args:
        learners: one per player.
        environment: a `jax.tree_util.Partial`, whose arrays are arguments of the program.
        sizes: number of actions per player.
        rounds: number of rounds.
        rows: the environment's data, of shape `(rounds, ...)`.
        key: random key to draw actions with.
        record: selects the part of the rounds to return; by default all of it.
        on_round: called with every round; play is then a Python loop.
    """
    check_key(learners, key)
    if runs_in_python(learners, environment, rows, key) or on_round is not None:
        for played in _in_python(learners, environment, sizes, rounds, rows, key, on_round):
            yield jax.tree.map(lambda x: np.asarray(x)[None], record(played))
        return

    def scanned() -> Any:
        states, keys = init_players(learners, sizes, rounds, key)
        return record(scan_rounds(learners, environment, states, rounds, rows, keys)[1])

    # flattened once: every use as an argument would flatten the learners, in Python, again
    leaves, structure = jax.tree.flatten((learners, environment, key))
    if any(isinstance(leaf, Tracer) for leaf in (rows, *leaves)):
        yield scanned()
        return
    most = min(MAX_ROUNDS_PER_CALL, max(MAX_NUMBERS_PER_CALL // sum(sizes), 16))
    capacity = 1 << (rounds - 1).bit_length()
    before = None
    if rounds > most:
        # large tables go to the device once, not once per call
        leaves = [jnp.asarray(x) if isinstance(x, np.ndarray) else x for x in leaves]
        before = _init_call(leaves, structure, sizes, capacity)
        capacity = most
    for first in range(0, rounds, capacity):
        count = min(capacity, rounds - first)
        part = None
        if rows is not None:
            part = np.zeros((capacity, *rows.shape[1:]), rows.dtype)
            part[:count] = rows[first : first + count]
        before, recorded = _call(leaves, before, part, count, structure, sizes, capacity, record)
        buffers, shape = jax.tree.flatten(recorded)
        if isinstance(buffers[0], Tracer):  # all arguments are constants of another function's jit
            yield scanned()
            return
        yield shape.unflatten([np.asarray(buffer)[:count] for buffer in buffers])


@partial(jax.jit, static_argnums=(1, 2, 3))
def _init_call(
    leaves: list[Any], structure: Any, sizes: tuple[int, ...], rounds: int
) -> tuple[Any, ...]:
    """Return the states, the keys to draw with, and the number of rounds played."""
    learners, _, key = structure.unflatten(leaves)
    return *init_players(learners, sizes, rounds, key), 0


@partial(jax.jit, static_argnums=(4, 5, 6, 7))
def _call(
    leaves: list[Any],
    before: tuple | None,
    rows: Any,
    count: Any,
    structure: Any,
    sizes: tuple[int, ...],
    capacity: int,
    record: Callable[[Round], Any],
) -> tuple[Any, Any]:
    """Play like `scan_rounds`, but for a traced number of rounds and into buffers of fixed size.

    `before` is the result of the call before, or of `_init_call`. Without it the call plays all rounds and returns no
    states, which saves a third of the time of a short call.
    """
    learners, environment, key = structure.unflatten(leaves)
    states, keys, first = before or (*init_players(learners, sizes, capacity, key), 0)

    def play(states: tuple, index: Any) -> tuple[tuple, Any]:
        row = None if rows is None else lax.dynamic_index_in_dim(rows, index, keepdims=False)
        own = keys_of_round(keys, first + index)
        states, played = play_round(learners, environment, states, row, own)
        return states, record(played)

    def step(index: Int[Array, ""], carry: tuple) -> tuple:
        states, buffers = carry
        states, new = play(states, index)
        write = partial(lax.dynamic_update_index_in_dim, index=index, axis=0)
        return states, jax.tree.map(write, buffers, new)

    shapes = jax.eval_shape(play, states, 0)[1]
    buffers = jax.tree.map(lambda x: jnp.zeros((capacity, *x.shape), x.dtype), shapes)
    states, buffers = lax.fori_loop(0, count, step, (states, buffers))
    after = None if before is None else (states, keys, first + count)
    return after, buffers


def _in_python(
    learners: Sequence[Learner],
    environment: Environment,
    sizes: Sequence[int],
    rounds: int,
    rows: Any,
    key: Key,
    on_round: Callable[[Round], None] | None,
) -> Iterator[Round]:
    environment = jax.tree.map(jnp.asarray, environment)
    states, keys = init_players(learners, sizes, rounds, key)
    players = [
        learner if isinstance(learner, HostLearner) else _Compiled(learner) for learner in learners
    ]
    for number in range(rounds):
        row = None if rows is None else rows[number]
        own = keys_of_round(keys, number)
        states, played = play_round(players, environment, states, row, own)
        if on_round is not None:
            on_round(played)
        yield played


class _Compiled:
    """A traceable learner in a Python loop, with methods that compile once per type of learner."""

    def __init__(self, learner: Learner) -> None:
        self.policy = partial(_policy, learner)
        self.update = partial(_update, learner)
        self.observe = learner.observe


@jax.jit
def _policy(learner: Learner, state: State) -> Float[Array, "d"]:
    return learner.policy(state)


@jax.jit
def _update(learner: Learner, state: State, feedback: Any) -> State:
    return learner.update(state, feedback)


def check_key(learners: Sequence[Learner], key: Key) -> None:
    """Raise if a bandit learner has no key to draw actions with."""
    if key is not None:
        checks.random_key(key)
        return
    for learner in learners:
        if isinstance(learner, BanditLearner):
            raise ValueError(
                f"{learner} sees only the loss of the action it draws, so it needs a key (a seed), got none"
            )


def check_policies(
    learners: Sequence[Learner], policies: Sequence[np.ndarray], first: int = 0
) -> None:
    """Raise if a learner played a policy that is not finite or, on the simplex, not a distribution.

    Args:
        learners: one per player.
        policies: arrays of shape `(T, d)`, one per player.
        first: number of rounds played before these.
    """
    for learner, rows in zip(learners, policies, strict=True):
        sums = rows @ np.ones(rows.shape[1], rows.dtype)
        expected = 1 if isinstance(learner.domain, Simplex) else sums
        with np.errstate(invalid="ignore"):
            good = np.abs(sums - expected) < checks.TOLERANCE  # False for nan and inf
        if not good.all():
            bad = int(np.argmin(good))
            raise ValueError(
                f"{learner} played {rows[bad]} in round {first + bad + 1}: its losses or its step size are too large "
                f"for {rows.dtype}; rescale them, or compute inside jax.enable_x64(True)"
            )


def runs_in_python(learners: Sequence[Learner], *arguments: Any) -> bool:
    """Return True if a learner runs in Python; raise if it would receive traced arrays."""
    hosted = [learner for learner in learners if isinstance(learner, HostLearner)]
    if hosted and not checks.are_concrete(
        arguments, jnp.zeros(())
    ):  # an array that jit would trace
        raise ValueError(f"{hosted[0]} runs in Python and cannot be traced by jit, vmap or grad")
    return bool(hosted)


def rollout(
    learner: Learner | str,
    losses: Float[Any, "T d"],
    *,
    key: Key = None,
    start: Any = None,
    prior: Any = None,
) -> Float[Any, "T d"]:
    r"""Play `learner` on a loss sequence: row $t$ of the result is $\pi_t$, chosen from rows $1..t-1$ of `losses`.

    Computes in float32, or in float64 inside `jax.enable_x64(True)`, and returns a NumPy array. It can be transformed
    by `jit`, `vmap` and `grad`; for many sequences, use `vmap`.

    Args:
        learner: the learner, or its spec, as in `"hedge(0.45)"`.
        losses: the loss of every action in every round, of shape `(T, d)`.
        key: a JAX random key, for learners that need one; a bandit learner draws $a_t \sim \pi_t$ and sees only
            $\ell_{t,a_t}$.
        start: the policy in round 1, by default the learner's own choice: probabilities, an action's index,
            `"random"` or `"random(7)"`; see `as_start` and `Learner.starting_at`.
        prior: the initial distribution of the learner's weights, in the same forms; see `Learner.with_prior`.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import FollowTheLeader
    >>> rollout(FollowTheLeader(), jnp.array([[1.0, 0.0], [0.0, 0.5]])).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """
    rows = losses if isinstance(losses, Tracer) else np.asarray(losses)
    fits = rows.ndim == 2 and min(rows.shape) >= 1
    checks.shape("losses", losses, "(T, d) with T, d >= 1", fits)
    checks.finite("losses", rows)
    learner = as_learner(learner)
    rounds, actions = rows.shape
    if prior is not None:
        learner = learner.with_prior(as_start(prior, actions, name="prior"))
    if start is not None:
        learner = learner.starting_at(as_start(start, actions))
    environment = Partial(given_losses)
    parts = list(play_rounds((learner,), environment, (actions,), rounds, rows, key, policy_of))
    policies = parts[0] if len(parts) == 1 else np.concatenate(parts)
    if checks.is_concrete(policies) and not abs(policies.sum() - rounds) < 0.5:
        check_policies([learner], [policies])
    return policies


def given_losses(_: Vectors, row: Float[Any, "d"]) -> Vectors:
    """Return the round's row of losses, which makes a loss sequence an environment."""
    return (jnp.asarray(row, float),)


def policy_of(played: Round) -> Float[Any, "*T d"]:
    """Return the policy of the only player."""
    return played.policies[0]
