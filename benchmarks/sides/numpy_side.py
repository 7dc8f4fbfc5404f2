"""Repeated play and gaps in well-written numpy.

Plain loops: arrays are allocated once, products use BLAS, nothing is computed twice, and every policy and loss is
stored, as in `regrax.play`. `row` and `column` hold the losses of the two players by (own action, other's action). The
`many_*` functions play many games at once, along a leading axis.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from games import COMPARED, payoffs
from numpy.typing import NDArray
from worker import serve

Floats = NDArray[np.floating]
Played = tuple[Floats, Floats, Floats, Floats, Floats]  # policies and losses of both, joint play


def hedge(row: Floats, column: Floats, step: float, rounds: int, sign: int = 1) -> Played:
    """Play Hedge against Hedge, `softmax(-step S)`; the second player's losses are `sign` times its table's."""
    p, q, p_losses, q_losses = _room(row, column, rounds)
    p_total, q_total = np.zeros_like(p[0]), np.zeros_like(q[0])
    for t in range(rounds):
        p_now, q_now = softmax(-step * p_total), softmax(-step * sign * q_total)
        p_loss, q_loss = row @ q_now, column @ p_now
        p[t], q[t], p_losses[t], q_losses[t] = p_now, q_now, p_loss, q_loss
        p_total += p_loss
        q_total += q_loss
    q_losses *= sign
    return p, q, p_losses, q_losses, p.T @ q / rounds


def blum_mansour(row: Floats, column: Floats, step: float, rounds: int) -> Played:
    """Play Blum-Mansour over Hedge against itself, with fixed points by LU."""
    p, q, p_losses, q_losses = _room(row, column, rounds)
    p_heads, q_heads = np.zeros_like(row @ row.T), np.zeros_like(column @ column.T)
    for t in range(rounds):
        p_now = fixed_point(many_softmax(-step * p_heads))
        q_now = fixed_point(many_softmax(-step * q_heads))
        p_loss, q_loss = row @ q_now, column @ p_now
        p[t], q[t], p_losses[t], q_losses[t] = p_now, q_now, p_loss, q_loss
        p_heads += np.outer(p_now, p_loss)
        q_heads += np.outer(q_now, q_loss)
    return p, q, p_losses, q_losses, p.T @ q / rounds


def many_hedge(row: Floats, column: Floats, step: float, rounds: int) -> Played:
    """Play `hedge` in many games, along a leading axis."""
    p, q, p_losses, q_losses = _room(row, column, rounds)
    p_total, q_total = np.zeros_like(p[0]), np.zeros_like(q[0])
    for t in range(rounds):
        p_now, q_now = many_softmax(-step * p_total), many_softmax(-step * q_total)
        p_loss, q_loss = (row @ q_now[..., None])[..., 0], (column @ p_now[..., None])[..., 0]
        p[t], q[t], p_losses[t], q_losses[t] = p_now, q_now, p_loss, q_loss
        p_total += p_loss
        q_total += q_loss
    return p, q, p_losses, q_losses, _many_joint(p, q)


def many_blum_mansour(row: Floats, column: Floats, step: float, rounds: int) -> Played:
    """Play `blum_mansour` in many games, along a leading axis."""
    p, q, p_losses, q_losses = _room(row, column, rounds)
    p_heads, q_heads = np.zeros_like(row), np.zeros_like(column)
    for t in range(rounds):
        p_now = fixed_point(many_softmax(-step * p_heads))
        q_now = fixed_point(many_softmax(-step * q_heads))
        p_loss, q_loss = (row @ q_now[..., None])[..., 0], (column @ p_now[..., None])[..., 0]
        p[t], q[t], p_losses[t], q_losses[t] = p_now, q_now, p_loss, q_loss
        p_heads += p_now[..., :, None] * p_loss[..., None, :]
        q_heads += q_now[..., :, None] * q_loss[..., None, :]
    return p, q, p_losses, q_losses, _many_joint(p, q)


def softmax(x: Floats) -> Floats:
    """Compute the softmax of a vector."""
    weights = np.exp(x - x.max())
    weights /= weights.sum()
    return weights


def many_softmax(x: Floats) -> Floats:
    """Compute softmaxes along the last axis."""
    weights = np.exp(x - x.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return weights


def fixed_point(rows: Floats) -> Floats:
    """Solve `pi = rows^T pi`, with `sum(pi) = 1` in place of the last equation."""
    system = rows.swapaxes(-1, -2) - np.eye(rows.shape[-1], dtype=rows.dtype)
    system[..., -1, :] = 1
    right = np.zeros((rows.shape[-1], 1), rows.dtype)
    right[-1] = 1
    return np.linalg.solve(system, right)[..., 0]


def _room(row: Floats, column: Floats, rounds: int) -> tuple[Floats, Floats, Floats, Floats]:
    p = np.empty((rounds, *row.shape[:-1]), row.dtype)
    q = np.empty((rounds, *column.shape[:-1]), column.dtype)
    return p, q, np.empty_like(p), np.empty_like(q)


def _many_joint(p: Floats, q: Floats) -> Floats:
    return p.transpose(1, 2, 0) @ q.transpose(1, 0, 2) / len(p)


def hedge_of_many_players(tables: list[Floats], step: float, rounds: int) -> list[Floats]:
    """Play Hedge as every player; a table holds a player's losses by (own action, joint action of the others)."""
    count, actions = len(tables), len(tables[0])
    policies = [np.empty((rounds, actions), tables[0].dtype) for _ in tables]
    losses = [np.empty_like(kept) for kept in policies]
    totals = [np.zeros(actions, tables[0].dtype) for _ in tables]
    for t in range(rounds):
        now = [softmax(-step * total) for total in totals]
        for n in range(count):
            others = [now[m] for m in range(count) if m != n]
            product = others[0]
            for other in others[1:]:
                product = np.outer(product, other).ravel()
            loss = tables[n] @ product
            policies[n][t], losses[n][t] = now[n], loss
            totals[n] += loss
    return policies


