r"""Stationarity of $V = -kI$, $a = 0$, $v_c = 0$: gradients block by block, and the sign of $L'$ along the family.

The theorems say that the expected gradient of $R^2$ vanishes in $a$ and $v_c$ and is $\alpha(k) (I - 11^\top/d)$ in
$V$, with $\alpha(k) = -L'(k)/(d-1)$, which is zero at $k = k^\star$. For the swap architecture the same holds in every
head's own block, and the gradient is zero in the other heads' blocks. Gradients are Monte Carlo means with standard
errors; $L'$ is exact.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Int, PRNGKeyArray

from regrax import _checks as checks, theory
from regrax.attention import LinearAttention, SwapAttention
from regrax.paper.certify.monte_carlo import Architecture
from regrax.paper.certify.samples import Comparison
from regrax.sharding import Devices, each, mesh_of, replicate
from regrax.training import RegretObjective, SwapRegretObjective

MODELS = {
    "single": (LinearAttention, RegretObjective),
    "swap": (SwapAttention, SwapRegretObjective),
}
CHUNK = 250  # sequences whose gradients are held in memory at once


def gradient_blocks(
    actions: int,
    horizon: int,
    *,
    key: PRNGKeyArray,
    architecture: Architecture = "single",
    step: float | None = None,
    sequences: int = 100_000,
    devices: Devices | None = None,
) -> list[Comparison]:
    r"""Measure the gradient of $E[R^2]$ at the configuration with step $k$, and compare it with theory.

    Args:
        actions: number of actions $d$, an integer >= 2.
        horizon: number of rounds $T$, an integer >= 2.
        key: random key; the same key draws the same sequences.
        architecture: `"single"` layer, or `"swap"`.
        step: $k$ of the configuration; by default $k^\star$.
        sequences: number of sequences, at least 4,000.
        devices: devices that share the sequences, as in `jax.devices()`; by default one.

    >>> import jax
    >>> blocks = gradient_blocks(2, 5, key=jax.random.key(0), sequences=4000)
    >>> [(block.name, block.holds) for block in blocks]
    [('V', True), ('a', True), ('v_c', True)]
    """
    checks.at_least("sequences", sequences, 16 * CHUNK)
    checks.one_of("architecture", architecture, tuple(MODELS))
    if step is None:
        step = theory.step_size(actions, horizon)
    alpha = -theory.loss_derivative(step, actions, horizon) / (actions - 1)
    with jax.enable_x64(True):
        attention, regret = MODELS[architecture]
        model = attention.hedge(actions, jnp.asarray(step, float))
        objective = regret(actions, horizon, baseline=False)
        mesh = mesh_of(devices)
        gradients = _gradients(replicate((model, objective, key), mesh), sequences // CHUNK, mesh)
        values, scores, bias = map(np.asarray, (gradients.values, gradients.scores, gradients.bias))
    target = (alpha * (np.eye(actions) - 1 / actions)).ravel()
    if architecture == "single":
        of_values = [Comparison.of("V", values, target)]
    else:
        d = actions
        blocks = values.reshape(-1, d, d, d, d).swapaxes(2, 3)  # chunk, head, block, row, column
        own = np.eye(d, dtype=bool)
        of_values = [
            Comparison.of("V, own blocks", blocks[:, own], target),
            Comparison.of("V, other blocks", blocks[:, ~own], 0.0),
        ]
    return [*of_values, Comparison.of("a", scores, 0.0), Comparison.of("v_c", bias, 0.0)]


@eqx.filter_jit
def _gradients(shared: Any, chunks: int, mesh: Mesh | None) -> Any:
    """Compute the gradient over each chunk of fresh sequences."""

    def gradient(shared: Any, index: Int[Array, ""]) -> Any:
        model, objective, key = shared
        data = objective.draw(CHUNK, key=jax.random.fold_in(key, index))
        return jax.grad(objective.loss)(model, data)

    return each(gradient, shared, chunks, mesh)


class Family(NamedTuple):
    r"""The derivative of the loss with respect to the step, over a wide range of steps.

    Attributes:
        step: the stationary step $k^\star$.
        slopes: $L'$ at half the step, at the step and at twice the step.
        curvature: $L''$ at the step, by finite differences.
        roots: number of sign changes of $L'$.
        scanned: first and last step of the scan, and the number of steps.
    """

    step: float
    slopes: dict[str, float]
    curvature: float
    roots: int
    scanned: tuple[float, float, int]


def family(actions: int, horizon: int, points: int = 61) -> Family:
    r"""Compute the sign of $L'(k)$ around $k^\star$, and count its roots on $[k^\star/1000, 300 k^\star]$.

    With more than a hundred actions the range ends at $k\sqrt{T} = 999$, the limit of the integrals in `theory`.

    Args:
        actions: number of actions $d$, an integer >= 2.
        horizon: number of rounds $T$, an integer >= 2.
        points: number of steps to scan.

    >>> along = family(2, 2, points=2)
    >>> along.slopes["half"] < 0 < along.slopes["twice"], along.roots
    (True, 1)
    """

    def slope(k: float, fineness: float = 1.0) -> float:
        return theory.loss_derivative(k, actions, horizon, fineness=fineness)

    def sign(k: float) -> float:
        """Take the sign as soon as two quadratures agree; the last is accurate, but far slower."""
        value = slope(k, 0.45)
        for fineness in (0.55, 0.65, 1.0):
            before = value
            value = slope(k, fineness)
            if abs(value - before) < abs(value) / 2:
                break
        return float(np.sign(value))

    step = theory.step_size(actions, horizon)
    reach = min(2.5, np.log10(999 / (step * horizon**0.5)))
    grid = step * np.logspace(-3, reach, points)
    signs = np.array([sign(k) for k in grid if k != step])
    bump = 1e-3 * step
    return Family(
        step,
        {"half": slope(step / 2), "once": slope(step), "twice": slope(2 * step)},
        (slope(step + bump) - slope(step - bump)) / (2 * bump),
        int((np.diff(signs[signs != 0]) != 0).sum()),
        (float(grid[0]), float(grid[-1]), points),
    )
