"""The other side of the comparison: repeated play of a two-player game in numpy, the obvious good way.

Plain loops: arrays allocated once, products by BLAS, nothing computed twice; every policy and loss is kept, as by
`regrax.play`. `row` and `column` hold the losses of the two players by (own action, other's action); the `many_*`
functions play many games at once, a leading axis each.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Played = tuple[Floats, Floats, Floats, Floats, Floats]  # policies and losses of both, joint play


def hedge(row: Floats, column: Floats, step: float, rounds: int) -> Played:
    """Hedge against Hedge: `softmax(-step S)`."""
    p, q, p_losses, q_losses = _room(row, column, rounds)
    p_total, q_total = np.zeros_like(p[0]), np.zeros_like(q[0])
    for t in range(rounds):
        p_now, q_now = softmax(-step * p_total), softmax(-step * q_total)
        p_loss, q_loss = row @ q_now, column @ p_now
        p[t], q[t], p_losses[t], q_losses[t] = p_now, q_now, p_loss, q_loss
        p_total += p_loss
        q_total += q_loss
    return p, q, p_losses, q_losses, p.T @ q / rounds


def blum_mansour(row: Floats, column: Floats, step: float, rounds: int) -> Played:
    """Blum-Mansour over Hedge against itself, the fixed point by LU."""
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
    """As `hedge`, a leading axis of games."""
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
    """As `blum_mansour`, a leading axis of games."""
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
    """Of one vector."""
    weights = np.exp(x - x.max())
    weights /= weights.sum()
    return weights


def many_softmax(x: Floats) -> Floats:
    """Along the last axis."""
    weights = np.exp(x - x.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return weights


def fixed_point(rows: Floats) -> Floats:
    """`pi = rows^T pi`, with `sum(pi) = 1` in place of the last equation."""
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
