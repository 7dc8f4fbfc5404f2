r"""Training runs: their settings, and training in a folder, with states saved so that an interrupted run can resume.

    DIR/training.json          the settings
    DIR/state.safetensors      the latest state; removed when the run is finished
    DIR/metrics.jsonl          one line per report: step, each seed's mean loss since the previous line, seconds
    DIR/seed-I.safetensors     the trained model of seed I with its settings and measurements (`regrax.checkpoints`)

The random draws of seed $I$ depend only on $I$ and the step. So a run that is killed and resumed is bit-identical to an
uninterrupted run, and the first seeds of a larger run match those of a smaller one. With several processes, only the
first reads and writes the folder and sends its contents to the others, so a run can resume with a different number of
processes.
"""

import contextlib
import inspect
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import msgspec
import numpy as np
from jaxtyping import Array, Key, UInt32

from regrax import _checks as checks, attention, training
from regrax._files import write_whole
from regrax.attention import MODELS, TrainableLearner
from regrax.checkpoints import (
    file_of,
    fill,
    pack,
    parse_about,
    read_contents,
    read_whole,
    save_model,
    unpack_model,
)
from regrax.experiments.pool import OnProgress, Progress, ignore
from regrax.experiments.store import Store
from regrax.sharding import Devices, from_first, is_first
from regrax.specs import parse_distribution, parse_feedback
from regrax.training import (
    Objective,
    Report,
    TrainingDiverged,
    TrainingState,
    adam,
    evaluate,
    fit,
    fit_step_size,
    start,
)

__all__ = [
    "Measured",
    "TrainConfig",
    "Trained",
    "load_trained",
    "measure",
    "save_trained",
    "train",
]

BUILT_IN: dict[str, type[TrainableLearner]] = {
    "linear": attention.LinearAttention,
    "full": attention.FullLinearAttention,
    "swap": attention.SwapAttention,
    "transformer": attention.Transformer,
}
LIMITS = {
    "actions": (2, 10_000),
    "horizon": (1, 1_000_000),
    "layers": (1, 1000),
    "heads": (1, 1000),
    "width": (1, 100_000),
    "steps": (1, 10**9),
    "batch": (1, 2**24),
    "seeds": (1, 10_000),
    "first_seed": (0, 2**32 - 1),
    "sequences": (2, 10**9),
}
"""Smallest and largest value of each size, because settings files may be untrusted."""
SINGLE_LAYERS = ("linear", "full")
DEEP = ("layers", "heads", "width")
"""Settings that apply only to the transformer."""
MEASURING_SEED = 2**31  # all models are measured on the same sequences
LOSS_SEQUENCES = 10_000  # for measuring the loss, unless training used fewer
STEP_SEQUENCES = 4096  # maximum number for fitting the nearest step
COPIES = 6  # of the parameters: model, average, Adam's two moments, gradient, update
STATE = "state.safetensors"
LAYOUT = 2
"""Version of the state layout: 1 stores the moments of regrax's own optimizer, 2 those of optax."""

Seeds = UInt32[np.ndarray, "seeds"]
ObjectiveName = Literal["regret", "hindsight", "hindsight-mean", "swap", "swap-closed"]
Operator = Literal["softmax", "ball"]
Surrogate = Literal["square", "positive", "positive-square", "softplus", "identity"]


