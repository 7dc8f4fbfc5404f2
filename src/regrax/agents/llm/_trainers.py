"""What needs the extra `llm-train`: adapters by peft, and trainers of TRL without files and reports."""

import contextlib
import copy
import os
import tempfile
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import torch

from regrax.agents.llm._load import quiet


def require(module: str, what: str) -> None:
    """Raise unless a module of the extra `llm-train` is there."""
    if find_spec(module) is None:
        raise ValueError(
            f"{what} needs {module}, but it is not installed: pip install 'regrax[llm-train]'"
        )


def adapted(model: Any, rank: int, seed: int) -> Any:
    """The model with LoRA of this rank on all linear layers but the last; rank 0 leaves it as it is."""
    if not rank:
        return model
    require("peft", "LoRA")
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(seed)
    settings = LoraConfig(
        r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM"
    )
    with warnings.catch_warnings():  # which way round a layer holds its matrix is found out by peft
        warnings.filterwarnings("ignore", message="fan_in_fan_out")
        return get_peft_model(model, settings)


def merged(model: Any, rank: int) -> Any:
    """The model as plain `transformers` has it, its adapters added to its parameters."""
    return (model.merge_and_unload() if rank else model).eval()


def train_by(
    method: str,
    model: Any,
    tokenizer: Any,
    config: Any,
    number: int,
    rows: list[dict[str, Any]],
    settings: dict[str, Any],
    **given: Any,
) -> Any:
    """The model after one iteration of a trainer of TRL, on its own device and with its own numbers.

    Args:
        method: `SFT` or `GRPO`, with which the names of the trainer and of its settings begin.
        model: what to begin with.
        tokenizer: its tokenizer.
        config: has `lora` and `seed`.
        number: of the iteration.
        rows: the data set.
        settings: of the trainer, besides those that all have in common.
        given: to the trainer, besides the model, the rows and the tokenizer.
    """
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    import trl
    from datasets import Dataset
    from transformers import PrinterCallback

    with tempfile.TemporaryDirectory() as folder, _quiet_trainer():
        learning = adapted(model, config.lora, config.seed)
        arguments = getattr(trl, f"{method}Config")(
            output_dir=folder,
            save_strategy="no",
            logging_strategy="no",
            report_to=[],
            disable_tqdm=True,
            bf16=False,
            use_cpu=model.device.type == "cpu",
            gradient_checkpointing=False,
            dataloader_pin_memory=False,
            lr_scheduler_type="constant",
            seed=config.seed * 1_000_003 + number,
            **settings,
        )
        given |= {"train_dataset": Dataset.from_list(rows), "processing_class": _padded(tokenizer)}
        trainer = getattr(trl, f"{method}Trainer")(learning, args=arguments, **given)
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return merged(learning, config.lora)


def _padded(tokenizer: Any) -> Any:
    """A copy of the tokenizer that has tokens to end and to fill up with, which trainers insist on; both are masked."""
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.eos_token = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(0)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    return tokenizer


@contextlib.contextmanager
def _quiet_trainer() -> Iterator[None]:
    """Without the bars, reports and warnings of TRL and of what stands under it: our own progress is told."""
    import datasets

    with quiet(), warnings.catch_warnings(action="ignore"), contextlib.ExitStack() as after:
        if not datasets.are_progress_bars_disabled():
            after.callback(datasets.enable_progress_bars)
            datasets.disable_progress_bars()
        yield
