"""`regrax posttrain`: post-train language models to reduce regret."""

from typing import Annotated

from cyclopts import Group, Parameter

from regrax.agents.llm.posttrain import PostTrainConfig
from regrax.cli.options import Flag, Folder, Json, NewOutput
from regrax.cli.shared import print_result, progress_bar, write_text

CONFIG = Parameter(name="*", group=Group("Model, task and training", sort_key=10))
DEFAULTS = PostTrainConfig()


def posttrain(
    model: str | None = None,
    /,
    *,
    config: Annotated[PostTrainConfig, CONFIG] = DEFAULTS,
    out: Folder,
    resume: Flag = False,
    export: NewOutput = None,
    json: Json = False,
) -> None:
    """Post-train a language model to reduce its regret.

    Example uses:
        regrax posttrain --pretrained smollm2 --task routes --out runs/routes
        regrax posttrain MODEL --method grpo --lora 8 --out runs/grpo

    Args:
        model: Folder written by transformers, or the name of a model on the hub.
        out: Folder for settings, metrics, the trained model and report.html.
        resume: Continue the run in the folder.
        export: Write rollouts of the trained model as JSON lines to a new file.
    """
    from regrax import llm

    with progress_bar(hidden=json) as show:
        settings = {"on_progress": show, "resume": resume, "export": export}
        comparison = llm.posttrain(config, out, model, **settings)
    # only now, because it imports matplotlib
    from regrax.show.report import posttrain_page

    method = config.method or llm.default_method(comparison.task)
    page = posttrain_page(comparison, str(model or config.pretrained), method)
    write_text(out / "report.html", page)
    text = f"{comparison}\nmodel: {out / 'model'}; report: {out / 'report.html'}"
    print_result(text, json, {"out": str(out), **comparison.as_dict()})
