r"""Stationarity, block by block: the gradient of the true regret loss by Monte Carlo, with standard errors.

At $V = -kI$, $a = 0$, $v_c = 0$ the theorems say that the expected gradient of $R^2$ vanishes in $a$ and $v_c$ and is
$\alpha(k) (I - 11^\top/d)$ in $V$, with $\alpha(k) = -L'(k)/(d-1)$, which is zero at $k = k^\star$; for the swap
architecture the same in every head's own block, and zero in the blocks of the others.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int, PRNGKeyArray

from regrax import _checks as checks, theory
from regrax.attention import LinearAttention, SwapAttention
from regrax.learners import Learner
from regrax.paper.certify._monte_carlo import Architecture
from regrax.sharding import Devices, each, mesh_of, replicate
from regrax.training import Objective, RegretObjective, SwapRegretObjective

SEQUENCES_PER_CHUNK = 250  # sequences whose gradients are held at once
DOUBT = 1e-3  # a block is refuted when its largest z-score is less likely than this
OWN = ("V", "V, own blocks")  # where the gradient is alpha (I - 11^T/d)


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

        return largest_of(len(self.z), 2 * ndtr(-np.abs(self.z).max()))

    @property
    def holds(self) -> bool:
        """Whether the claim survives."""
        return self.p_value > DOUBT


def largest_of(count: int, tail: float) -> float:
    """How often the largest of `count` independent scores is one that a single score reaches with chance `tail`."""
    return float(-np.expm1(count * np.log1p(-min(tail, 1 - 1e-15))))


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
    single = architecture == "single"
    layer = LinearAttention if single else SwapAttention
    objective = RegretObjective if single else SwapRegretObjective
    target = (alpha * (np.eye(actions) - 1 / actions)).ravel()
    with jax.enable_x64(True):
        mesh = mesh_of(devices)
        placed = replicate(
            (jnp.asarray(step, float), objective(actions, horizon, baseline=False), key), mesh
        )
        mean, error = _moments(layer, *placed, sequences // SEQUENCES_PER_CHUNK, mesh)
    pairs = zip(_parts(mean).items(), _parts(error).values(), strict=True)
    return [
        Block(name, value, spread, np.resize(target if name in OWN else 0.0, value.size))
        for (name, value), spread in pairs
    ]


@eqx.filter_jit
def _moments(
    layer: type[LinearAttention | SwapAttention],
    step: Float[Array, ""],
    objective: Objective,
    key: PRNGKeyArray,
    chunks: int,
    mesh: Mesh | None,
) -> tuple[Learner, Learner]:
    """Mean and standard error of the gradient at Hedge's parameters, over chunks of fresh sequences."""

    def gradient(shared: tuple, index: Int[Array, ""]) -> Learner:
        model, objective, key = shared
        data = objective.draw(SEQUENCES_PER_CHUNK, key=jax.random.fold_in(key, index))
        return jax.grad(objective.loss)(model, data)

    model = layer.hedge(objective.actions, step)
    every = each(gradient, (model, objective, key), chunks, mesh)
    mean = jax.tree.map(lambda g: g.mean(0), every)
    return mean, jax.tree.map(lambda g: g.std(0, ddof=1) / chunks**0.5, every)


def _parts(tree: Any) -> dict[str, Float[np.ndarray, "n"]]:
    """The parameters by block: of the swap architecture every head's own block apart from those of the others."""
    values = np.asarray(tree.values)
    d = len(values)
    parts = {"V": values}
    if values.size > d**2:
        blocks = values.reshape(d, d, d, d).swapaxes(1, 2)  # head, block, row, column
        own = np.eye(d, dtype=bool)
        parts = {"V, own blocks": blocks[own], "V, other blocks": blocks[~own]}
    parts |= {"a": np.asarray(tree.scores), "v_c": np.asarray(tree.bias)}
    return {name: part.ravel() for name, part in parts.items()}
