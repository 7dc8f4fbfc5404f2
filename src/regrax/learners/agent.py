"""A learner defined by a Python function from past losses to a distribution."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from regrax import _checks as checks
from regrax.learners.base import HostLearner, Key, Prior, as_prior, check_prior
from regrax.learners.engine import runs_in_python


class Agent(HostLearner):
    r"""A Python function as a learner: $\pi_t = f(\ell_1, \dots, \ell_{t-1})$.

    The function may call a model behind an API, a person or another library. It is called once per round with the past
    losses, an array of doubles with shape `(t - 1, d)`, and must return $d$ probabilities. It runs in a Python loop and
    cannot be transformed by `jit`, `vmap` or `grad`.

    >>> import jax.numpy as jnp
    >>> from regrax.learners import rollout
    >>> def tit_for_tat(losses):
    ...     return [1.0, 0.0] if len(losses) == 0 else losses[-1] == losses[-1].min()
    >>> rollout(Agent(tit_for_tat), jnp.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])).tolist()
    [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    """

    function: Callable[[np.ndarray], Any] = eqx.field(static=True)
    prior: Prior = eqx.field(converter=as_prior, default=None)

    def __check_init__(self) -> None:
        if not callable(self.function):
            raise ValueError(f"function must be callable with past losses, got {self.function!r}")

    def init(
        self, actions: int, rounds: int | None = None, *, key: Key = None
    ) -> Float[np.ndarray, "past d"]:
        return np.zeros((0, actions))

    def policy(self, state: Float[np.ndarray, "past d"]) -> Float[Array, "d"]:
        past, actions = state.shape
        if past == 0 and self.prior is not None:
            check_prior(self.prior, actions)
            return jnp.asarray(self.prior, float)
        name = f"the policy of {self} in round {past + 1}"
        answer = _numbers(name, self.function(state.copy()))
        checks.shape(name, answer, f"({actions},)", answer.shape == (actions,))
        checks.distributions(name, answer)
        policy = np.maximum(answer, 0)
        return jnp.asarray(policy / policy.sum(), float)

    def update(
        self, state: Float[np.ndarray, "past d"], feedback: Float[Array | np.ndarray, "d"]
    ) -> Float[np.ndarray, "after d"]:
        runs_in_python([self], feedback)
        return np.vstack([state, np.asarray(feedback, float)])

    def __str__(self) -> str:
        return f"agent({getattr(self.function, '__name__', type(self.function).__name__)})"


def _numbers(name: str, answer: Any) -> np.ndarray:
    try:
        return np.asarray(answer, float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a list of numbers, got {answer!r}") from None
