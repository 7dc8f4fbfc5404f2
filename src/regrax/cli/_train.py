"""`regrax train`: train models with regret loss into a folder, and print how near they are to the exact optimum."""

from dataclasses import asdict, dataclass, field
from typing import Any

from regrax._settings import Folder, build
from regrax.cli._distributed_options import Cluster
from regrax.cli._text import number, print_json, print_table
from regrax.experiments.runs import TrainConfig

MEASURED = ("loss", "loss_error", "optimal_loss", "step_size", "total_variation")


@dataclass(frozen=True)
class Train:
    """Train attention models from random parameters with a regret objective.

    Args:
        out: Where seed-I.safetensors go, metrics.jsonl, and the state to resume from.
        resume: Go on with the run in the folder, where it stopped.
        save_every: Seconds from one saved state to the next, at least.
        json: Print one JSON object.

    regrax train --model linear --actions 3 --horizon 20 --seeds 3 --out runs/linear
    """

    config: TrainConfig
    out: Folder
    resume: bool = False
    save_every: float = 10.0
    json: bool = False
    cluster: Cluster = field(default_factory=Cluster)

    @staticmethod
    def refuse(values: dict[str, Any]) -> None:
        """Raise for what can be told without jax, which the settings of a training need."""
        from regrax.experiments import RunFolder

        cluster = build(Cluster, values)
        if cluster.is_alone and not values["resume"]:  # of several processes the first looks, once
            RunFolder(values["out"]).check_unused()

    def run(self) -> None:
        """Train with a bar on the terminal, then print a line per seed: in the first process, if there are several."""
        from regrax.sharding import is_first

        with self.cluster.joined() as devices:
            rows = self._train(devices)
            if is_first():
                self._print(rows)

    def _train(self, devices: Any) -> list[dict[str, Any]]:
        from regrax.cli._text import Bars
        from regrax.experiments.runs import train
        from regrax.sharding import is_first
        from regrax.training import TrainingDiverged

        with Bars(hidden=self.json or not is_first()) as bars:
            try:
                found = train(
                    self.config,
                    self.out,
                    on_progress=bars.show,
                    save_every=self.save_every,
                    resume=self.resume,
                    devices=devices,
                )
            except TrainingDiverged as error:
                raise ValueError(f"{error} (it is kept in {self.out})") from None
        rows = [{"seed": self.config.first_seed + i} for i in range(len(found))]
        for row, one in zip(rows, found, strict=True):
            row |= {name: asdict(one.measured)[name] for name in MEASURED}
            row |= {"seconds": one.seconds}
        return rows

    def _print(self, rows: list[dict[str, Any]]) -> None:
        if self.json:
            return print_json({"out": str(self.out), "seeds": rows})
        measured = ("loss", "its error", "least possible", "nearest step", "total variation")
        columns = ("seed", *measured, "seconds")
        cells = [
            [str(row["seed"])]
            + ["" if row[name] is None else number(row[name]) for name in MEASURED]
            + [f"{row['seconds']:.1f}"]
            for row in rows
        ]
        at = self.config
        sizes = f"{at.actions} actions, {at.horizon} rounds"
        return print_table(columns, cells, f"{at.model}, {at.objective_name} objective, {sizes}")
