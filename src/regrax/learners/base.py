r"""`Learner`, the base class of everything that plays, and what learners share: priors, sums of losses, step sizes.

A float32 sum over many rounds loses digits: after 20,000 rounds of a 10x10 game the policy can be off by 0.3. Learners
therefore add up losses in a `Sum`, which keeps track of its rounding error.
"""

import dataclasses
import json
from abc import abstractmethod
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from regrax import _checks as checks
from regrax.domains import Domain, Simplex
from regrax.simplex import Integer, Number, Vector
from regrax.specs import name_of, parse_learner, register

State = PyTree
Key = PRNGKeyArray | None
Feedback = PyTree
"""The loss vector of a round; for a bandit learner, the drawn action and its loss."""
Drawn = tuple[Integer, Number]
"""The drawn action and its loss."""
Rounds = Int[np.ndarray, "*n"]
Bound = float | np.floating | Float[np.ndarray, "*n"] | None
Prior = Vector | Float[np.ndarray, "d"] | None


SIMPLEX = Simplex()  # built once: equinox takes 8 microseconds, a tenth of a short play


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

    def policy(self, state: State) -> Vector:
        """Return the distribution to play this round; by default `state.policy`."""
        if not hasattr(state, "policy"):
            raise TypeError(
                f"{type(self).__name__} must define policy, or a state with a field policy"
            )
        return state.policy

    @abstractmethod
    def update(self, state: State, feedback: Feedback) -> State:
        """Return the state after this round's feedback."""

    def bound(
        self,
        actions: int,
        rounds: int | np.integer | Rounds,
        width: float = 1.0,
        largest: float | None = None,
    ) -> Bound:
        """Return a proven upper bound on `regret`, or None if there is none.

        Subclasses implement `_bound`, which gets an array of rounds and every argument. For a fixed `largest`, every
        bound in this package is concave in the rounds' squared widths, so wrappers whose base sees losses of uneven
        width can evaluate the base's bound at their mean.

        Args:
            actions: number of actions.
            rounds: number of rounds; an array gives an array of bounds.
            width: upper bound on the range (largest minus smallest) of a round's losses or, together with `largest`, on
                its root mean square over rounds. A bandit learner's losses lie between 0 and `width`, and its bound is
                on expected regret.
            largest: the range of the widest round, for bounds that depend on it; by default `width`.
        """
        counts = np.asarray(rounds)
        if counts.size and counts.min() < 1:
            raise ValueError(f"rounds must be at least 1, got {counts.min()}")
        return self._bound(actions, counts, width, largest or width)

    def _bound(self, actions: int, rounds: Rounds, width: float, largest: float) -> Bound:
        return None

    def starting_at(self, start: Any) -> "Learner":
        """Return this learner with `start` as its policy in round 1; later policies depend on losses as before."""
        from regrax.learners.starts import started

        return started(self, start)

    def with_prior(self, prior: Any) -> "Learner":
        """Return this learner with `prior` as the initial distribution of its weights.

        A learner with a `base` passes the prior on to it. Raises ValueError if the learner has no prior.
        """
        if hasattr(self, "prior"):
            return dataclasses.replace(self, prior=prior)  # pyright: ignore[reportCallIssue]
        if not hasattr(self, "base"):
            raise ValueError(f"{self} has no prior; use start to set its policy in round 1")
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


def exponential_weights(prior: Prior, logits: Vector) -> Vector:
    r"""Return $\pi_j \propto \pi_{1,j} e^{z_j}$."""
    check_prior(prior, logits.size)
    if prior is not None:
        logits = logits + jnp.log(jnp.asarray(prior, logits.dtype))
    return jax.nn.softmax(logits)


def prior_or_uniform(prior: Prior, actions: int) -> Vector:
    """Return the prior, by default the uniform distribution."""
    check_prior(prior, actions)
    if prior is None:
        return jnp.ones(actions) / actions
    return jnp.asarray(prior, float)


def prior_bits(prior: Prior, actions: int) -> float:
    r"""Return $\max_j \ln(1/\pi_{1,j})$: $\ln d$ for the uniform prior, infinite if the prior excludes an action."""
    check_prior(prior, actions)
    if prior is None:
        return float(np.log(actions))
    with np.errstate(divide="ignore"):
        return float(-np.log(np.min(prior)))


