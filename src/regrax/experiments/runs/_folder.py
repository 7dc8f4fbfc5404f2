r"""Training in a folder: described by plain settings, kept as it goes, and continued after any interruption.

    DIR/training.json          the settings
    DIR/state.json             where the newest state is: DIR/state-STEP.safetensors; gone when the run is finished
    DIR/metrics.jsonl          a line a report: step, mean loss of each seed since the last line, seconds
    DIR/seed-I.safetensors     the trained model of seed I (with seed-I.json), see `regrax.checkpoints`

What seed $I$ draws depends on $I$ and the step only: a run that was killed and continued ends with the same bits as one
that was not, and the first seeds of a larger run are those of a smaller one. Of several processes only the first reads
and writes the folder, and tells the others what it holds: any number of them can continue what another number began.
"""

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

from regrax._atomic_write import write_whole
from regrax.attention import Model
from regrax.checkpoints import (
    load_model,
    pack,
    read_description,
    save_model,
    unpack,
    write_arrays,
)
from regrax.distributed import from_first, is_first
from regrax.experiments.runs._settings import Training
from regrax.sharding import Devices
from regrax.training import Report, TrainingDiverged, TrainingState, adam, fit, recipe, start

REPORTS = 100  # in a run


class Progress(NamedTuple):
    """How far a run is."""

    step: int
    steps: int
    loss: float  # mean over the seeds and the steps since the last report
    rate: float  # steps a second since this process began


def train(
    training: Training,
    folder: str | Path,
    *,
    heard: Callable[[Progress], None] = lambda _: None,
    describe: Callable[[Model], dict[str, Any]] = lambda _: {},
    save_every: float = 10.0,
    devices: Devices | None = None,
) -> list[Model]:
    """The trained models, one a seed: read from `folder` if they are there, else trained there.

    A run that was interrupted goes on where it stopped; one with other settings is refused. `describe` gives numbers
    about a model for its JSON file. `heard` is called about a hundred times; the state is saved when `save_every`
    seconds have passed since the last time, and at the end. `devices` share every batch; with several processes each
    calls this with the devices of all.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> models = train(Training("linear", actions=2, horizon=5, steps=20, batch=64, seeds=2), folder)
    >>> sorted(path.name for path in Path(folder).iterdir() if path.suffix == ".safetensors")
    ['seed-0.safetensors', 'seed-1.safetensors']
    """
    check_alike(training)
    run = _Run(training, Path(folder), heard, save_every)
    kept = run.opened()
    if isinstance(kept, Model):
        return run.apart(kept)
    models = run.apart(run.finished(kept, devices))
    share = run.seconds() / training.seeds
    for name, model in zip(run.names, models, strict=True):
        numbers = {**describe(model), "seconds": share}
        if is_first():
            save_model(run.folder / name, model, training=asdict(training), **numbers)
    if is_first():
        run.forget()
    return models


def check_alike(training: Training) -> None:
    """Raise ValueError unless this process was started with the settings of the first."""
    first = json.loads(from_first(lambda: json.dumps(asdict(training)).encode()))
    for name, value in asdict(training).items():
        if first[name] != value:
            raise ValueError(
                f"all processes must be started alike, but here {name} = {value!r} and in the first {first[name]!r}"
            )


def claim(folder: Path, training: Training) -> None:
    """Make the folder this training's own, or raise ValueError if it is another's."""
    folder.mkdir(parents=True, exist_ok=True)
    file, settings = folder / "training.json", asdict(training)
    if not file.exists():
        return write_whole(file, json.dumps(settings, indent=1).encode())
    kept = _settings(file)
    for name, value in settings.items():
        if kept.get(name, value) != value or name not in kept:
            raise ValueError(
                f"{folder} holds a training with {name} = {kept.get(name)!r}, but {value!r} was asked for: "
                "choose another folder, or the same settings"
            )
    return None


def _settings(file: Path) -> dict[str, Any]:
    try:
        kept = json.loads(file.read_bytes())
    except ValueError:
        kept = None
    if not isinstance(kept, dict):
        raise ValueError(f"{file} is damaged: it must hold the settings of a training")
    return kept


