r"""The central type: everything that plays is a `Learner`, and a game or a loss sequence sees nothing else of it."""

import dataclasses
import json
from abc import abstractmethod
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from regrax import _checks as checks
from regrax.domains import Domain, Simplex
from regrax.specs import name_of, parse_learner

State = PyTree
Key = PRNGKeyArray | None
Feedback = PyTree
"""The loss vector of a round; for a bandit learner the action it drew and the loss of that action."""
Drawn = tuple[Int[Array, ""], Float[Array, ""]]
"""The action drawn and its loss."""
Rounds = int | np.integer | Int[np.ndarray, "*n"]
Bound = float | np.floating | Float[np.ndarray, "*n"] | None
Prior = Float[Array, "d"] | Float[np.ndarray, "d"] | None


SIMPLEX = Simplex()


class Learner(eqx.Module):
    r"""A rule for choosing a distribution over actions from the losses seen so far.

    Round $t$ plays $\pi_t =$ `policy(state)`, then sees the loss vector $\ell_t$ and moves on by `update`. State and
    learner are pytrees; hyperparameters are leaves, so a sweep over step sizes is a `vmap`. A subclass is final and its
    leaves are numbers or arrays; anything else is a static field. There are three kinds: this one, which sees every
    loss; `BanditLearner`, which sees that of the action it drew; `HostLearner`, which runs in Python.
    """

    regret: ClassVar[Literal["external", "internal", "swap"]] = "external"  # what `bound` bounds

    @property
    def domain(self) -> Domain:
        """Where its policies live: only learners on the simplex take a seat in a game."""
        return SIMPLEX

    @abstractmethod
    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> State:
        """The state before round 1. `rounds` is an upper bound on the rounds to come, for learners with a buffer."""

    @abstractmethod
    def policy(self, state: State) -> Float[Array, "d"]:
        """The distribution played this round."""

    @abstractmethod
    def update(self, state: State, feedback: Feedback) -> State:
        """The state after seeing this round's losses, or as much of them as the learner sees."""

    def bound(
        self, actions: int, rounds: Rounds, width: float = 1.0, largest: float | None = None
    ) -> Bound:
        """What theory promises: an upper bound on regret, or None.

        `regret` says which regret. For a fixed `largest` every bound here is concave in the rounds' squared widths:
        that lets wrappers whose base sees losses of uneven width evaluate the base's bound at their mean.

        Args:
            actions: how many actions.
            rounds: how many rounds, or an array of such numbers, which gives an array of bounds.
            width: an upper bound on the range (largest less smallest) of a round's losses; a bandit learner's losses
                are between 0 and `width`, and its bound is on expected regret.
            largest: the range of the widest single round, for bounds that depend on it; by default `width`.
        """
        return None

    def starting_at(self, start: Any) -> "Learner":
        """This learner with `start` as the policy of round 1; its later policies depend on losses as before."""
        from regrax.learners.starts import started

        return started(self, start)

    def with_prior(self, prior: Any) -> "Learner":
        """This learner with a distribution that its weights begin from; raise ValueError if it has none.

        A wrapper gives the prior to its base.
        """
        if not self.has_prior:
            raise ValueError(f"{self} has no prior; start sets its policy of round 1")
        if hasattr(self, "prior"):
            return dataclasses.replace(self, prior=prior)  # pyright: ignore[reportCallIssue]
        base: Learner = self.base  # pyright: ignore[reportAttributeAccessIssue]
        return dataclasses.replace(self, base=base.with_prior(prior))  # pyright: ignore[reportCallIssue]

    @property
    def has_prior(self) -> bool:
        """True if the learner, or the base that it wraps, has weights that begin from a distribution."""
        return hasattr(self, "prior") or getattr(getattr(self, "base", None), "has_prior", False)

    def observe(self, loss: Float[Array, "d"], action: Int[Array, ""] | None) -> Feedback:
        """The feedback of a round: the part of it that `update` is given."""
        return loss

    def __str__(self) -> str:
        return fields_text(self)


