"""A transcript as tokens: the text of all rounds, and the places in it where the model decides.

Pieces of text (the opening, each question, each answer, what is told) become tokens one by one, so that the tokens of
the first rounds do not depend on later ones: reading a whole transcript and playing it round by round are the same.
"""

import textwrap
from typing import Any, NamedTuple

import numpy as np

from regrax.llm._names import Names, names_of
from regrax.llm._task import Task

PLAIN = {
    "add_special_tokens": False,
    "return_attention_mask": False,
    "return_token_type_ids": False,
}
MAX_SHOWN_CHARACTERS = 60
MARK = "\u2063regrax\u2063"  # stands for the message while a chat template is taken apart


class Pieces(NamedTuple):
    """What the transcripts of a task have in common, as tokens."""

    opening: list[int]
    asks: list[list[int]]  # one per round
    suffix: list[int]  # what a chat template puts between the question and the answer
    names: Names


class Sequence(NamedTuple):
    """One transcript: its tokens, and for every round how many of them come before the decision."""

    tokens: list[int]
    ends: list[int]


def pieces_of(tokenizer: Any, task: Task, rounds: int | None = None) -> Pieces:
    """The tokens of the constant parts."""
    before, after = _around(tokenizer) if task.chat else ("", "")
    text = before + task.opening_text()
    opening = encode(tokenizer, [text])[0]
    if not task.chat:
        opening = _with_start(tokenizer, text, opening)
    asks = encode(tokenizer, [task.ask_text(t) for t in range(rounds or task.rounds)])
    if not opening + asks[0]:
        raise ValueError("a transcript must have words before the first answer, got none")
    suffix = encode(tokenizer, [after])[0] if after else []
    return Pieces(opening, asks, suffix, names_of(tokenizer, task))


def encode(tokenizer: Any, texts: list[str]) -> list[list[int]]:
    """The tokens of each text alone; raises at a text that the tokenizer has no tokens for."""
    if not texts:
        return []
    found = tokenizer(texts, **PLAIN)["input_ids"]
    unknown = tokenizer.unk_token_id
    if unknown is not None:
        for text, tokens in zip(texts, found, strict=True):
            if unknown in tokens:
                said = textwrap.shorten(text, MAX_SHOWN_CHARACTERS, placeholder=" ...")
                raise ValueError(
                    f"the tokenizer does not know a word of {said!r}: is it this model's?"
                )
    return found


def _with_start(tokenizer: Any, text: str, plain: list[int]) -> list[int]:
    """The opening with the tokens that the tokenizer puts before a text, without those it puts after."""
    whole = tokenizer(text)["input_ids"]
    extra = len(whole) - len(plain)
    for start in range(extra + 1):
        if whole[start : start + len(plain)] == plain:
            return whole[: start + len(plain)]
    return plain


def _around(tokenizer: Any) -> tuple[str, str]:
    """What a chat template puts before and after the user's message."""
    if not getattr(tokenizer, "chat_template", None):
        raise ValueError("this tokenizer has no chat template: use a task with chat=False")
    message = [{"role": "user", "content": MARK}]
    text = tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
    if text.count(MARK) != 1:
        raise ValueError("the chat template must hold the user's message once")
    before, after = text.split(MARK)
    return before, after


def sequences_of(
    tokenizer: Any, task: Task, pieces: Pieces, losses: np.ndarray, actions: Any, lengths: Any
) -> list[Sequence]:
    """The transcripts of a batch `(n, T, d)`, each up to the decision of its last round."""
    told = [
        task.tell_text(t, losses[i, t], None if actions is None else int(actions[i][t]))
        for i in range(len(losses))
        for t in range(int(lengths[i]) - 1)
    ]
    tells = iter(encode(tokenizer, told))
    actions = actions if task.answers else None
    return [
        _sequence(pieces, tells, None if actions is None else actions[i], int(lengths[i]))
        for i in range(len(losses))
    ]


def _sequence(pieces: Pieces, tells: Any, actions: Any, rounds: int) -> Sequence:
    tokens, ends = list(pieces.opening), []
    for t in range(rounds):
        tokens += pieces.asks[t]
        ends.append(len(tokens))
        if t + 1 < rounds:
            tokens += [] if actions is None else pieces.names.tokens[int(actions[t])]
            tokens += next(tells)
    return Sequence(tokens, ends)