@dataclass(frozen=True)
class TrainConfig:
    """Settings of a training run; None means the model's default.

    Args:
        model: linear or full (a single layer), swap (the swap architecture), transformer, or a model of your own.
        actions: Number of actions d.
        horizon: Rounds T per loss sequence.
        objective: Loss to minimise; by default the regret loss (swap regret on Gaussian blocks for the swap model).
        operator: Output of a single layer: softmax on the simplex, or the L2 ball (identity in training).
        layers: Number of transformer layers.
        heads: Attention heads per transformer layer; must divide the width.
        width: Width of the transformer's residual stream.
        distribution: Loss distribution: gaussian, biased-gaussian, rademacher, student-t(5.0), mixture(...), ...
        feedback: Feedback on the losses: delayed(2) or bandit; by default full and immediate.
        surrogate: Function h in the objective E[h(R)].
        steps: Number of Adam steps; by default enough to reach the optimum.
        batch: Loss sequences per step.
        rate: Peak learning rate.
        seeds: Number of models to train simultaneously.
        first_seed: Seed of the first model.
        sequences: Number of fresh loss sequences to measure a model with; by default 10,000, or as many as in training.

    >>> TrainConfig("swap", actions=3, horizon=20).objective_name
    'swap'
    """

    model: str
    actions: int = 3
    horizon: int = 20
    objective: ObjectiveName | None = None
    operator: Operator = "softmax"
    layers: int = 2
    heads: int = 4
    width: int = 32
    distribution: str = "gaussian"
    feedback: str | None = None
    surrogate: Surrogate = "square"
    steps: int | None = None
    batch: int | None = None
    rate: float | None = None
    seeds: int = 1
    first_seed: int = 0
    sequences: int | None = None

    @property
    def objective_name(self) -> str:
        """Name of the objective, which depends on the model by default."""
        if self.objective is not None:
            return self.objective
        return "swap" if self.model == "swap" else "regret"

    def __post_init__(self) -> None:
        own = [name for name, kind in MODELS.items() if not kind.__module__.startswith("regrax.")]
        choices = {
            "model": (*BUILT_IN, *own),
            "objective": get_args(ObjectiveName),
            "operator": get_args(Operator),
            "surrogate": get_args(Surrogate),
        }
        for name, names in choices.items():
            value = getattr(self, name)
            if (name, value) != ("objective", None):
                checks.one_of(name, value, names)
        for name, (least, most) in LIMITS.items():
            if getattr(self, name) is not None:
                checks.at_least(name, getattr(self, name), least, most)
        if self.rate is not None:
            checks.positive("rate", self.rate)
        self._check_combination()

    def _check_combination(self) -> None:
        name = self.objective_name
        if self.operator != "softmax" and self.model not in SINGLE_LAYERS:
            raise ValueError(
                f"operator must be softmax for the {self.model} model, got {self.operator}"
            )
        if self.model == "swap" and name == "regret":
            raise ValueError(
                "objective of the swap model must be swap, swap-closed, hindsight or hindsight-mean, got regret"
            )
        if self.model != "swap" and name.startswith("swap"):
            raise ValueError(
                f"objective of the {self.model} model must be regret, hindsight or hindsight-mean, got {name}"
            )
        parse_distribution(self.distribution)
        if name == "swap" and self.distribution != "gaussian":
            raise ValueError(
                "distribution must be gaussian for the objective swap, which draws Gaussian blocks, "
                f"got {self.distribution}; swap-closed accepts any distribution"
            )
        if self.feedback is not None:
            parse_feedback(self.feedback)
            if name != "regret":
                raise ValueError(f"feedback needs the objective regret, got objective {name}")


def taken_settings(config: TrainConfig) -> list[str]:
    """Return the settings of the transformer that the model takes, too."""
    kind = BUILT_IN.get(config.model) or MODELS[config.model]
    return [name for name in DEEP if name in inspect.signature(kind).parameters]


@dataclass(frozen=True)
class Measured:
    """Measurements of a trained model.

    Attributes:
        loss: Population loss.
        loss_error: Standard error of the loss.
        optimal_loss: Lower bound on the loss of any policy, or None if unknown.
        step_size: Step of the nearest algorithm.
        mse: Mean squared difference between the model's policies and those of the nearest algorithm.
        total_variation: Mean total variation between them.
    """

    loss: float
    loss_error: float
    optimal_loss: float | None
    step_size: float
    mse: float
    total_variation: float


