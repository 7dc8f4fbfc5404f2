"""`regrax posttrain`: post-train language models to reduce regret."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from regrax._text import fitted_table
from regrax.agents.llm.posttrain import PostTrainConfig
from regrax.cli.inputs import OUTPUT, Folder, Json, NewOutput
from regrax.cli.output import Bar, print_json, print_lines, print_text

if TYPE_CHECKING:
    from regrax.agents.llm import Comparison

CONFIG = Parameter(name="*", group=Group("Model, task and training", sort_key=10))
DEFAULTS = PostTrainConfig()


def posttrain(
    model: str | None = None,
    /,
    *,
    config: Annotated[PostTrainConfig, CONFIG] = DEFAULTS,
    out: Folder,
    resume: Annotated[bool, Parameter(group=OUTPUT)] = False,
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
    from regrax._files import write_whole
    from regrax.show.report import posttrain_page

    options = {"export": export, "resume": resume}
    with Bar(hidden=json) as bar:
        comparison = llm.posttrain(config, out, model, on_progress=bar.show, **options)
    method = config.method or llm.default_method(comparison.task)
    page = posttrain_page(comparison, str(model or config.pretrained), method)
    write_whole(out / "report.html", page.encode("utf-8", "replace"))
    if json:
        print_json({"out": str(out), **comparison.as_dict()})
    else:
        _print(comparison, out)


def _print(comparison: "Comparison", out: Path) -> None:
    task = comparison.task
    rows = []
    for player in comparison.trained_on.players:
        measures = (player.regret, player.regret_error, player.squared, player.step)
        rows.append([player.name, *measures])
    title = f"{task.name}, {task.d} actions, {task.rounds} rounds, {comparison.sequences} sequences"
    columns = ("regret, total", "standard error", "squared regret, total", "nearest Hedge step")
    print_text(fitted_table(("player", *columns), rows, title))
    own = comparison.trained_on
    print_lines(f"way from uniform play to Hedge: {own.share:.1%} ± {own.share_error:.1%}")
    names = [player.name for player in comparison.trained_on.players]
    rows = []
    for setting in comparison.elsewhere:
        if not setting.problem:
            regrets = {player.name: player.regret for player in setting.players}
            shown = [regrets.get(name) for name in names]  # not every baseline is known elsewhere
            rows.append([setting.name, *shown, setting.gain, setting.gain_error])
    print_text(fitted_table(("regret elsewhere", *names, "gain", "standard error"), rows))
    language = comparison.language
    rows = [
        ["answers that name an action, %", *(100 * share for share in comparison.valid)],
        [f"perplexity on {language.text}", language.before, language.after],
        ["KL from the original model, per token", None, language.kl],
    ]
    print_text(fitted_table(("language", "before", "after"), rows))
    print_text(f"model: {out / 'model'}; report: {out / 'report.html'}")
