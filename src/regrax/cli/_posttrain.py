"""`regrax posttrain`: train a language model to have less regret, and show what that changed."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from regrax._settings import Output, Positional
from regrax.cli._text import number, print_json, print_table

if TYPE_CHECKING:
    from regrax.llm import Comparison, Loaded, Player, Task

Method = Literal["regret", "swap", "hindsight", "rmft", "grpo"]


@dataclass(frozen=True)
class PostTrain:
    """Post-train a causal language model on a decision problem in words.

    regrax posttrain MODEL --method regret --task routes --rounds 10 --out runs/routes
    """

    model: Positional[str]
    """A folder that transformers wrote, or the name of a model on the hub."""
    out: Path
    """Where settings, metrics, the trained model and report.html go."""
    method: Method = "regret"
    """Descent on squared regret, swap regret or the hindsight loss; or rmft, or grpo."""
    task: str | None = None
    """A scenario (plain, clinic, ads, routes, irrigation, servers) or a .json file; by default the model's own."""
    rounds: int | None = None
    """How many rounds, if other than the task's."""
    losses: str | None = None
    """A distribution's spec, if other than the task's: gaussian, biased-gaussian(1.0), in-game(...), ..."""
    feedback: Literal["full", "bandit"] | None = None
    """What is told after a round, if other than the task's; rmft and grpo can learn from bandit feedback."""
    chat: bool = False
    """Ask through the tokenizer's chat template."""
    steps: int = 100
    """Steps of the gradient; of rmft and grpo all iterations together."""
    iterations: int = 4
    """Of rmft and grpo; the model is saved after each."""
    batch: int = 32
    """Transcripts per step; of rmft scenarios per iteration, of grpo groups per step."""
    accumulate: int = 1
    """Parts that a batch is read in, to need less memory."""
    group: int = 8
    """Of rmft and grpo: rollouts per group."""
    by: Literal["policy", "action", "excess", "squared"] = "policy"
    """Of rmft: what is low in the rollouts that are kept; of grpo, squared regret is the reward if it is squared."""
    rate: float = 1e-4
    """The highest learning rate."""
    kl: float = 0.0
    """Weight of the KL term to the model before training."""
    lora: int = 0
    """Rank of LoRA; 0 trains every parameter."""
    dtype: Literal["float32", "float64", "bfloat16", "float16"] = "float32"
    """Of the model's numbers."""
    device: str = "cpu"
    """Where it runs."""
    seed: int = 0
    """Of everything that is drawn."""
    resume: bool = False
    """Go on with the training in the folder, where it stopped."""
    sequences: int = 300
    """Of losses in every setting of the report."""
    text: Path | None = None
    """Held-out text to see lost language on."""
    export: Output | None = None
    """Write rollouts of the trained model as JSON lines for other trainers."""
    json: bool = False
    """Print one JSON object."""

    def run(self) -> None:
        """Train, compare, write, print."""
        loaded = self._load()
        task = self._task(loaded.task)
        if (self.out / "training.json").exists() and not self.resume:
            raise ValueError(
                f"{self.out} holds a training already: --resume goes on with it, or choose another --out"
            )
        trained = self._train(loaded, task)
        comparison = self._compare(loaded.tokenizer, trained, task)
        if self.export:
            self._export(loaded.tokenizer, trained, comparison.task)
        self._print(comparison)

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

    def _train(self, loaded: "Loaded", task: "Task") -> Any:
        from regrax import llm
        from regrax.cli._text import Bars

        common = {"seed": self.seed, "rate": self.rate, "lora": self.lora}
        made = (loaded.model, loaded.tokenizer, task)
        with Bars(hidden=self.json) as bars:
            if self.method == "rmft":
                config = llm.RMFTConfig(
                    self.iterations, self.batch, self.group, by=self.by, **common
                )
                return llm.rmft(*made, config, self.out, on_progress=_iterations(bars, config))
            if self.method == "grpo":
                config = llm.GRPOConfig(
                    self.iterations,
                    max(1, self.steps // self.iterations),
                    self.batch,
                    self.group,
                    "squared" if self.by == "squared" else "regret",
                    self.kl,
                    **common,
                )
                return llm.grpo(*made, config, self.out, on_progress=_iterations(bars, config))
            config = llm.TrainConfig(
                self.method,
                self.steps,
                self.batch,
                accumulate=self.accumulate,
                kl=self.kl,
                **common,
            )
            return llm.train(*made, config, self.out, on_progress=_steps(bars))

    def _compare(self, tokenizer: Any, trained: Any, task: "Task") -> "Comparison":
        from regrax._files import write_whole
        from regrax.llm import Task, compare_models, load_model
        from regrax.show.report import posttrain_page

        before = load_model(self.model, device=self.device, dtype=self.dtype).model
        task = Task.load(self.out / "model" / "task.json")
        text = None if self.text is None else self.text.read_text("utf-8")
        found = compare_models(
            before,
            trained,
            tokenizer,
            task,
            sequences=self.sequences,
            seed=self.seed + 10_000,
            text=text,
        )
        page = posttrain_page(found, self.model, self.method)
        write_whole(self.out / "report.html", page.encode("utf-8", "replace"))
        return found

    def _export(self, tokenizer: Any, trained: Any, task: "Task") -> None:
        from regrax._files import write_whole
        from regrax.llm import evaluate_rollouts, transcript_lines

        assert self.export is not None
        played = evaluate_rollouts(
            trained, tokenizer, task, self.sequences, seed=self.seed + 20_000
        )
        lines = "".join(line + "\n" for line in transcript_lines(task, played))
        write_whole(self.export, lines.encode())

    def _print(self, found: "Comparison") -> None:
        if self.json:
            return print_json(_plain(found, str(self.out)))
        title = f"{found.task.name}, {found.task.d} actions, {found.task.rounds} rounds, {found.sequences} sequences"
        columns = ("player", "regret", "+-", "squared regret", "+-")
        print_table(columns, [_cells(one) for one in found.trained_on.players], title)
        language = found.language
        rows = [
            ["answers that name an action", *(f"{value:.1%}" for value in found.valid)],
            [f"perplexity on {language.text}", f"{language.before:.4g}", f"{language.after:.4g}"],
        ]
        print_table(("language", "before", "after"), rows)
        print(f"KL from the model before, a token: {language.kl:.4g}")
        print(f"the model is in {self.out / 'model'}, the page in {self.out / 'report.html'}")
        return None


def _cells(one: "Player") -> list[str]:
    values = (one.regret, one.regret_error, one.squared, one.squared_error)
    return [one.name, *(number(value) for value in values)]


def _plain(found: "Comparison", out: str) -> dict[str, Any]:
    settings = [found.trained_on, *found.elsewhere]
    return {
        "out": out,
        "sequences": found.sequences,
        "settings": [dataclasses.asdict(one) for one in settings],
        "language": found.language._asdict(),
        "valid": list(found.valid),
        "exploration": [one._asdict() for one in found.exploration],
    }


def _steps(bars: Any) -> Any:
    from regrax.experiments import Progress

    def show(progress: Any) -> None:
        note = f"loss {progress.loss:.3f}"
        bars.show(Progress("train", progress.step, progress.steps, note))

    return show


def _iterations(bars: Any, config: Any) -> Any:
    from regrax.experiments import Progress

    def show(line: dict[str, float]) -> None:
        note = f"regret {line['regret']:.3f}"
        bars.show(Progress("iterations", line["iteration"], config.iterations, note))

    return show
