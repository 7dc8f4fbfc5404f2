r"""Stationarity, block by block: the gradient of the true regret loss by Monte Carlo, with standard errors.

At $V = -kI$, $a = 0$, $v_c = 0$ the theorems say that the expected gradient of $R^2$ vanishes in $a$ and $v_c$ and is
$\alpha(k) (I - 11^\top/d)$ in $V$, with $\alpha(k) = -L'(k)/(d-1)$, which is zero at $k = k^\star$; for the swap
architecture the same in every head's own block, and zero in the blocks of the others.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int, PRNGKeyArray

from regrax import _checks as checks, theory
from regrax.attention import LinearAttention, SwapAttention
from regrax.certify._monte_carlo import Architecture
from regrax.learners import Learner
from regrax.sharding import Devices, each, everywhere, mesh_of
from regrax.training import Objective, RegretObjective, SwapRegretObjective

SEQUENCES_PER_CHUNK = 250  # sequences whose gradients are held at once
DOUBT = 1e-3  # a block is refuted when its largest z-score is less likely than this


class Block(NamedTuple):
    """A block of parameters: measured and expected gradient, and how surprising the difference is.

    Attributes:
        name: of the parameters, as in `V`.
        gradient: measured.
        error: its standard errors.
        expected: by theory.
    """

    name: str
    gradient: Float[np.ndarray, "n"]
    error: Float[np.ndarray, "n"]
    expected: Float[np.ndarray, "n"]

    @property
    def z(self) -> Float[np.ndarray, "n"]:
        """Difference over standard error; where the gradient vanishes on every sequence, zero."""
        scale = np.maximum(self.error, 1e-12 + 1e-9 * np.abs(self.expected))
        return (self.gradient - self.expected) / scale

    @property
    def p_value(self) -> float:
        """How often the largest of this many independent z-scores is as large as ours."""
        from scipy.special import ndtr

        tail = 2 * ndtr(-np.abs(self.z).max())
        return float(-np.expm1(len(self.z) * np.log1p(-tail)))

    @property
    def holds(self) -> bool:
        """Whether the claim survives."""
        return self.p_value > DOUBT


def gradient_blocks(
    actions: int,
    horizon: int,
    *,
    key: PRNGKeyArray,
    architecture: Architecture = "single",
    step: float | None = None,
    sequences: int = 100_000,
    devices: Devices | None = None,
) -> list[Block]:
    r"""The gradient of $E[R^2]$ at the configuration with step $k$ (by default $k^\star$), beside what theory expects.

    Args:
        actions: number of actions $d$, an integer >= 2.
        horizon: number of rounds $T$, an integer >= 2.
        key: of the random numbers; the same key gives the same sequences.
        architecture: `"single"` layer, or `"swap"`.
        step: $k$ of the configuration; by default $k^\star$.
        sequences: how many, at least 4,000.
        devices: that share the sequences, as in `jax.devices()`; by default one.

    >>> import jax
    >>> blocks = gradient_blocks(2, 5, key=jax.random.key(0), sequences=4000)
    >>> [(block.name, block.holds) for block in blocks]
    [('V', True), ('a', True), ('v_c', True)]
    """
    checks.at_least("sequences", sequences, 16 * SEQUENCES_PER_CHUNK)
    step = theory.step_size(actions, horizon) if step is None else step
    alpha = -theory.loss_derivative(step, actions, horizon) / (actions - 1)
    target = (alpha * (np.eye(actions) - 1 / actions)).ravel()
    with jax.enable_x64(True):
        mesh = mesh_of(devices)
        model, objective = _configuration(architecture, actions, horizon, step)
        placed = everywhere((model, objective, key), mesh)
        mean, error = _moments(*placed, sequences // SEQUENCES_PER_CHUNK, mesh)
    if architecture == "single":
        return _single_blocks(mean, error, target)
    return _swap_blocks(mean, error, target)


def _configuration(
    architecture: Architecture, actions: int, horizon: int, step: float
) -> tuple[Learner, Objective]:
    if architecture == "single":
        return LinearAttention.hedge(actions, step), RegretObjective(
            actions, horizon, baseline=False
        )
    return SwapAttention.hedge(actions, step), SwapRegretObjective(actions, horizon, baseline=False)


@eqx.filter_jit
def _moments(
    model: Learner, objective: Objective, key: PRNGKeyArray, chunks: int, mesh: Mesh | None
) -> tuple[Learner, Learner]:
    """Mean and standard error of the gradient over chunks of fresh sequences."""

    def gradient(shared: tuple, index: Int[Array, ""]) -> Learner:
        model, objective, key = shared
        data = objective.draw(SEQUENCES_PER_CHUNK, key=jax.random.fold_in(key, index))
        return jax.grad(objective.loss)(model, data)

    every = each(gradient, (model, objective, key), chunks, mesh)
    mean = jax.tree.map(lambda g: g.mean(0), every)
    return mean, jax.tree.map(lambda g: g.std(0, ddof=1) / chunks**0.5, every)


def _block(
    name: str, mean: Array, error: Array, expected: Float[np.ndarray, "n"] | None = None
) -> Block:
    gradient = np.ravel(np.asarray(mean))
    target = np.zeros(gradient.size) if expected is None else expected
    return Block(name, gradient, np.ravel(np.asarray(error)), target)


def _single_blocks(mean: Learner, error: Learner, target: Float[np.ndarray, "n"]) -> list[Block]:
    parts = {"V": "values", "a": "scores", "v_c": "bias"}
    return [
        _block(name, getattr(mean, part), getattr(error, part), target if name == "V" else None)
        for name, part in parts.items()
    ]


def _swap_blocks(mean: Learner, error: Learner, target: Float[np.ndarray, "n"]) -> list[Block]:
    values, spread = (np.asarray(tree.values) for tree in (mean, error))  # pyright: ignore
    d = values.shape[0]
    values, spread = (v.reshape(d, d, d, d) for v in (values, spread))  # head, row, block, column
    own = [(values[j, :, j].ravel(), spread[j, :, j].ravel()) for j in range(d)]
    others = [
        (values[j, :, r].ravel(), spread[j, :, r].ravel())
        for j in range(d)
        for r in range(d)
        if r != j
    ]
    stacked = [np.concatenate(part) for part in zip(*own, strict=True)]
    apart = [np.concatenate(part) for part in zip(*others, strict=True)]
    rest = [
        _block(n, getattr(mean, p), getattr(error, p))
        for n, p in (("a", "scores"), ("v_c", "bias"))
    ]
    return [
        Block("V, own blocks", *stacked, expected=np.tile(target, d)),
        Block("V, other blocks", *apart, expected=np.zeros(apart[0].size)),
        *rest,
    ]
