"""What training by TRL needs: that it is there, a tokenizer to its liking, and silence."""

import contextlib
import copy
import warnings
from collections.abc import Iterator
from typing import Any

from regrax.llm._load import quiet


def require_trl() -> None:
    """Raise unless TRL is there."""
    try:
        import trl  # noqa: F401
    except ModuleNotFoundError:
        raise ValueError(
            "this needs trl, but it is not installed: pip install 'regrax[llm-train]'"
        ) from None


def padded(tokenizer: Any) -> Any:
    """A copy of the tokenizer that has tokens to end and to fill up with, which trainers insist on; both are masked."""
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.eos_token = tokenizer.eos_token or tokenizer.convert_ids_to_tokens(0)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    return tokenizer


def quiet_settings(folder: str, model: Any) -> dict[str, Any]:
    """What all our trainers of TRL have in common: no files, no reports, the model's own place and numbers."""
    return {
        "output_dir": folder,
        "save_strategy": "no",
        "logging_strategy": "no",
        "report_to": [],
        "disable_tqdm": True,
        "bf16": False,
        "use_cpu": model.device.type == "cpu",
        "gradient_checkpointing": False,
        "dataloader_pin_memory": False,
    }


@contextlib.contextmanager
def quiet_trainer() -> Iterator[None]:
    """Without the bars, reports and warnings of TRL and of what stands under it: our own progress is told."""
    import datasets

    shown = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        with quiet(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        if shown:
            datasets.enable_progress_bars()