class Wrapper(Learner):
    """A learner that plays through a `base`, a learner or its spec."""

    base: Learner = eqx.field(
        converter=lambda base: parse_learner(base) if isinstance(base, str) else base
    )

    def __check_init__(self) -> None:
        checks.instance("base", self.base, Learner, "a learner")
        if not isinstance(self.base.domain, Simplex):
            raise ValueError(
                f"base must play on the simplex, but {self.base} plays on the {self.base.domain.name}"
            )

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> State:
        return self.base.init(actions, rounds, key=key)


class Reduction(Wrapper):
    """A wrapper around a base that learns from loss vectors and can be traced."""

    def __check_init__(self) -> None:
        if isinstance(self.base, BanditLearner):
            raise ValueError(
                f"base must learn from loss vectors, but {self.base} learns from drawn actions"
            )
        if isinstance(self.base, HostLearner):
            raise ValueError(f"base must be traceable by jax, but {self.base} runs in Python")


def spec(x: Any) -> str:
    """Return the spec of a learner, step size schedule, domain or game; `repr` shows all of its fields.

    >>> from regrax.learners import BlumMansour, Hedge
    >>> spec(BlumMansour(Hedge(0.5))), Hedge(0.5)
    ('blum_mansour(hedge(0.5))', Hedge(step_size=0.5))
    """
    return str(x)


def fields_text(module: Any) -> str:
    """Format a module as `name(argument, ...)`, omitting trailing arguments with default values."""
    arguments = []
    for field in reversed(dataclasses.fields(module)):
        value = getattr(module, field.name)
        is_default = type(value) is type(field.default) and value == field.default
        if field.init and (arguments or not is_default):
            arguments.insert(0, _argument_text(value))
    return f"{name_of(type(module))}({', '.join(arguments)})"


def _argument_text(value: Any) -> str:
    if isinstance(value, str | bool):
        return json.dumps(value)
    if isinstance(value, int | float) or not hasattr(value, "shape"):
        return str(value)
    if not checks.is_concrete(value):
        return "traced"
    return f"[{', '.join(str(number) for number in np.ravel(value))}]"


def where(condition: Bool[Array, ""], yes: State, no: State) -> State:
    """Return the state `yes` if the condition is true, otherwise `no`."""
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), yes, no)


class Sum(NamedTuple):
    r"""A compensated sum $\sum_t x_t$: ten million float32 terms keep six digits.

    >>> import jax.numpy as jnp
    >>> total = Sum.zeros(1).add(jnp.array([1e8]))
    >>> for _ in range(3):
    ...     total = total.add(jnp.array([3.0]))
    >>> (total.value - 1e8).tolist()
    [8.0]

    Reference: Kahan (1965), Pracniques: further remarks on reducing truncation errors.
    """

    pair: Float[Array, "2 *d"]
    """The sum, and its excess due to rounding. In two arrays, each would be copied in every round of a loop."""

    @classmethod
    def zeros(cls, *shape: int, dtype: Any = float) -> "Sum":
        """Return the empty sum."""
        return cls(jnp.zeros((2, *shape), dtype))

    @property
    def value(self) -> Float[Array, "*d"]:
        """The sum of all terms, rounded."""
        return self.pair[0]

    def add(self, term: Float[Array, "*d"]) -> "Sum":
        """Add a term."""
        value, excess = self.pair
        corrected = term - excess
        total = value + corrected
        return Sum(jnp.stack([total, (total - value) - corrected]))

    def clipped(self) -> "Sum":
        r"""Return $\max(\cdot, 0)$, entry by entry."""
        return Sum(jnp.where(self.value[None] < 0, 0, self.pair))


class Cumulative(NamedTuple):
    """State of a learner that depends only on the sum of past losses."""

    losses: Sum  # S_{t-1} up to a constant
    round: Integer  # t - 1

    @property
    def total(self) -> Vector:
        """Sum of past losses, $S_{t-1}$ up to a constant."""
        return self.losses.value

    def add(self, loss: Vector) -> "Cumulative":
        """Add a round."""
        return Cumulative(self.losses.add(loss), self.round + 1)


Count = int | Int[Array, "*n"]
"""Number of rounds played."""

prior_field: Any = partial(eqx.field, converter=as_prior, default=None)
"""Field for the prior; the default, None, means the uniform distribution."""


class SumLearner(Learner):
    r"""A learner whose policy follows from $S_{t-1} = \sum_{s<t} \ell_s$ and $t$."""

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Cumulative:
        return Cumulative(Sum.zeros(actions), jnp.zeros((), int))

    @abstractmethod
    def policy_from_sums(self, sums: Vector, round: Count) -> Vector:
        r"""Return the policy $\pi_t$ from $S_{t-1}$ after `round` $= t - 1$ rounds."""

    def policy(self, state: Cumulative) -> Vector:
        return self.policy_from_sums(state.total, state.round)

    def update(self, state: Cumulative, feedback: Vector) -> Cumulative:
        return state.add(feedback)


