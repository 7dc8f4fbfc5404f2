"""Tiny models and tokenizers made in the tests, and training in processes of their own."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import torch
import transformers
from examples.llm_scratch import scratch_model, scratch_task, scratch_tokenizer
from tokenizers import (
    SentencePieceBPETokenizer,
    SentencePieceUnigramTokenizer,
    Tokenizer,
    decoders,
    pre_tokenizers,
)
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

from regrax.agents.llm import Task, load_model, pretrained, scenario

TINY_SIZES = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 8,
    "max_position_embeddings": 2048,
}
GEMMA2 = {"final_logit_softcapping": 0.5, "query_pre_attn_scalar": 8}
CONFIGS = {
    "llama": ("LlamaConfig", TINY_SIZES),
    "qwen3": ("Qwen3Config", {**TINY_SIZES, "tie_word_embeddings": True}),
    "gpt2": ("GPT2Config", {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 2048}),
    "gemma": ("GemmaConfig", TINY_SIZES),
    "gemma2": ("Gemma2Config", {**TINY_SIZES, "sliding_window": 16, **GEMMA2}),
    "mistral": ("MistralConfig", {**TINY_SIZES, "sliding_window": 24}),
}
CHAT = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def byte_pairs(size=400):
    """A byte-level BPE tokenizer in which numbers and most names have several tokens."""
    texts = [scenario(n).opening_text() for n in ("clinic", "ads", "routes")] + ["0.5 -1.2 3.4"] * 3
    inner = Tokenizer(BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    special = ["<pad>", "<|user|>", "<|assistant|>", "<|end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = BpeTrainer(
        vocab_size=size, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    inner.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", eos_token="<|end|>"
    )
    tokenizer.chat_template = CHAT
    return tokenizer


def sentence_pieces(kind):
    """A tokenizer of the sentencepiece family, which puts a space before every text."""
    texts = [scenario(name, 3).text([[0.5, -1.2, 3.4]] * 3) for name in ("plain", "ads", "routes")]
    texts += ["0.1 -0.2 4.5 6.7 8.9", "system user assistant"] * 3
    special = ["<pad>", "<unk>", "<s>"]
    options = {"special_tokens": special, "show_progress": False}
    if kind == "bpe":
        inner = SentencePieceBPETokenizer()
        inner.train_from_iterator(texts, vocab_size=400, **options)
    else:
        inner = SentencePieceUnigramTokenizer()
        inner.train_from_iterator(texts, vocab_size=150, unk_token="<unk>", **options)
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", unk_token="<unk>", bos_token="<s>"
    )


@cache
def smollm2():
    """The tokenizer of SmolLM2, downloaded once."""
    try:
        return load_model(pretrained("smollm2")).tokenizer
    except ValueError as error:
        pytest.skip(str(error))


def tiny(kind, tokenizer, dtype=torch.float64, seed=0, **more):
    """A model with random parameters, large enough that its policies are not uniform."""
    name, fields = CONFIGS[kind]
    sizes = {"vocab_size": len(tokenizer), **fields, **more}
    config = getattr(transformers, name)(**sizes, bos_token_id=None, eos_token_id=None)
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config).to(dtype).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(8)
    return model


LONG_NAMES = Task(("take the bridge", "take the tunnel", "stay at home"), 4, decimals=2)


def scratch(task, seed=0, **sizes):
    """A tiny model with random parameters that knows only the words of its task, and its tokenizer."""
    tokenizer = scratch_tokenizer(task, largest=20.0)
    return scratch_model(tokenizer, **{"width": 16, "heads": 2, "seed": seed, **sizes}), tokenizer


BIASED = scratch_task(2, 4, losses="biased-gaussian(3.0)", decimals=0)
ROOT = Path(__file__).parents[3]
PROGRAM = """
import os, sys, torch
from pathlib import Path
from tests.agents.llm.models import BIASED, scratch
from regrax.agents.llm import GRPOConfig, RMFTConfig, TrainConfig, grpo, rmft, train

torch.set_num_threads(1)
config, folder = eval(sys.argv[1]), sys.argv[2]
model, tokenizer = scratch(BIASED)
model.config.attention_dropout = float(sys.argv[3])
show = lambda progress: print(progress.done, flush=True)
method, options = {
    TrainConfig: (train, {"save_every": 0.0}), GRPOConfig: (grpo, {}), RMFTConfig: (rmft, {})
}[type(config)]
trained = method(model, tokenizer, BIASED, config, folder, on_progress=show, **options)
total = sum(parameter.double().sum().item() for parameter in trained.parameters())
Path(folder, f"total-{os.environ.get('RANK', 0)}").write_text(repr(total))
"""


def start(folder, config, *, processes=1, dropout=0.0):
    """Train a tiny model in new processes, which print the number of steps done."""
    launcher = ["-m", "torch.distributed.run", f"--nproc-per-node={processes}", "--standalone"]
    program = folder.parent / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, *(launcher if processes > 1 else ()), program, repr(config)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command += [folder, str(dropout)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
