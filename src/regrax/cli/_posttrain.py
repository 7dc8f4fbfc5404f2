"""`regrax posttrain`: train a language model to have less regret, and show what that changed."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from regrax._settings import Output, Positional
from regrax.cli._text import Bars, number, print_json, print_table

if TYPE_CHECKING:
    from regrax.experiments import OnProgress
    from regrax.llm import Comparison, Loaded, Player, Task

Method = Literal["regret", "swap", "hindsight", "rmft", "grpo"]


@dataclass(frozen=True)
class PostTrain:
    """Post-train a causal language model on a decision problem in words.

    Args:
        model: A folder that transformers wrote, or the name of a model on the hub.
        out: Where settings, metrics, the trained model and report.html go.
        method: Descent on squared regret, swap regret or the hindsight loss; or rmft, or grpo.
        task: A scenario (plain, clinic, ads, routes, irrigation, servers) or a .json file; by default the model's own.
        rounds: How many rounds, if other than the task's.
        losses: A distribution's spec, if other than the task's: gaussian, biased-gaussian(1.0), in-game(...), ...
        feedback: What is told after a round, if other than the task's; rmft and grpo can learn from bandit feedback.
        chat: Ask through the tokenizer's chat template.
        steps: Steps of the gradient; of grpo all iterations together.
        iterations: Of rmft and grpo; the model is saved after each.
        batch: Transcripts per step; of rmft scenarios per iteration, of grpo groups per step.
        accumulate: Parts that a batch is read in, to need less memory.
        group: Of rmft and grpo: rollouts per group.
        by: Of rmft: what is low in the rollouts that are kept; of grpo, squared regret is the reward if it is squared.
        rate: The highest learning rate.
        kl: Weight of the KL term to the model before training.
        lora: Rank of LoRA; 0 trains every parameter.
        dtype: Of the model's numbers.
        device: Where it runs.
        seed: Of everything that is drawn.
        resume: Go on with the training in the folder, where it stopped.
        sequences: Of losses in every setting of the report.
        text: Held-out text to see lost language on.
        export: Write rollouts of the trained model as JSON lines for other trainers.
        json: Print one JSON object.

    regrax posttrain MODEL --method regret --task routes --rounds 10 --out runs/routes
    """

    model: Positional[str]
    out: Path
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
    export: Output | None = None
    json: bool = False

    def run(self) -> None:
        """Train, compare, write, print."""
        text = self._check()
        loaded = self._load()
        if text is not None:
            _check_text(loaded.tokenizer, text)
        task = self._task(loaded.task)
        with Bars(hidden=self.json) as bars:
            trained = self._train(loaded, task, bars.show)
            comparison = self._compare(loaded.tokenizer, trained, text, bars.show)
        if self.export:
            self._export(loaded.tokenizer, trained, comparison.task)
        self._print(comparison)

    def _check(self) -> str | None:
        """Look at all that is needed after training before it begins; gives the held-out text."""
        from regrax import _checks as checks

        for name, least in (("iterations", 1), ("group", 2), ("sequences", 2)):
            checks.at_least(name, getattr(self, name), least)
        return None if self.text is None else self.text.read_text("utf-8")

    def _load(self) -> "Loaded":
        try:
            from regrax.llm import load_model
        except ModuleNotFoundError as error:
            raise ValueError(str(error)) from None
        return load_model(self.model, device=self.device, dtype=self.dtype)

    def _task(self, own: "Task | None") -> "Task":
        from regrax.llm import Task, scenario

        if self.task is not None and self.task.endswith(".json"):
            task = Task.load(self.task)
        elif self.task is not None or own is None:
            task = scenario(self.task or "plain")
        else:
            task = own
        changes = {
            name: getattr(self, name)
            for name in ("feedback", "losses", "rounds")
            if getattr(self, name) is not None
        }
        return task.replace(**changes, **({"chat": True} if self.chat else {}))

    def _train(self, loaded: "Loaded", task: "Task", show: "OnProgress") -> Any:
        from regrax import llm

        config = self._config()
        methods: Any = {
            llm.RMFTConfig: llm.rmft,
            llm.GRPOConfig: llm.grpo,
            llm.TrainConfig: llm.train,
        }
        return methods[type(config)](
            loaded.model,
            loaded.tokenizer,
            task,
            config,
            self.out,
            on_progress=show,
            resume=self.resume,
        )

    def _config(self) -> Any:
        """The settings of the method."""
        from regrax import llm

        common = {"seed": self.seed, "rate": self.rate, "lora": self.lora}
        if self.method == "rmft":
            return llm.RMFTConfig(
                self.iterations, scenarios=self.batch, rollouts=self.group, by=self.by, **common
            )
        if self.method == "grpo":
            return llm.GRPOConfig(
                self.iterations,
                steps=max(1, self.steps // self.iterations),
                groups=self.batch,
                group_size=self.group,
                reward="squared" if self.by == "squared" else "regret",
                beta=self.kl,
                **common,
            )
        return llm.TrainConfig(
            self.method,
            steps=self.steps,
            batch=self.batch,
            accumulate=self.accumulate,
            kl=self.kl,
            **common,
        )

    def _compare(
        self, tokenizer: Any, trained: Any, text: str | None, show: "OnProgress"
    ) -> "Comparison":
        from regrax._files import write_whole
        from regrax.llm import Task, compare_models, load_model
        from regrax.show.report import posttrain_page

        found = compare_models(
            load_model(self.model, device=self.device, dtype=self.dtype).model,
            trained,
            tokenizer,
            Task.load(self.out / "model" / "task.json"),
            sequences=self.sequences,
            seed=self.seed + 10_000,
            text=text,
            on_progress=show,
        )
        page = posttrain_page(found, self.model, self.method)
        write_whole(self.out / "report.html", page.encode("utf-8", "replace"))
        return found

    def _export(self, tokenizer: Any, trained: Any, task: "Task") -> None:
        from regrax._files import write_output
        from regrax.llm import evaluate_rollouts, transcript_lines

        assert self.export is not None
        played = evaluate_rollouts(
            trained, tokenizer, task, self.sequences, seed=self.seed + 20_000
        )
        lines = "".join(line + "\n" for line in transcript_lines(task, played))
        write_output(self.export, lines.encode())

    def _print(self, comparison: "Comparison") -> None:
        if self.json:
            return print_json(_plain(comparison, str(self.out)))
        task, count = comparison.task, comparison.sequences
        title = f"{task.name}, {task.d} actions, {task.rounds} rounds, {count} sequences"
        columns = ("player", "regret", "+-", "squared regret", "+-")
        print_table(columns, [_cells(one) for one in comparison.trained_on.players], title)
        language = comparison.language
        rows = [
            ["answers that name an action", *(f"{value:.1%}" for value in comparison.valid)],
            [f"perplexity on {language.text}", f"{language.before:.4g}", f"{language.after:.4g}"],
        ]
        print_table(("language", "before", "after"), rows)
        print(f"KL from the model before, a token: {language.kl:.4g}")
        print(f"the model is in {self.out / 'model'}, the page in {self.out / 'report.html'}")
        return None


def _check_text(tokenizer: Any, text: str) -> None:
    from regrax.llm import text_tokens

    text_tokens(tokenizer, text)


def _cells(one: "Player") -> list[str]:
    values = (one.regret, one.regret_error, one.squared, one.squared_error)
    return [one.name, *(number(value) for value in values)]


def _plain(comparison: "Comparison", out: str) -> dict[str, Any]:
    settings = [comparison.trained_on, *comparison.elsewhere]
    return {
        "out": out,
        "sequences": comparison.sequences,
        "settings": [dataclasses.asdict(one) for one in settings],
        "language": comparison.language._asdict(),
        "valid": list(comparison.valid),
        "exploration": [one._asdict() for one in comparison.exploration],
    }