class BanditLearner(Learner):
    r"""A learner that draws an action $a_t \sim \pi_t$ and sees only $(a_t, \ell_{t,a_t})$."""

    def observe(self, loss: Float[Array, "d"], action: Int[Array, ""] | None) -> Drawn:
        assert action is not None  # callers draw actions for a learner of this type
        return action, loss[action]


class HostLearner(Learner):
    """A learner that is Python code, not traced by jax: it is played in a plain loop."""

    def seated(self, game: Any, player: int) -> "HostLearner":
        """This learner as a player of a game, for one that is told the game's names."""
        return self


def as_prior(prior: Any) -> Any:
    """A distribution over actions as an array, checked; None stays None."""
    if prior is None or isinstance(prior, jax.Array) or not checks.is_concrete(prior):
        return prior
    array = np.array(prior, float)
    checks.shape("prior", array, "(d,)", array.ndim == 1)
    checks.distributions("prior", array)
    return array


def check_prior(prior: Prior, actions: int) -> None:
    """Raise unless a prior has one entry per action."""
    if prior is not None:
        checks.shape("prior", prior, f"({actions},)", np.shape(prior) == (actions,))


def with_prior(prior: Prior, logits: Float[Array, "d"]) -> Float[Array, "d"]:
    r"""$z + \ln \pi_1$; $z$ without a prior."""
    if prior is None:
        return logits
    return logits + jnp.log(jnp.asarray(prior, logits.dtype))


def prior_or_uniform(prior: Prior, actions: int) -> Float[Array, "d"]:
    """The prior, by default every action alike."""
    check_prior(prior, actions)
    return jnp.ones(actions) / actions if prior is None else jnp.asarray(prior, float)


def prior_bits(prior: Prior, actions: int) -> float:
    r"""$\max_j \ln(1/\pi_{1,j})$, which is $\ln d$ for the uniform prior and infinite if the prior rules one out."""
    check_prior(prior, actions)
    with np.errstate(divide="ignore"):
        return float(np.log(actions) if prior is None else -np.log(np.min(prior)))


def as_base(base: Any) -> Any:
    """The learner inside a wrapper, or the one that its spec names."""
    return parse_learner(base) if isinstance(base, str) else base


def check_on_simplex(base: Any) -> None:
    """Raise unless `base` is a learner whose policies are distributions."""
    if not isinstance(base, Learner):
        raise ValueError(f"base must be a learner, got {base!r}")
    if not isinstance(base.domain, Simplex):
        raise ValueError(
            f"base must play on the simplex, but {base} plays on the {base.domain.name}"
        )


def check_base(base: Any) -> None:
    """Raise unless `base` is a learner that a wrapper can feed loss vectors."""
    check_on_simplex(base)
    if isinstance(base, BanditLearner):
        raise ValueError(f"base must learn from loss vectors, but {base} learns from drawn actions")
    if isinstance(base, HostLearner):
        raise ValueError(f"base must be traced by jax, but {base} runs in Python")


def spec(x: Any) -> str:
    """The text that names a learner, a step size schedule, a domain or a game in specs; `repr` shows all of its fields.

    >>> from regrax.learners import BlumMansour, Hedge
    >>> spec(BlumMansour(Hedge(0.5))), Hedge(0.5)
    ('blum_mansour(hedge(0.5))', Hedge(step_size=0.5))
    """
    return str(x)


def fields_text(module: Any) -> str:
    """`name(argument, ...)` from a module's fields, leaving out trailing ones that have their default."""
    fields = [f for f in dataclasses.fields(module) if f.init]
    values = [getattr(module, f.name) for f in fields]
    while fields and _is_default(values[-1], fields[-1].default):
        fields.pop()
        values.pop()
    return f"{name_of(type(module))}({', '.join(_argument_text(value) for value in values)})"


def _is_default(value: Any, default: Any) -> bool:
    return type(value) is type(default) and value == default


def _argument_text(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float) or not hasattr(value, "shape"):
        return str(value)
    if not checks.is_concrete(value):
        return "traced"
    return f"[{', '.join(str(number) for number in np.ravel(value))}]"
