r"""Training in a folder: described by plain settings, kept as it goes, and continued after any interruption.

    DIR/training.json          the settings
    DIR/state.safetensors      the newest state; gone when the run is finished
    DIR/metrics.jsonl          a line per report: step, mean loss of each seed since the last line, seconds
    DIR/seed-I.safetensors     the trained model of seed I, its settings and numbers, see `regrax.checkpoints`

What seed $I$ draws depends on $I$ and the step only: a run that was killed and continued ends with the same bits as one
that was not, and the first seeds of a larger run are those of a smaller one. Of several processes only the first reads
and writes the folder, and tells the others what it holds: any number of them can continue what another number began.
"""

import contextlib
import json
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import msgspec
import numpy as np

from regrax import _checks as checks
from regrax._files import write_whole
from regrax.attention import TrainableLearner
from regrax.checkpoints import pack, parse_about, read_contents, read_whole, unpack
from regrax.experiments._progress import OnProgress, Progress, ignore
from regrax.experiments._store import RunFolder
from regrax.experiments.runs._config import TrainConfig
from regrax.experiments.runs._measure import Trained, load_trained, measure, save_trained
from regrax.sharding import Devices, from_first, is_first
from regrax.training import (
    Report,
    TrainingDiverged,
    TrainingState,
    adam,
    fit,
    start,
)

REPORTS_PER_RUN = 100
STATE = "state.safetensors"


class _Reached(msgspec.Struct):
    """How far a state is, and the version of its layout."""

    step: int
    seconds: float
    layout: int = 1


LAYOUT = 2
"""Version of the arrays in a state: 1 had the moments of an optimizer of our own, 2 has those of optax."""


def train(
    config: TrainConfig,
    folder: str | Path,
    *,
    on_progress: OnProgress = ignore,
    save_every: float = 10.0,
    resume: bool = True,
    devices: Devices | None = None,
) -> list[Trained]:
    """The trained models, one per seed: read from `folder` if they are there, else trained and measured there.

    A run that was interrupted goes on where it stopped; one with other settings is refused, as is a folder in which
    another process trains.

    Args:
        config: What to train and how.
        folder: Where it is kept.
        on_progress: Called about a hundred times.
        save_every: Seconds from one saved state to the next, at least; it is saved at the end, too.
        resume: Whether a run that the folder holds is continued; without it, it is refused.
        devices: Share every batch; with several processes each calls this with the devices of all.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> small = TrainConfig("linear", actions=2, horizon=5, steps=20, batch=64, seeds=2, sequences=200)
    >>> [one.model.actions for one in train(small, folder)]
    [2, 2]
    >>> sorted(path.name for path in Path(folder).glob("*.safetensors"))
    ['seed-0.safetensors', 'seed-1.safetensors']
    """
    checks.instance("config", config, TrainConfig, "a TrainConfig")
    check_alike(config)
    with contextlib.ExitStack() as stack:
        run = _Run(config, Path(folder), on_progress, save_every)
        held = from_first(lambda: run.open(stack, resume))
        kept = msgspec.msgpack.decode(held, type=dict[str, bytes])
        if kept and STATE not in kept:
            return run.read(kept)
        return run.finish(run.fit(run.state(kept[STATE]) if kept else None, devices), devices)


def check_alike(config: TrainConfig) -> None:
    """Raise ValueError unless this process was started with the settings of the first."""
    first = json.loads(from_first(lambda: json.dumps(asdict(config)).encode()))
    for name, value in asdict(config).items():
        if first[name] != value:
            raise ValueError(
                f"all processes must be started alike, got {name} = {value!r} here and {first[name]!r} in the first"
            )


