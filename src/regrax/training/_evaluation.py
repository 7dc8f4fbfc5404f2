r"""How good a trained model is: its population loss, and the step of the algorithm it has become."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int, PRNGKeyArray

from regrax import _checks as checks
from regrax.attention import SwapAttention, TrainableLearner
from regrax.domains import Ball, Simplex
from regrax.learners import Learner
from regrax.sharding import Devices, each, everywhere, mesh_of
from regrax.specs import as_learner
from regrax.theory import optimal_loss
from regrax.training._distributions import Batch, Gaussian
from regrax.training._hindsight import HindsightObjective, best_loss, by_action
from regrax.training._objectives import Objective, RegretObjective, policies, sums_before
from regrax.training._swap_objectives import SwapRegretObjective, columns, draw_blocks

SEQUENCES_PER_CHUNK = 1000  # at most
MIN_CHUNKS = 20  # of whose spread the standard error is made
MAX_STEP = 5.0  # of the steps that a model is compared with
GRID_STEPS, GRID_SEQUENCES, GAUSS_NEWTON_STEPS = 101, 256, 20


class Evaluation(NamedTuple):
    """A population loss, its standard error, and the least that any policy can have, where that is known."""

    loss: float
    error: float
    optimal_loss: float | None


class StepFit(NamedTuple):
    r"""The step of the algorithm nearest to a model and how near they are.

    Attributes:
        step: $k$ of the algorithm nearest to the model.
        mse: mean squared difference of the policies, over sequences, rounds and actions.
        l1: mean over sequences and rounds of $\|\pi_t - \pi_t(k)\|_1$.
        total_variation: half of `l1`.
        per_action: `l1` divided by $d$.
    """

    step: float
    mse: float
    l1: float
    total_variation: float
    per_action: float


def evaluate(
    model: Learner | str,
    objective: Objective,
    *,
    key: PRNGKeyArray,
    sequences: int = 100_000,
    devices: Devices | None = None,
) -> Evaluation:
    r"""The population loss of `model` on fresh sequences.

    For squared regret on standard Gaussian losses it is $L^* + \sum_t E\|\pi_t - \pi^*_t(S_{t-1})\|^2$, whose noise is
    a hundredth of the plain average's; for any other objective the plain average.

    Args:
        model: a learner, or its spec.
        objective: whose loss is measured.
        key: of the random numbers; the same key gives the same sequences.
        sequences: how many, an integer >= 2.
        devices: that share the sequences, as in `jax.devices()`; by default one.

    >>> import jax
    >>> from regrax.training import RegretObjective
    >>> evaluate("hedge(0.4479049)", RegretObjective(3, 20), key=jax.random.key(0), sequences=2000).loss
    14.79
    """
    checks.at_least("sequences", sequences, 2)
    checks.instance("objective", objective, Objective, "an objective")
    checks.random_key(key)
    model = as_learner(model)
    exact = _exact(model, objective)
    measured = objective if exact is None else exact
    chunk = min(SEQUENCES_PER_CHUNK, max(1, sequences // MIN_CHUNKS))
    mesh = mesh_of(devices)
    placed = everywhere((model, measured, key), mesh)
    parts = np.asarray(_evaluate(*placed, sequences // chunk, chunk, mesh), float)
    error = float(parts.std(ddof=1) / len(parts) ** 0.5)
    return Evaluation(float(parts.mean()), error, least_loss(model, objective))


def least_loss(model: Learner, objective: Objective) -> float | None:
    """The least population loss that any policy on the model's set can have, where it is known exactly, else None.

    >>> from regrax.learners import Hedge
    >>> from regrax.training import RegretObjective
    >>> least_loss(Hedge(0.4), RegretObjective(3, 20))
    14.6276164
    """
    if not _is_standard(objective):
        return None
    if isinstance(model.domain, Simplex):
        return best_loss(
            objective.actions, objective.horizon, objective.actions if _is_swap(objective) else 1
        )
    own_projection = getattr(model, "projection", None) is not None
    if (
        own_projection
        or not isinstance(model.domain, Ball)
        or not isinstance(objective, RegretObjective)
    ):
        return None
    radius = float(model.domain.radius)
    return optimal_loss(objective.actions, objective.horizon, operator="ball", radius=radius)


def _exact(model: Learner, objective: Objective) -> HindsightObjective | None:
    """The conditional-mean form of an objective, if it is squared regret on standard Gaussian losses."""
    if not isinstance(model.domain, Simplex) or not _is_standard(objective):
        return None
    swap = _is_swap(objective)
    return HindsightObjective(objective.actions, objective.horizon, conditional=True, swap=swap)


def _is_swap(objective: Objective) -> bool:
    return isinstance(objective, SwapRegretObjective) or getattr(objective, "swap", False)


def _is_standard(objective: Objective) -> bool:
    """Whether it is, in expectation, squared regret on standard Gaussian losses seen in full."""
    standard = eqx.tree_equal(getattr(objective, "distribution", Gaussian()), Gaussian())
    plain = {
        RegretObjective: lambda o: (
            o.surrogate == "square" and o.feedback is None and o.group_size == 1
        ),
        SwapRegretObjective: lambda o: o.surrogate == "square",
        HindsightObjective: lambda o: True,
    }.get(type(objective), lambda o: False)
    return bool(standard) and plain(objective)


@eqx.filter_jit
def _evaluate(
    model: Learner,
    objective: Objective,
    key: PRNGKeyArray,
    chunks: int,
    chunk: int,
    mesh: Mesh | None,
) -> Float[Array, "chunks"]:
    def loss(shared: tuple, index: Int[Array, ""]) -> Float[Array, ""]:
        model, objective, key = shared
        return objective.loss(model, objective.draw(chunk, key=jax.random.fold_in(key, index)))

    return each(loss, (model, objective, key), chunks, mesh)


def fit_step_size(
    model: TrainableLearner, horizon: int, *, key: PRNGKeyArray, sequences: int = 4096
) -> StepFit:
    r"""The step $k$ in $[0, 5]$ of the FTRL nearest to a model: least mean of $\|\pi_t - \pi_t(k)\|^2$.

    The mean is over fresh Gaussian sequences and rounds. $\pi_t(k) = \mathrm{softmax}(-k S_{t-1})$; on the ball
    $-k S_{t-1}$, what training sees. For the swap architecture every head is compared with its own block's sum.

    Args:
        model: to compare with FTRL.
        horizon: rounds $T$ per sequence, an integer >= 1.
        key: of the random numbers; the same key gives the same sequences.
        sequences: how many to compare on.

    >>> import jax
    >>> from regrax.attention import LinearAttention
    >>> fit_step_size(LinearAttention.hedge(2, 0.3), 5, key=jax.random.key(0), sequences=64).step
    0.3000
    """
    checks.at_least("horizon", horizon, 1)
    checks.at_least("sequences", sequences, 1)
    checks.instance("model", model, TrainableLearner, "a model with parameters")
    checks.random_key(key)
    step, *errors = _fit_step(model, horizon, key, sequences)
    mse, l1 = (float(error) for error in errors)
    return StepFit(float(step), mse, l1, l1 / 2, l1 / model.actions)


@eqx.filter_jit
def _fit_step(model: TrainableLearner, horizon: int, key: PRNGKeyArray, sequences: int) -> tuple:
    played, losses = _held_out(model, horizon, key, sequences)
    before, respond = sums_before(losses), _response(model)

    def gap(step: Float[Array, ""], first: int | None = None) -> Float[Array, "T d m"]:
        return respond(-step * before[..., :first]) - played[..., :first]

    def improve(step: Float[Array, ""], _: None) -> tuple:  # Gauss-Newton: the residual is small
        residual, slope = jax.jvp(gap, (step,), (jnp.ones_like(step),))
        moved = step - jnp.vdot(slope, residual) / jnp.vdot(slope, slope)
        return jnp.clip(moved, 0, MAX_STEP), None

    grid = jnp.linspace(0, MAX_STEP, GRID_STEPS)
    start = grid[jnp.argmin(lax.map(lambda step: jnp.mean(gap(step, GRID_SEQUENCES) ** 2), grid))]
    step, _ = lax.scan(improve, start, None, GAUSS_NEWTON_STEPS)
    error = gap(step)
    return step, jnp.mean(error**2), jnp.abs(error).sum(1).mean()


def _held_out(
    model: TrainableLearner, horizon: int, key: PRNGKeyArray, sequences: int
) -> tuple[Float[Array, "T d m"], Float[Array, "T d m"]]:
    """What a model plays on fresh Gaussian losses, and these; `m` is sequences, times heads if it has several."""
    if isinstance(model, SwapAttention):
        blocks = draw_blocks(horizon, model.actions, sequences, key)
        return by_action(columns(model, blocks)), by_action(blocks)
    losses: Batch = Gaussian().draw(horizon, model.actions, sequences, key=key)
    return policies(model, losses), losses


def _response(model: TrainableLearner):
    """From $-k S_{t-1}$ to the policy of FTRL on the model's set."""
    if isinstance(model.domain, Simplex):
        return lambda logits: jax.nn.softmax(logits, axis=1)
    return lambda logits: logits
