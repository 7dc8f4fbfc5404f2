"""Low-rank adapters, by `peft`."""

import warnings
from typing import Any

import torch


def adapted(model: Any, rank: int, seed: int) -> Any:
    """The model with LoRA of this rank on all linear layers but the last; rank 0 leaves it as it is."""
    if not rank:
        return model
    try:
        from peft import LoraConfig, get_peft_model
    except ModuleNotFoundError:
        raise ValueError(
            "LoRA needs peft, but it is not installed: pip install 'regrax[llm-train]'"
        ) from None
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
