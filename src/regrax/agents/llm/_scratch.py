r"""A small model made from a config, with a tokenizer of its own: to train from nothing, offline, in minutes.

The transcript it reads has one token for each pair of an action and a value:

    play choose A-1.2 B0.3 C0.7 choose A0.4 ...

A model that starts from random numbers has to find out what a number means and whose it is. With a token for each pair
both are in one embedding, and the sums that regret asks for are one attention away. With one token per number, the
action told by its place only, it learns nothing in the same time. A pretrained model reads numbers already.
"""

from typing import Any, Literal

import numpy as np
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

from regrax import _checks as checks
from regrax.agents.llm._config import one_of
from regrax.agents.llm._task import Task

WORDS = {
    "opening": "play",
    "ask": " choose",
    "tell": " {losses}",
    "loss": "{action}{loss}",
    "between": " ",
    "parser": r"^\s*(\S+)",
    "name": "scratch",
}


def scratch_task(actions: Any, rounds: int, **fields: Any) -> Task:
    """A task whose transcript a model learns from nothing.

    >>> print(scratch_task(2, 2).text([[0.5, -1.0], [0.0, 0.25]]))
    play choose A0.5 B-1.0 choose A0.0 B0.2
    """
    own = {"tell": " {action}{loss}"} if fields.get("feedback") == "bandit" else {}
    return Task(actions, rounds, **{**WORDS, **own, **fields})


def scratch_tokenizer(task: Task, largest: float = 8.0) -> Any:
    """A tokenizer with a token for every word of the task, and for every action and value up to `largest`."""
    checks.positive("largest", largest)
    words = [*task.opening_text().split(), *task.ask_text(0).split(), *task.actions]
    grid = round(largest * 10**task.decimals)
    steps = np.arange(-grid, grid + 1) / 10**task.decimals
    values = [f"{value:.{task.decimals}f}" for value in steps]
    words += [task.loss.format(action=a, loss=v) for a in task.actions for v in values]
    known = dict.fromkeys(["<pad>", "<unk>", "<end>", *words])
    vocabulary = {word: i for i, word in enumerate(known)}
    inner = Tokenizer(WordLevel(vocabulary, unk_token="<unk>"))
    inner.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", unk_token="<unk>", eos_token="<end>"
    )


def scratch_model(
    tokenizer: Any,
    *,
    kind: Literal["llama", "qwen3"] = "qwen3",
    width: int = 64,
    layers: int = 2,
    heads: int = 4,
    context: int = 512,
    seed: int = 0,
) -> Any:
    """A model with random parameters; about 100,000 of them at the default size.

    Args:
        tokenizer: whose vocabulary it knows.
        kind: its architecture.
        width: of its hidden states; its inner layers are twice as wide.
        layers: how many.
        heads: of each layer.
        context: how many tokens it can read.
        seed: of its parameters.
    """
    one_of("kind", kind, ("llama", "qwen3"))
    for name, value in (("width", width), ("layers", layers), ("heads", heads)):
        checks.at_least(name, value, 1)
    if width % (2 * heads):
        raise ValueError(f"width must be a multiple of twice the heads, got {width} and {heads}")
    config = AutoConfig.for_model(
        kind,
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        head_dim=width // heads,
        max_position_embeddings=context,
        tie_word_embeddings=False,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return AutoModelForCausalLM.from_config(config)