class _Run:
    """A training on its way: the clock, the files, and `fit` between them."""

    def __init__(
        self,
        training: Training,
        folder: Path,
        heard: Callable[[Progress], None],
        save_every: float,
    ) -> None:
        usual = recipe(eqx.filter_eval_shape(training.fresh))
        self.training, self.folder, self.heard, self.save_every = (
            training,
            folder,
            heard,
            save_every,
        )
        self.names = [f"seed-{training.first_seed + i}" for i in range(training.seeds)]
        self.steps = training.steps or usual.steps
        self.optimizer = adam(training.rate or usual.rate, self.steps)
        self.before, self.first = 0.0, 0  # the seconds and the steps of processes before this one
        self.saved = self.began = time.monotonic()

    def seconds(self) -> float:
        """How long it has been trained, interruptions left out."""
        return self.before + time.monotonic() - self.began

    def apart(self, stacked: Model) -> list[Model]:
        """The model of each seed."""
        seeds = range(self.training.seeds)
        return [jax.tree.map(lambda leaf, i=i: leaf[i], stacked) for i in seeds]

    def finished(self, state: TrainingState | None, devices: Devices | None) -> Model:
        """Train to the end, from a state or from the start."""
        try:
            return fit(
                self.training.fresh(),
                self.training.made_objective(),
                key=self.training.keys(1),
                steps=self.steps,
                batch=self.training.batch,
                optimizer=self.optimizer,
                every=max(1, self.steps // REPORTS),
                callback=self.report,
                state=state,
                devices=devices,
            ).model  # pyright: ignore[reportReturnType]
        except TrainingDiverged as error:
            if is_first():
                self.save(error.state)
            raise

    def opened(self) -> TrainingState | Model | None:
        """What the folder holds: the models, stacked, a state to go on from, or nothing."""
        header, _, data = from_first(self._contents).partition(b"\n")
        about = json.loads(header)
        if not about:
            return None
        if "finished" in about:
            template = eqx.filter_eval_shape(self.training.fresh)
            return unpack(data, self.folder, about, template)
        self.before, self.first = about["seconds"], about["step"]
        template = eqx.filter_eval_shape(
            lambda: start(self.training.fresh(), self.optimizer, self.training.keys(1))
        )
        return unpack(data, self.folder / about["arrays"], about, template, exact=True)

    def _contents(self) -> bytes:
        """A line of JSON about arrays, and the arrays; what a killed process left half done is cleared away."""
        claim(self.folder, self.training)
        if all((self.folder / f"{name}.json").exists() for name in self.names):
            models = [load_model(self.folder / name).model for name in self.names]
            data, about = pack(jax.tree.map(lambda *leaves: np.stack(leaves), *models))
            return json.dumps(about | {"finished": True}).encode() + b"\n" + data
        file = self.folder / "state.json"
        about = read_description(file) if file.exists() else {"step": 0, "arrays": None}
        self._clear(about["arrays"])
        self._cut_metrics(about["step"])
        if not file.exists():
            return b"{}\n"
        return json.dumps(about).encode() + b"\n" + (self.folder / about["arrays"]).read_bytes()

    def report(self, report: Report) -> None:
        """Write a line of metrics, now and then the state, and tell who listens: in the first process."""
        if not is_first():
            return
        losses = np.asarray(report.losses, float).mean(0)
        line = {"step": report.step, "loss": losses.tolist(), "seconds": round(self.seconds(), 3)}
        with (self.folder / "metrics.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")
        last = report.step == report.steps
        if last or time.monotonic() - self.saved >= self.save_every:
            self.save(report.state)
        rate = (report.step - self.first) / (time.monotonic() - self.began)
        self.heard(Progress(report.step, report.steps, float(losses.mean()), rate))

    def save(self, state: TrainingState) -> None:
        """The state beside the one before; the description then points to the new one."""
        step = int(np.max(state.step))
        arrays = self.folder / f"state-{step}.safetensors"
        about = {"step": step, "seconds": self.seconds(), "arrays": arrays.name}
        write_arrays(arrays, self.folder / "state.json", state, about)
        self._clear(arrays.name)
        self.saved = time.monotonic()

    def forget(self) -> None:
        """Remove the state of a finished run."""
        (self.folder / "state.json").unlink(missing_ok=True)
        self._clear(None)

    def _clear(self, keep: str | None) -> None:
        for file in [*self.folder.glob("state-*.safetensors"), *self.folder.glob(".*.tmp")]:
            if file.name != keep:
                file.unlink(missing_ok=True)

    def _cut_metrics(self, step: int) -> None:
        """Drop the lines after the state's step: they will be written again."""
        file = self.folder / "metrics.jsonl"
        if file.exists():
            kept = [line for line in file.read_text().splitlines() if _step(line) <= step]
            write_whole(file, "".join(line + "\n" for line in kept).encode())


def _step(line: str) -> float:
    """The step of a line; a half-written one counts as later than all."""
    try:
        return json.loads(line)["step"]
    except (ValueError, KeyError, TypeError):
        return float("inf")
