"""Feedback: the part of the losses that a model sees in training. Regret always counts all losses."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from regrax import _checks as checks
from regrax.specs import register
from regrax.training.distributions import Batch


class Feedback(eqx.Module):
    """Base class of feedback, which maps losses to what the model sees."""

    @abstractmethod
    def observe(self, losses: Batch, *, key: PRNGKeyArray) -> Batch:
        """Return the observations; row `t` arrives after round `t`."""


@register("feedback", "delayed(2)")
class DelayedFeedback(Feedback):
    r"""The loss of round $t$ arrives after round $t + D$; before that the model sees zeros.

    >>> import jax
    >>> import jax.numpy as jnp
    >>> losses = jnp.arange(3.0).reshape(3, 1, 1) + 1
    >>> DelayedFeedback(1).observe(losses, key=jax.random.key(0)).ravel().tolist()
    [0.0, 1.0, 2.0]
    """

    delay: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        checks.at_least("delay", self.delay, 0)

    def observe(self, losses: Batch, *, key: PRNGKeyArray) -> Batch:
        rounds = losses.shape[0]
        delay = min(self.delay, rounds)
        return jnp.pad(losses[: rounds - delay], ((delay, 0), (0, 0), (0, 0)))


@register("feedback", "bandit()")
class BanditFeedback(Feedback):
    r"""Each round reveals one uniformly drawn action $a$; the model sees $d\,\ell_{t,a} e_a$, whose mean is $\ell_t$.

    The revealed action does not depend on the policy, so the objective stays differentiable.

    >>> import jax
    >>> import jax.numpy as jnp
    >>> seen = BanditFeedback().observe(jnp.ones((5, 3, 2)), key=jax.random.key(0))
    >>> (seen.sum(1) == 3).all().item()
    True
    """

    def observe(self, losses: Batch, *, key: PRNGKeyArray) -> Batch:
        rounds, actions, count = losses.shape
        revealed = jax.random.randint(key, (rounds, count), 0, actions)
        return actions * losses * jax.nn.one_hot(revealed, actions, axis=1, dtype=losses.dtype)
