"""The tokens of a transcript add up to the text, for byte-level and sentencepiece tokenizers."""

import pytest
import torch
from examples.llm_scratch import scratch_task, scratch_tokenizer
from tests.agents.llm.models import CHAT, byte_pairs, sentence_pieces, smollm2, tiny

from regrax.agents.llm import Task, draw_losses, play_rollouts, policies, rows_of, scenario

TOKENIZERS = {
    "byte-level BPE": byte_pairs,
    "sentencepiece BPE": lambda: sentence_pieces("bpe"),
    "sentencepiece unigram": lambda: sentence_pieces("unigram"),
    "SmolLM2": smollm2,
}


@pytest.mark.parametrize("kind", TOKENIZERS)
@pytest.mark.parametrize("name", ["plain", "routes"])
def test_the_model_reads_the_text_that_the_task_prints(kind, name):
    tokenizer = TOKENIZERS[kind]()
    model = tiny("llama", tokenizer, torch.float32)
    task = scenario(name, 3, answers=True)
    played = play_rollouts(model, tokenizer, task, draw_losses(task, 1, seed=0), seed=0)
    (row,) = rows_of(tokenizer, task, played)
    text = tokenizer.decode(row["input_ids"], clean_up_tokenization_spaces=False)
    expected = task.text(played.losses[0], played.actions[0])
    if "unigram" in kind:  # this family reads a line end as a space
        expected = expected.replace("\n", " ")
    assert expected.startswith(text.removeprefix(" "))
    spoken = [t for t, m in zip(row["input_ids"], row["completion_mask"], strict=True) if m]
    names = "".join(f" {task.actions[action]}" for action in played.actions[0])
    assert tokenizer.decode(spoken).split() == names.split()


def test_the_system_message_is_read():
    tokenizer = byte_pairs()
    model = tiny("llama", tokenizer)
    losses = [[[0.0, 1.0], [1.0, 0.0]]]
    task = Task(2, 2, chat=True, system="Be brief.")
    found = policies(model, tokenizer, task, losses)
    tokenizer.chat_template = "<|system|>Be brief.<|end|>" + CHAT
    expected = policies(model, tokenizer, task.replace(system=""), losses)
    torch.testing.assert_close(found, expected)


def test_templates_are_rendered_as_transformers_does():
    tokenizer = byte_pairs()
    tokenizer.chat_template = "{{ eos_token }}{{ messages[0].content }}<|assistant|>"
    model, losses = tiny("llama", tokenizer), [[[0.0, 1.0], [1.0, 0.0]]]
    asked = policies(model, tokenizer, Task(2, 2, chat=True), losses)
    opening = f"{tokenizer.eos_token}{Task(2, 2).opening}"
    plain = Task(2, 2, opening=opening, ask=Task(2, 2).ask + "<|assistant|>", answer="{action}")
    torch.testing.assert_close(asked[0, 0], policies(model, tokenizer, plain, losses)[0, 0])


def words():
    return scratch_tokenizer(scratch_task(2, 4))


@pytest.mark.parametrize(
    ("made", "task", "config", "message"),
    [
        (byte_pairs, Task(("a", "ab"), 4), {}, "cannot tell the action names 'a' and 'ab' apart"),
        (byte_pairs, Task(2, 4), {"max_position_embeddings": 64}, "context is 64: use fewer"),
        (byte_pairs, Task(2, 4), {"vocab_size": 300}, "they do not match"),
        (words, Task(2, 4), {}, "the tokenizer does not know a word in .*: does it belong"),
        (words, scratch_task(("left", "A"), 4), {}, "has no tokens for the action name 'left'"),
        (words, scratch_task(2, 4, chat=True), {}, "this tokenizer has no chat template"),
    ],
)
def test_texts_that_the_model_cannot_read_raise(made, task, config, message):
    tokenizer = made()
    model = tiny("llama", tokenizer, torch.float32, **config)
    with pytest.raises(ValueError, match=message):
        policies(model, tokenizer, task, draw_losses(task, 1, seed=0))