Scalar = float | int | Number
Numbers = Int[Array, "*T"] | Int[np.ndarray, "*T"]
Values = Float[Array, "*T"] | Float[np.ndarray, "*T"]


class Schedule(eqx.Module):
    """A step size for every round, counted from 0; the result is a NumPy or a JAX array, like the argument."""

    @abstractmethod
    def __call__(self, round_: Numbers) -> Values:
        """Return the step size of round `round_ + 1`."""

    def __str__(self) -> str:
        return fields_text(self)


@register("argument", "inverse_sqrt(0.5)")
class InverseSqrt(Schedule):
    r"""The step size $k_t = c / \sqrt{t}$, which needs no horizon.

    >>> import jax.numpy as jnp
    >>> InverseSqrt(1.0)(jnp.array([0, 3])).tolist()
    [1.0, 0.5]
    """

    scale: Scalar = eqx.field(converter=checks.as_float)

    def __check_init__(self) -> None:
        check_number("scale", self.scale)

    def __call__(self, round_: Numbers) -> Values:
        xp: Any = round_.__array_namespace__()
        return self.scale / xp.sqrt(round_.astype(float) + 1)


@register("argument", "per_round(0.5, 0.4)")
class PerRound(Schedule):
    r"""A list of step sizes $k_1, \dots, k_n$; rounds past the end use the last.

    >>> import jax.numpy as jnp
    >>> PerRound([0.5, 0.25])(jnp.array([0, 1, 2])).tolist()
    [0.5, 0.25, 0.25]
    """

    step_sizes: Values

    def __init__(self, *step_sizes: Scalar | list[float] | Values) -> None:
        values: Any = step_sizes
        if len(step_sizes) == 1 and np.ndim(step_sizes[0]) == 1:
            values = step_sizes[0]
        self.step_sizes = values if hasattr(values, "dtype") else np.array(values, float)

    def __check_init__(self) -> None:
        checks.shape("step_sizes", self.step_sizes, "(n,), n >= 1", np.size(self.step_sizes) > 0)
        checks.positive("step_sizes", self.step_sizes)

    def __str__(self) -> str:
        return fields_text(self).replace("[", "").replace("]", "")

    def __call__(self, round_: Numbers) -> Values:
        xp: Any = round_.__array_namespace__()
        return xp.asarray(self.step_sizes, float)[xp.minimum(round_, len(self.step_sizes) - 1)]


Step = Scalar | Schedule


def as_step(step_size: Any) -> Any:
    """Convert a constant step size to a float; return a schedule unchanged."""
    return step_size if isinstance(step_size, Schedule) else checks.as_float(step_size)


def check_number(name: str, value: Any) -> None:
    """Raise unless a setting is a positive number, or an array with one per run."""
    if isinstance(value, list | tuple):
        raise ValueError(
            f"{name} must be a number, got a list (per_round takes one step per round)"
        )
    checks.positive(name, value)


class StepLearner(Learner):
    """A learner with a step size, which is a positive number or a schedule."""

    step_size: Step = eqx.field(converter=as_step)

    def __check_init__(self) -> None:
        if not isinstance(self.step_size, Schedule):
            check_number("step_size", self.step_size)

    def step_at(self, round_: Count) -> Any:
        """Return the step size of a round, counted from 0."""
        if isinstance(self.step_size, Schedule):
            return self.step_size(jnp.asarray(round_))
        return self.step_size


def step_bound(
    step_size: Step, rounds: Rounds, distance: float, variance: float, extra: Any = 0.0
) -> Bound:
    r"""Return $D / k_T + c \sum_{t \le T} k_t + e$ for every $T$ in `rounds`, or None if the step size ever grows.

    Nearly all bounds of learners with a step size have this form.

    Args:
        step_size: the steps $k_t$.
        rounds: the numbers of rounds $T$.
        distance: $D$, from the first policy to the furthest; no bound holds if it is infinite.
        variance: $c$, the cost of a step.
        extra: $e$.
    """
    if not np.isfinite(distance):
        return None
    if not isinstance(step_size, Schedule):
        constant = float(step_size)
        return distance / constant + variance * (constant * rounds) + extra
    steps = np.asarray(step_size(np.arange(rounds.max())), float)
    if np.any(np.diff(steps) > 0):
        return None
    return distance / steps[rounds - 1] + variance * np.cumsum(steps)[rounds - 1] + extra
