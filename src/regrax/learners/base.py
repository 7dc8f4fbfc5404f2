r"""`Learner`, the base class of everything that plays, from Hedge to a trained attention layer."""

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
from regrax.simplex import Integer, Vector
from regrax.specs import name_of, parse_learner

State = PyTree
Key = PRNGKeyArray | None
Feedback = PyTree
"""The loss vector of a round; for a bandit learner, the drawn action and its loss."""
Drawn = tuple[Integer, Float[Array, ""]]
"""The drawn action and its loss."""
Rounds = int | np.integer | Int[np.ndarray, "*n"]
Bound = float | np.floating | Float[np.ndarray, "*n"] | None
Prior = Vector | Float[np.ndarray, "d"] | None


SIMPLEX = Simplex()


class Learner(eqx.Module):
    r"""A rule that chooses a distribution over actions from the losses seen so far.

    In round $t$ it plays $\pi_t =$ `policy(state)`, sees the loss vector $\ell_t$, and moves to the next state with
    `update`. Learners and states are pytrees; hyperparameters are leaves, so a sweep over step sizes is a `vmap`. The
    fields of a subclass are numbers or arrays; declare anything else static. There are three kinds: `Learner` sees all
    losses, `BanditLearner` only the loss of the action it drew, and `HostLearner` runs in Python.
    """

    regret: ClassVar[Literal["external", "internal", "swap"]] = (
        "external"  # the regret that `bound` bounds
    )

    @property
    def domain(self) -> Domain:
        """Domain of the policies; games accept only learners on the simplex."""
        return SIMPLEX

    @abstractmethod
    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> State:
        """Return the state before round 1; learners with a buffer need `rounds`, an upper bound on the rounds."""

    @abstractmethod
    def policy(self, state: State) -> Vector:
        """Return the distribution to play this round."""

    @abstractmethod
    def update(self, state: State, feedback: Feedback) -> State:
        """Return the state after this round's feedback."""

    def bound(
        self, actions: int, rounds: Rounds, width: float = 1.0, largest: float | None = None
    ) -> Bound:
        """Return a proven upper bound on `regret`, or None if there is none.

        For a fixed `largest`, every bound in this package is concave in the rounds' squared widths, so wrappers whose
        base sees losses of uneven width can evaluate the base's bound at their mean.

        Args:
            actions: number of actions.
            rounds: number of rounds; an array gives an array of bounds.
            width: upper bound on the range (largest minus smallest) of a round's losses. A bandit learner's losses lie
                between 0 and `width`, and its bound is on expected regret.
            largest: the range of the widest round, for bounds that depend on it; by default `width`.
        """
        return None

    def starting_at(self, start: Any) -> "Learner":
        """Return this learner with `start` as its policy in round 1; later policies depend on losses as before."""
        from regrax.learners.starts import started

        return started(self, start)

    def with_prior(self, prior: Any) -> "Learner":
        """Return this learner with `prior` as the initial distribution of its weights.

        A wrapper passes the prior on to its base. Raises ValueError if the learner has no prior.
        """
        if not self.has_prior:
            raise ValueError(f"{self} has no prior; use start to set its policy in round 1")
        if hasattr(self, "prior"):
            return dataclasses.replace(self, prior=prior)  # pyright: ignore[reportCallIssue]
        base: Learner = self.base  # pyright: ignore[reportAttributeAccessIssue]
        return dataclasses.replace(self, base=base.with_prior(prior))  # pyright: ignore[reportCallIssue]

    @property
    def has_prior(self) -> bool:
        """True if the learner or its base has a prior."""
        return hasattr(self, "prior") or getattr(getattr(self, "base", None), "has_prior", False)

    def observe(self, loss: Vector, action: Integer | None) -> Feedback:
        """Return the feedback that the learner sees in a round, which is passed to `update`."""
        return loss

    def __str__(self) -> str:
        return fields_text(self)


class BanditLearner(Learner):
    r"""A learner that draws an action $a_t \sim \pi_t$ and sees only $(a_t, \ell_{t,a_t})$."""

    def observe(self, loss: Vector, action: Integer | None) -> Drawn:
        assert action is not None  # the engine draws actions for bandit learners
        return action, loss[action]


class HostLearner(Learner):
    """A learner that runs in Python and cannot be traced; it is played in a plain loop."""

    def seated(self, game: Any, player: int) -> "HostLearner":
        """Return this learner as a player of `game`; agents use this to look up action names."""
        return self


def as_prior(prior: Any) -> Any:
    """Check a distribution over actions and return it as an array; return None unchanged."""
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


def with_prior(prior: Prior, logits: Vector) -> Vector:
    r"""Return $z + \ln \pi_1$, or $z$ without a prior."""
    if prior is None:
        return logits
    return logits + jnp.log(jnp.asarray(prior, logits.dtype))


def prior_or_uniform(prior: Prior, actions: int) -> Vector:
    """Return the prior, by default the uniform distribution."""
    check_prior(prior, actions)
    return jnp.ones(actions) / actions if prior is None else jnp.asarray(prior, float)


def prior_bits(prior: Prior, actions: int) -> float:
    r"""Return $\max_j \ln(1/\pi_{1,j})$: $\ln d$ for the uniform prior, infinite if the prior excludes an action."""
    check_prior(prior, actions)
    with np.errstate(divide="ignore"):
        return float(np.log(actions) if prior is None else -np.log(np.min(prior)))


def as_base(base: Any) -> Any:
    """Return the base learner, built from its spec if it is a string."""
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
    """Raise unless `base` is a learner that learns from loss vectors and can be traced."""
    check_on_simplex(base)
    if isinstance(base, BanditLearner):
        raise ValueError(f"base must learn from loss vectors, but {base} learns from drawn actions")
    if isinstance(base, HostLearner):
        raise ValueError(f"base must be traceable by jax, but {base} runs in Python")


def spec(x: Any) -> str:
    """Return the spec of a learner, step size schedule, domain or game; `repr` shows all of its fields.

    >>> from regrax.learners import BlumMansour, Hedge
    >>> spec(BlumMansour(Hedge(0.5))), Hedge(0.5)
    ('blum_mansour(hedge(0.5))', Hedge(step_size=0.5))
    """
    return str(x)


def fields_text(module: Any) -> str:
    """Format a module as `name(argument, ...)`, omitting trailing arguments with default values."""
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
