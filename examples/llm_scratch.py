r"""A small language model made from a config, with its own tokenizer, to train from scratch and offline in minutes.

Its transcript has one token for each pair of an action and a value:

    play choose A-1.2 B0.3 C0.7 choose A0.4 ...

A model with random parameters must learn what a number means and whose it is. With a token for each pair,
a single embedding holds both, and the sums that regret needs are one attention layer away. With one token per number
and the action implied by its place, it learnt nothing in the same time. A pretrained model reads numbers already.
"""

from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

from regrax.agents.llm import Task

WORDING = {
    "opening": "play",
    "ask": " choose",
    "tell": " {losses}",
    "loss": "{action}{loss}",
    "between": " ",
    "parser": r"^\s*(\S+)",
    "name": "scratch",
}


def scratch_task(actions: Any, rounds: int, **fields: Any) -> Task:
    """Build a task whose transcripts a model can learn from scratch.

    >>> print(scratch_task(2, 2).text([[0.5, -1.0], [0.0, 0.25]]))
    play choose A0.5 B-1.0 choose A0.0 B0.2
    """
    wording = dict(WORDING)
    if fields.get("feedback") == "bandit":
        wording["tell"] = " {action}{loss}"
    return Task(actions, rounds, **{**wording, **fields})


def scratch_tokenizer(task: Task, largest: float = 8.0) -> Any:
    """Build a tokenizer with a token for every word of the task, and for every action and value up to `largest`."""
    words = [*task.opening_text().split(), *task.ask_text(0).split(), *task.actions]
    grid = round(largest * 10**task.decimals)
    values = np.arange(-grid, grid + 1) / 10**task.decimals
    for action in task.actions:
        for value in values:
            words.append(task.loss.format(action=action, loss=f"{value:.{task.decimals}f}"))
    unique = dict.fromkeys(["<pad>", "<unk>", "<end>", *words])
    vocabulary = {word: index for index, word in enumerate(unique)}
    inner = Tokenizer(WordLevel(vocabulary, unk_token="<unk>"))
    inner.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", unk_token="<unk>", eos_token="<end>"
    )


def scratch_model(
    tokenizer: Any,
    *,
    kind: str = "qwen3",
    width: int = 64,
    layers: int = 2,
    heads: int = 4,
    context: int = 512,
    seed: int = 0,
) -> Any:
    """Build a `llama` or `qwen3` model with random parameters, about 100,000 at the default size."""
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