class _Run:
    """A training on its way: the clock, the files, and `fit` between them."""

    def __init__(
        self, config: TrainConfig, folder: Path, on_progress: OnProgress, save_every: float
    ) -> None:
        shapes = config.shapes()
        objective = config.build_objective()
        usual = objective.recipe(shapes)
        self.config, self.folder, self.tell, self.save_every = (
            config,
            folder,
            on_progress,
            save_every,
        )
        self.kept = RunFolder(folder)
        seeds = range(config.first_seed, config.first_seed + config.seeds)
        self.seeds = {
            f"seed-{i}.safetensors": replace(config, seeds=1, first_seed=i) for i in seeds
        }
        self.steps = config.steps or usual.steps
        self.optimizer = adam(config.rate or usual.rate, self.steps)
        self.least = objective.optimal_loss(shapes)
        self.before, self.first = 0.0, 0  # the seconds and the steps of processes before this one
        self.saved = self.began = time.monotonic()

    def open(self, stack: contextlib.ExitStack, resume: bool) -> bytes:
        """Hold the folder, and give the files that matter: the models, or the state, or none."""
        stack.enter_context(self.kept.held(asdict(self.config), resume))
        files = [self.folder / name for name in self.seeds]
        if not all(file.exists() for file in files):
            files = [file for file in (self.folder / STATE,) if file.exists()]
            self.kept.cut("step", _reached(files[0], read_whole(files[0])).step if files else 0)
        else:
            (self.folder / STATE).unlink(missing_ok=True)  # of a process killed when all was done
        return msgspec.msgpack.encode({file.name: read_whole(file) for file in files})

    def read(self, files: dict[str, bytes]) -> list[Trained]:
        """The models of a finished run."""
        found = self.seeds.items()
        return [load_trained(self.folder / n, config, files[n]) for n, config in found]

    def state(self, data: bytes) -> TrainingState:
        """The state to go on from."""
        reached = _reached(self.folder / STATE, data)
        self.before, self.first = reached.seconds, reached.step
        seeds = self.config.all_seeds()
        template, _ = eqx.filter_eval_shape(_begin, self.config, self.optimizer, seeds)
        return unpack(data, self.folder / STATE, template)

    def begin(self) -> tuple[TrainingState, Any]:
        """The state before the first step, and the key of the draws."""
        seeds = self.config.all_seeds()
        return _begin(self.config.for_any_seed(), self.optimizer, seeds)

    def fit(self, state: TrainingState | None, devices: Devices | None) -> TrainableLearner:
        """Train to the end, from a state or from the start."""
        self._report(self.first)
        state, key = self.begin() if state is None else (state, self.config.keys(1))
        try:
            return fit(
                state.model,
                self.config.build_objective(),
                key=key,
                steps=self.steps,
                batch=self.config.batch,
                optimizer=self.optimizer,
                every=max(1, self.steps // REPORTS_PER_RUN),
                callback=self.report,
                state=state,
                devices=devices,
            ).model  # pyright: ignore[reportReturnType]
        except TrainingDiverged as error:
            if is_first():
                self.save(error.state)
            raise

    def finish(self, fitted: TrainableLearner, devices: Devices | None) -> list[Trained]:
        """Measure the models and keep them, and remove the state."""
        models = [fitted] if self.config.seeds == 1 else _unstacked(fitted, self.config.seeds)
        found = [measure(model, self.config, devices=devices) for model in models]
        share = self._seconds() / len(models)
        trained = [Trained(model, one, share) for model, one in zip(models, found, strict=True)]
        if is_first():
            for (name, config), one in zip(self.seeds.items(), trained, strict=True):
                save_trained(self.folder / name, config, one)
            (self.folder / STATE).unlink(missing_ok=True)
        return trained

    def report(self, report: Report) -> None:
        """Write a line of metrics, now and then the state, and tell who listens: in the first process."""
        if not is_first():
            return
        losses = np.atleast_1d(np.asarray(report.losses, float).mean(0))
        line = {"step": report.step, "loss": losses.tolist(), "seconds": round(self._seconds(), 3)}
        self.kept.log(line)
        last = report.step == report.steps
        if last or time.monotonic() - self.saved >= self.save_every:
            self.save(report.state)
        loss, taken = float(losses.mean()), time.monotonic() - self.began
        far = "" if self.least is None else f" ({loss / self.least - 1:+.1%} from the least)"
        rate = (report.step - self.first) / taken
        self._report(report.step, f"loss {loss:.3f}{far}, {rate:.0f} steps/s")

    def _report(self, step: int, note: str = "") -> None:
        self.tell(Progress(f"train {self.config.model}", step, self.steps, note))

    def _seconds(self) -> float:
        """How long it has been trained, interruptions left out."""
        return self.before + time.monotonic() - self.began

    def save(self, state: TrainingState) -> None:
        """Write the state in the place of the one before."""
        reached = _Reached(int(np.asarray(state.step).max()), self._seconds(), LAYOUT)
        write_whole(self.folder / STATE, pack(state, msgspec.to_builtins(reached)))
        self.saved = time.monotonic()


@eqx.filter_jit
def _begin(config: TrainConfig, optimizer: Any, seeds: Any) -> tuple[TrainingState, Any]:
    """The state before the first step and the key of the draws, as one program."""
    key = config.keys(1, seeds)
    return start(config.build_models(seeds), optimizer, key), jax.random.key_data(key)


def _unstacked(models: TrainableLearner, seeds: int) -> list[TrainableLearner]:
    """The model of each seed; taken from arrays of numpy, since indexing those of jax compiles."""
    held = jax.tree.map(np.asarray, models)
    return [jax.tree.map(lambda leaf, i=i: jnp.asarray(leaf[i]), held) for i in range(seeds)]


def _reached(file: Path, data: bytes) -> _Reached:
    reached = parse_about(file, read_contents(data, file).about, _Reached)
    if reached.layout != LAYOUT:
        raise ValueError(
            f"{file} was written by regrax 0.1.0, and later versions cannot resume it: "
            "remove it to train from the start, or finish the run with regrax 0.1.0"
        )
    return reached