def gaps_of(joint: Floats, own: list[Floats]) -> list[float]:
    """Compute CCE, CE and swap gaps of joint play for two players; `own` holds payoffs by (own action, other's)."""
    found = []
    for player, payoff in enumerate(own):
        told = (joint if player == 0 else joint.T) @ payoff.T
        gains = told - np.diag(told)[:, None]
        found.append((gains.sum(0).max(), gains.max(), gains.max(1).sum()))
    return [float(max(column)) for column in zip(*found, strict=True)]


def _two(actions: int, games: int, bits: int) -> tuple[Floats, Floats]:
    tables = np.stack([payoffs(actions, seed=seed) for seed in range(games)])
    tables = tables.astype(np.float32 if bits == 32 else np.float64)
    row, column = -tables[:, 0], np.ascontiguousarray(-tables[:, 1].swapaxes(1, 2))
    return (row[0], column[0]) if games == 1 else (row, column)


def _play(
    learner: str, actions: int, rounds: int, step: float, games: int = 1, bits: int = 32
) -> Callable[[], list]:
    row, column = _two(actions, games, bits)
    play = globals()[learner if games == 1 else f"many_{learner}"]
    return lambda: _shown(play(row, column, step, rounds)[0])


def _hedge(one_table: bool = False, **arguments: Any) -> Callable[[], list]:
    """Compute both players' losses from their tables or, since payoffs are zero-sum, from the first player's only."""
    if not one_table:
        return _play("hedge", **arguments)
    row, _ = _two(arguments["actions"], 1, 32)
    step, rounds = arguments["step"], arguments["rounds"]
    return lambda: _shown(hedge(row, row.T, step, rounds, sign=-1)[0])


def _shown(policies: Floats) -> list:
    return policies[COMPARED].ravel().tolist() if len(policies) > COMPARED else []


def _many_players(actions: int, rounds: int, step: float, players: int) -> Callable[[], list]:
    tables = payoffs(actions, players).astype(np.float32)
    own = [
        -np.ascontiguousarray(np.moveaxis(tables[n], n, 0)).reshape(actions, -1)
        for n in range(players)
    ]
    return lambda: _shown(hedge_of_many_players(own, step, rounds)[0])


def _gaps(actions: int, bits: int = 32) -> Callable[[], list]:
    precision = np.float32 if bits == 32 else np.float64
    table = payoffs(actions).astype(precision)
    joint = np.random.default_rng(1).dirichlet(np.ones(actions**2)).astype(precision)
    joint = joint.reshape(actions, actions)
    return lambda: gaps_of(joint, [table[0], table[1].T])


if __name__ == "__main__":
    serve(
        {
            "hedge": _hedge,
            "blum_mansour": partial(_play, "blum_mansour"),
            "hedge_of_many": _many_players,
            "gaps": _gaps,
        }
    )