class Trained(NamedTuple):
    """A trained model and its measurements.

    Attributes:
        model: Model after training.
        measured: Measurements of the model.
        seconds: Training time in seconds.
        operations: Floating-point operations in training, or None if not counted.
    """

    model: TrainableLearner
    measured: Measured
    seconds: float
    operations: int | None = None


class _Numbers(TypedDict):
    measured: Measured
    seconds: float
    operations: int | None


def build_objective(config: TrainConfig) -> Objective:
    """Build the objective from the settings.

    >>> build_objective(TrainConfig("linear", actions=3, horizon=20)).horizon
    20
    """
    name = config.objective_name
    sizes = (config.actions, config.horizon)
    losses = parse_distribution(config.distribution)
    if name == "regret":
        feedback = None if config.feedback is None else parse_feedback(config.feedback)
        return training.RegretObjective(
            *sizes, losses, surrogate=config.surrogate, feedback=feedback
        )
    if name == "swap":
        return training.SwapRegretObjective(*sizes, surrogate=config.surrogate)
    if name == "swap-closed":
        return training.ClosedLoopSwapObjective(*sizes, losses, surrogate=config.surrogate)
    return training.HindsightObjective(
        *sizes, losses, conditional=name == "hindsight-mean", swap=config.model == "swap"
    )


def _build_model(config: TrainConfig, key: Key[Array, ""]) -> TrainableLearner:
    kind = BUILT_IN.get(config.model) or MODELS[config.model]
    settings = {name: getattr(config, name) for name in taken_settings(config)}
    if config.model in SINGLE_LAYERS:
        settings["operator"] = config.operator
    return kind(config.actions, key=key, **settings)  # pyright: ignore[reportCallIssue]


def build_models(config: TrainConfig, seeds: Seeds) -> TrainableLearner:
    """Build models with random parameters, stacked along a leading seed axis."""
    return jax.jit(jax.vmap(partial(_build_model, config)))(_keys(seeds, 0))


def draw_keys(seeds: Seeds) -> Key[Array, "seeds"]:
    """Return, for each seed, the key that draws its training loss sequences."""
    return _keys(seeds, 1)


def _keys(seeds: Seeds, purpose: int) -> Key[Array, "seeds"]:
    return jax.vmap(lambda seed: jax.random.fold_in(jax.random.key(seed), purpose))(seeds)


def model_shapes(config: TrainConfig) -> TrainableLearner:
    """Return the model with shapes instead of arrays; raise ValueError if training would not fit in memory."""
    shapes = eqx.filter_eval_shape(partial(_build_model, config), jax.eval_shape(jax.random.key, 0))
    parameters = sum(leaf.size for leaf in jax.tree.leaves(shapes))
    losses = config.horizon * config.actions * min(config.batch or 64, 64)
    hint = "choose fewer actions, rounds or seeds, or a smaller transformer"
    needed = 4 * COPIES * config.seeds * (parameters + losses)
    checks.fits_in_memory("this training", needed, hint)
    return shapes


def measure(
    model: TrainableLearner,
    config: TrainConfig,
    *,
    key: Key[Array, ""] | None = None,
    devices: Devices | None = None,
) -> Measured:
    """Measure a model on fresh sequences from its training distribution.

    Args:
        model: Trained model.
        config: Settings of its training run.
        key: Random key of the sequences; by default the same for all models.
        devices: Devices that share the sequences; by default one.

    >>> from regrax.attention import LinearAttention
    >>> config = TrainConfig("linear", actions=2, horizon=5, sequences=200)
    >>> measure(LinearAttention.hedge(2, 0.3), config).step_size
    0.3000
    """
    checks.instance("model", model, TrainableLearner, "a trained model")
    checks.instance("config", config, TrainConfig, "a TrainConfig")
    if key is None:
        key = jax.random.key(MEASURING_SEED)
    objective = build_objective(config)
    usual = objective.recipe(model)
    batch = config.batch or usual.batch
    drawn = max(2, (config.steps or usual.steps) * batch)
    count = config.sequences or min(LOSS_SEQUENCES, drawn)
    loss, error, optimal = evaluate(model, objective, key=key, sequences=count, devices=devices)
    near = fit_step_size(model, config.horizon, key=key, sequences=min(STEP_SEQUENCES, count))
    return Measured(loss, error, optimal, near.step, near.mse, near.total_variation)


