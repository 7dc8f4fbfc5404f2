"""`regrax train`: train models with regret loss into a folder, and print how near they are to the exact optimum."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from regrax.cli._distributed_options import Cluster
from regrax.cli._text import number, print_json, print_table

if TYPE_CHECKING:
    from regrax.attention import Model
    from regrax.experiments.runs import Progress, Training
    from regrax.sharding import Devices

MEASURED = ("loss", "optimal_loss", "step_size", "total_variation", "seconds")


@dataclass(frozen=True)
class Train:
    """Train attention models from random parameters with a regret objective.

    regrax train --model linear --actions 3 --horizon 20 --seeds 3 --out runs/linear
    """

    model: Literal["linear", "full", "swap", "transformer"]
    """One layer (reduced or full form), the swap architecture, or a deep transformer."""
    actions: int
    """How many actions d."""
    horizon: int
    """How many rounds T."""
    out: Path
    """Where seed-I.safetensors and seed-I.json go, metrics.jsonl, and the state to resume from."""
    objective: Literal["regret", "hindsight", "hindsight-mean", "swap", "swap-closed"] | None = None
    """What is minimised; by default the plain regret loss (swap regret on Gaussian blocks for the swap model)."""
    operator: Literal["softmax", "ball"] = "softmax"
    """Where one layer plays: the simplex, or the L2 ball (identity in training)."""
    layers: int = 2
    """Of the transformer."""
    heads: int = 4
    """Of the transformer."""
    width: int = 32
    """Of the transformer."""
    distribution: str = "gaussian"
    """Of the loss sequences: gaussian, biased-gaussian, rademacher, student-t(5.0), mixture(...), ..."""
    feedback: str | None = None
    """What the model sees of the losses: delayed(2) or bandit; without it everything."""
    surrogate: str = "square"
    """h of the regret: square, positive, positive-square, softplus or identity."""
    steps: int | None = None
    """Steps of Adam; by default as many as it takes to reach the optimum."""
    batch: int | None = None
    """Loss sequences a step."""
    rate: float | None = None
    """The highest learning rate."""
    seeds: int = 1
    """How many models to train, all at once."""
    first_seed: int = 0
    """The seed of the first of them."""
    resume: bool = False
    """Go on with the run in the folder, where it stopped."""
    save_every: float = 10.0
    """Seconds from one saved state to the next, at least."""
    json: bool = False
    """Print one JSON object."""
    cluster: Cluster = field(default_factory=Cluster)

    def run(self) -> None:
        """Train with a bar on the terminal, then print a line a seed: in the first process, if there are several."""
        from regrax.distributed import from_first, is_first

        with self.cluster.joined() as devices:
            training = self._training()
            from_first(self._check_fresh)
            self._train(training, devices)
            if is_first():
                self._print(training)

    def _print(self, training: "Training") -> None:
        rows = [self._row(seed) for seed in range(self.first_seed, self.first_seed + self.seeds)]
        print_json({"out": str(self.out), "seeds": rows}) if self.json else _print(rows, training)

    def _check_fresh(self) -> bytes:
        if (self.out / "training.json").exists() and not self.resume:
            raise ValueError(
                f"{self.out} holds a training already: --resume goes on with it, or choose another --out"
            )
        return b""

    def _train(self, training: "Training", devices: "Devices | None") -> None:
        from regrax.cli._progress import Bars
        from regrax.distributed import is_first
        from regrax.experiments.runs import train
        from regrax.training import TrainingDiverged

        with Bars(hidden=self.json or not is_first()) as bars:
            try:
                train(
                    training,
                    self.out,
                    heard=_shown(bars, training),
                    describe=_measure(training, devices),
                    save_every=self.save_every,
                    devices=devices,
                )
            except TrainingDiverged as error:
                raise ValueError(f"{error} (it is kept in {self.out})") from None

    def _training(self) -> "Training":
        from regrax.experiments.runs import Training

        names = {field.name for field in fields(Training)}
        return Training(**{f.name: getattr(self, f.name) for f in fields(self) if f.name in names})

    def _row(self, seed: int) -> dict[str, Any]:
        from regrax.checkpoints import load_model

        about = load_model(self.out / f"seed-{seed}").about
        return {"seed": seed, **{name: about[name] for name in MEASURED}}


def _measure(
    training: "Training", devices: "Devices | None"
) -> "Callable[[Model], dict[str, Any]]":
    """The population loss on fresh sequences, and the nearest step of the classical algorithm."""
    import jax

    from regrax.training import evaluate, fit_step_size

    fresh, objective = jax.random.key(2**31), training.made_objective()

    def numbers(model: "Model") -> dict[str, Any]:
        found = evaluate(model, objective, key=fresh, devices=devices)
        nearest = fit_step_size(model, training.horizon, key=fresh)
        return {
            "loss": found.loss,
            "loss_error": found.error,
            "optimal_loss": found.optimal_loss,
            "step_size": nearest.step,
            "total_variation": nearest.total_variation,
        }

    return numbers


def _shown(bars: Any, training: "Training") -> "Callable[[Progress], None]":
    import equinox as eqx

    from regrax.training import least_loss

    least = least_loss(eqx.filter_eval_shape(training.fresh), training.made_objective())

    def show(progress: "Progress") -> None:
        far = "" if least is None else f" ({progress.loss / least - 1:+.1%} from the least)"
        note = f"loss {progress.loss:.3f}{far}, {progress.rate:.0f} steps/s"
        bars.show(f"train {training.model}", progress.step, progress.steps, note)

    return show


def _print(rows: list[dict[str, Any]], training: "Training") -> None:
    columns = ("seed", "loss", "least possible", "nearest step", "total variation", "seconds")
    cells = [
        [str(row["seed"])]
        + ["" if row[name] is None else number(row[name]) for name in MEASURED[:-1]]
        + [f"{row['seconds']:.1f}"]
        for row in rows
    ]
    title = f"{training.model}, {training.aim} objective, {training.actions} actions, {training.horizon} rounds"
    print_table(columns, cells, title)
