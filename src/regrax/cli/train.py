"""`regrax train`: train attention models with a regret objective."""

from dataclasses import asdict
from typing import Annotated

from cyclopts import Group, Parameter

from regrax._text import labelled_table
from regrax.cli.options import OUTPUT, Flag, Folder, Hosts, Json
from regrax.cli.shared import print_result, progress_bar
from regrax.experiments.runs import TrainConfig

COLUMNS = {
    "seed": "seed",
    "loss": "loss, squared regret",
    "loss_error": "standard error of the loss",
    "optimal_loss": "lower bound for any policy",
    "step_size": "nearest step size",
    "total_variation": "total variation to that step",
    "seconds": "time, s",
}
CONFIG = Parameter(name="*", group=Group("Model and training", sort_key=10))


def train(
    *,
    config: Annotated[TrainConfig, CONFIG],
    out: Folder,
    resume: Flag = False,
    save_every: Annotated[float, Parameter(group=OUTPUT)] = 10.0,
    json: Json = False,
    hosts: Hosts = Hosts(),
) -> None:
    """Train attention models with a regret objective.

    Example uses:
        regrax train --model linear --seeds 3 --out runs/linear
        regrax train --model transformer --layers 4 --out runs/deep --resume

    Args:
        out: Folder for seed-I.safetensors, metrics.jsonl and the state to resume from.
        resume: Continue the run in the folder.
        save_every: Minimum number of seconds between two saved states.
    """
    from regrax.experiments.runs import train as train_models
    from regrax.sharding import is_first
    from regrax.training import TrainingDiverged

    with hosts.joined() as devices:
        with progress_bar(hidden=json or not is_first()) as show:
            settings = {"save_every": save_every, "resume": resume, "devices": devices}
            try:
                trained = train_models(config, out, on_progress=show, **settings)
            except TrainingDiverged as error:
                raise ValueError(f"{error} (the last good state is in {out})") from None
        if not is_first():
            return
        rows = []
        for seed, model in enumerate(trained, config.first_seed):
            facts = {"seed": seed, **asdict(model.measured), "seconds": model.seconds}
            rows.append({name: facts[name] for name in COLUMNS})
        title = f"{config.model}, {config.objective_name} objective, "
        title += f"{config.actions} actions, {config.horizon} rounds"
        text = labelled_table(rows, COLUMNS, title) + f"\nmodels and metrics are in {out}"
        print_result(text, json, {"out": str(out), "seeds": rows})
