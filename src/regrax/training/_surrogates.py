r"""From the regrets of a batch to one number to minimise.

Surrogates $h$ of a single regret, and the many-sequence weighting of Park et al. (2024) over groups of $N$ sequences:

    E[ sum_j h(R_j) f(R_j, k) / sum_j f(R_j, k) ],        N = 1 is the plain E[h(R)]

**Baseline.** Let every action's loss have the same mean given the past. Then $E[R]$ is the same for every policy, its
gradient is zero, and subtracting any constant from the weight $w_n = \partial L / \partial R_n$ of a sequence keeps the
expected gradient. For $h(R) = R^2$ the constant $2 E[R]$ takes the gradient's noise from $E[R^2]$ down to
$\mathrm{Var}[R]$: from 14.8 to 0.47 at $d = 3$, $T = 20$. It knows nothing of which action was best.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

Surrogate = Callable[[Float[Array, "*n"]], Float[Array, "*n"]]
Weight = Callable[[Float[Array, "*n"], float], Float[Array, "*n"]]

SURROGATES: dict[str, Surrogate] = {
    "square": jnp.square,
    "positive": jax.nn.relu,
    "positive-square": lambda regret: jax.nn.relu(regret) ** 2,
    "softplus": jax.nn.softplus,
    "identity": lambda regret: regret,
}


def surrogate_function(surrogate: str | Surrogate) -> Surrogate:
    """A surrogate by name, or the function itself.

    >>> import jax.numpy as jnp
    >>> surrogate_function("positive-square")(jnp.array([-1.0, 3.0])).tolist()
    [0.0, 9.0]
    """
    if callable(surrogate):
        return surrogate
    if surrogate not in SURROGATES:
        known = ", ".join(SURROGATES)
        raise ValueError(f"surrogate must be a function or one of {known}, got {surrogate!r}")
    return SURROGATES[surrogate]


def exponential(regret: Float[Array, "*n"], sharpness: float) -> Float[Array, "*n"]:
    r"""$f(R, k) = e^{k (R - \max R)}$: the shift cancels in the ratio and keeps the exponential finite.

    >>> import jax.numpy as jnp
    >>> exponential(jnp.array([0.0, 1.0]), 1.0).tolist()
    [0.3679, 1.0]
    """
    return jnp.exp(sharpness * (regret - lax.stop_gradient(regret.max())))


def grouped(
    regrets: Float[Array, "n"],
    surrogate: Surrogate,
    group_size: int,
    weight: Weight,
    sharpness: float,
) -> Float[Array, ""]:
    r"""The mean over groups of $\sum_j h(R_j) f(R_j, k) / \sum_j f(R_j, k)$, $N$ = `group_size`.

    >>> import jax.numpy as jnp
    >>> float(grouped(jnp.array([1.0, 3.0]), jnp.square, 2, exponential, 0.0))
    5.0
    """
    if group_size == 1:
        return surrogate(regrets).mean()

    def group(row: Float[Array, "N"]) -> Float[Array, ""]:
        weights = weight(row, sharpness)
        return jnp.sum(surrogate(row) * weights) / weights.sum()

    return jax.vmap(group)(regrets.reshape(-1, group_size)).mean()


def baselined(
    loss: Callable[[Float[Array, "n"]], Float[Array, ""]],
    regrets: Float[Array, "n"],
    group_size: int,
) -> Float[Array, ""]:
    """`loss(regrets)`, with a gradient less the mean weight of the other groups' sequences.

    Leaving a sequence's own group out keeps the baseline independent of it, so the gradient has no bias at all.
    """
    value, weights = jax.value_and_grad(loss)(lax.stop_gradient(regrets))
    groups = weights.reshape(-1, group_size)
    others = (groups.sum() - groups.sum(1)) / (weights.size - group_size)
    centred = (groups - others[:, None]).ravel()
    change = jnp.vdot(lax.stop_gradient(centred), regrets)
    return value + change - lax.stop_gradient(change)