def save_trained(path: Path, config: TrainConfig, trained: Trained) -> None:
    """Write a checkpoint with a model, its settings and its measurements."""
    numbers = trained._asdict()
    model = numbers.pop("model")
    save_model(path, model, config=asdict(config), **msgspec.to_builtins(numbers))


def load_trained(path: Path, config: TrainConfig, data: bytes | None = None) -> Trained:
    """Read a checkpoint written by `save_trained`; raise ValueError if its settings differ.

    Args:
        path: Path of the checkpoint.
        config: Settings that it must have.
        data: Contents of the file, if already read.
    """
    file = file_of(path)
    model, about = unpack_model(read_whole(file) if data is None else data, file)
    stored = about.get("config")
    if not isinstance(stored, dict):
        raise ValueError(f"{file} must be a checkpoint from a training run, but it has no settings")
    for name, value in asdict(config).items():
        if name not in stored or stored[name] != value:
            raise ValueError(
                f"{file} must contain a model with {name} = {value!r}, got {stored.get(name)!r}"
            )
    return Trained(model, **parse_about(file, about, _Numbers))


def train(
    config: TrainConfig,
    folder: str | Path,
    *,
    on_progress: OnProgress = ignore,
    save_every: float = 10.0,
    resume: bool = True,
    devices: Devices | None = None,
) -> list[Trained]:
    """Train one model per seed in `folder`, or read the models if the run is finished.

    An interrupted run resumes where it stopped. Raises ValueError if the folder contains a run with different settings,
    or if another process is using it.

    Args:
        config: Settings of the run.
        folder: Folder for the run's files.
        on_progress: Called about a hundred times.
        save_every: Minimum number of seconds between two saved states; the state is also saved at the end.
        resume: If False, raise ValueError if the folder already contains a run.
        devices: Devices that share each batch; with several processes, each must pass the devices of all processes.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> small = TrainConfig("linear", actions=2, horizon=5, steps=20, batch=64, seeds=2, sequences=200)
    >>> [trained.model.actions for trained in train(small, folder)]
    [2, 2]
    >>> sorted(path.name for path in Path(folder).glob("*.safetensors"))
    ['seed-0.safetensors', 'seed-1.safetensors']
    """
    checks.instance("config", config, TrainConfig, "a TrainConfig")
    settings = asdict(config)
    shapes = model_shapes(config)
    objective = build_objective(config)
    usual = objective.recipe(shapes)
    lower_bound = objective.optimal_loss(shapes)
    steps = config.steps or usual.steps
    optimizer = adam(config.rate or usual.rate, steps)
    seeds = range(config.first_seed, config.first_seed + config.seeds)
    store = Store(folder)
    state_file = store.folder / STATE
    configs = {
        store.folder / f"seed-{seed}.safetensors": replace(config, seeds=1, first_seed=seed)
        for seed in seeds
    }
    position = _Position(0, 0.0, LAYOUT)
    began = time.monotonic()
    saved = began

    def lock_and_read(stack: contextlib.ExitStack) -> bytes:
        """Lock the folder; return the settings and all models, or the saved state if the run is not finished."""
        stack.enter_context(store.locked(settings, resume))
        files = list(configs)
        if all(file.exists() for file in files):
            state_file.unlink(missing_ok=True)  # left by a process killed at the very end
        else:
            files = [state_file] if state_file.exists() else []
        contents = {file.name: read_whole(file) for file in files}
        return msgspec.msgpack.encode((settings, contents))

    def for_seeds(build: Callable[[Seeds], Any]) -> Any:
        """Build for all seeds, without the seed axis if there is only one: a batch of one trains half as fast."""
        built = build(np.array(seeds, np.uint32))
        if config.seeds == 1:
            return jax.jit(partial(jax.tree.map, lambda leaf: leaf[0]))(built)
        return built

    def initial_state(key: Array) -> TrainingState:
        return start(for_seeds(partial(build_models, config)), optimizer, key)

    def elapsed() -> float:
        return position.seconds + time.monotonic() - began

    def show(step: int, note: str = "") -> None:
        on_progress(Progress(f"train {config.model}", step, steps, note))

    def save(state: TrainingState) -> None:
        nonlocal saved
        step = int(np.asarray(state.step).max())
        about = msgspec.to_builtins(_Position(step, elapsed(), LAYOUT))
        write_whole(state_file, pack(state, about))
        saved = time.monotonic()

    def on_report(report: Report) -> None:
        """Write a line of metrics, save the state from time to time, and show progress."""
        if not is_first():
            return
        losses = np.atleast_1d(np.asarray(report.losses, float).mean(0))
        seconds = round(elapsed(), 3)
        store.log({"step": report.step, "loss": losses.tolist(), "seconds": seconds})
        if report.step == report.steps or time.monotonic() - saved >= save_every:
            save(report.state)
        loss = float(losses.mean())
        speed = (report.step - position.step) / (time.monotonic() - began)
        above = "" if lower_bound is None else f" ({loss / lower_bound - 1:+.1%} from the optimum)"
        show(report.step, f"loss {loss:.3f}{above}, {speed:.0f} steps/s")

    with contextlib.ExitStack() as stack:
        packed = from_first(lambda: lock_and_read(stack))
        first, files = msgspec.msgpack.decode(packed, type=tuple[dict[str, Any], dict[str, bytes]])
        for name, value in settings.items():
            if first[name] != value:
                raise ValueError(
                    f"all processes must have the same settings, got {name} = {value!r} here and {first[name]!r} "
                    "in the first"
                )
        if files and STATE not in files:
            return [load_trained(file, own, files[file.name]) for file, own in configs.items()]
        key = for_seeds(draw_keys)
        if files:
            template = eqx.filter_eval_shape(initial_state, key)
            about, arrays = read_contents(files[STATE], state_file)
            position = parse_about(state_file, about, _Position)
            if position.layout != LAYOUT:
                raise ValueError(
                    f"{state_file} was written by regrax 0.1.0 and cannot be resumed by later versions: "
                    "remove it to train from scratch, or finish the run with regrax 0.1.0"
                )
            state = fill(template, arrays, state_file)
        else:
            state = initial_state(key)
        if is_first():
            store.cut("step", position.step)
        show(position.step)
        try:
            fitted: Any = fit(
                state.model,
                objective,
                key=key,
                steps=steps,
                batch=config.batch,
                optimizer=optimizer,
                every=max(1, steps // 100),
                callback=on_report,
                state=state,
                devices=devices,
            ).model
        except TrainingDiverged as error:
            if is_first():
                save(error.state)
            raise
        alone = [fitted] if config.seeds == 1 else unstack(fitted)
        measured = [measure(model, config, devices=devices) for model in alone]
        seconds = elapsed() / len(alone)
        trained = [Trained(*pair, seconds) for pair in zip(alone, measured, strict=True)]
        if is_first():
            for (file, own), model in zip(configs.items(), trained, strict=True):
                save_trained(file, own, model)
            state_file.unlink(missing_ok=True)
        return trained


def unstack(models: TrainableLearner) -> list[TrainableLearner]:
    """Split models stacked along a leading axis."""
    arrays = jax.tree.map(np.asarray, models)
    count = len(jax.tree.leaves(arrays)[0])
    return [jax.tree.map(lambda leaf, i=i: jnp.asarray(leaf[i]), arrays) for i in range(count)]


class _Position(msgspec.Struct):
    """Step, elapsed seconds and layout version of a saved state."""

    step: int
    seconds: float
    layout: int = 1
