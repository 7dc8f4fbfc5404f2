"""A transcript as tokens: the text of all rounds, and the places in it where the model decides.

Pieces of text (the opening, each question, each answer, what is told) become tokens one by one, so that the tokens of
the first rounds do not depend on later ones: reading a whole transcript and playing it round by round are the same.
A model can be told a task if it knows every token, and has room for the longest transcript.
"""

import json
import textwrap
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from regrax.agents.llm._bounded import RENDER, bounded
from regrax.agents.llm._names import Names, names_of
from regrax.agents.llm._task import Task

MAX_SHOWN_CHARACTERS = 60
MAX_REASON = 200  # characters of another library's error
UNLIMITED_TOKENS = 2**31
MARK = "\u2063regrax\u2063"  # stands for the message while a chat template is taken apart


class Pieces(NamedTuple):
    """What the transcripts of a task have in common, as tokens."""

    opening: list[int]
    asks: list[list[int]]  # one per round
    suffix: list[int]  # what a chat template puts between the question and the answer
    names: Names

    @property
    def depth(self) -> int:
        """How many tokens beyond a decision must be read to tell the names apart."""
        return len(self.suffix) + max(len(one.path) for one in self.names.branchings)


class Sequence(NamedTuple):
    """One transcript: its tokens, and for every round how many of them come before the decision."""

    tokens: list[int]
    ends: list[int]


def pieces_of(tokenizer: Any, task: Task, rounds: int) -> Pieces:
    """The tokens of the constant parts."""
    before, after = _around(tokenizer) if task.chat else ("", "")
    text = before + task.opening_text()
    asked = [task.ask_text(t) for t in range(rounds)]
    opening, suffix, *asks = encode(tokenizer, [text, after, *asked])
    if not task.chat:
        opening = _with_start(tokenizer, text, opening)
    if not opening + asks[0]:
        raise ValueError("a transcript must have words before the first answer, got none")
    return Pieces(opening, asks, suffix, names_of(tokenizer, task))


def encode(tokenizer: Any, texts: list[str]) -> list[list[int]]:
    """The tokens of each text alone; raises at a text that the tokenizer has no tokens for."""
    if not texts:
        return []
    found = tokenizer(
        texts, add_special_tokens=False, return_attention_mask=False, return_token_type_ids=False
    )["input_ids"]
    for text, tokens in zip(texts, found, strict=True):
        if tokenizer.unk_token_id in tokens:  # None where it knows every word
            said = textwrap.shorten(text, MAX_SHOWN_CHARACTERS, placeholder=" ...")
            raise ValueError(f"the tokenizer does not know a word of {said!r}: is it this model's?")
    return found


def _with_start(tokenizer: Any, text: str, plain: list[int]) -> list[int]:
    """The opening with the tokens that the tokenizer puts before a text, without those it puts after."""
    whole = tokenizer(text)["input_ids"]
    for start in range(len(whole) - len(plain) + 1):
        if whole[start : start + len(plain)] == plain:
            return whole[: start + len(plain)]
    return plain


def _around(tokenizer: Any) -> tuple[str, str]:
    """What a chat template puts before and after the user's message."""
    if not getattr(tokenizer, "chat_template", None):
        raise ValueError("this tokenizer has no chat template: use a task with chat=False")
    names = json.dumps(tokenizer.special_tokens_map, default=str)
    text = _rendered(tokenizer.get_chat_template(), names)
    if text.count(MARK) != 1:
        raise ValueError("the chat template must hold the user's message once")
    before, after = text.split(MARK)
    return before, after


@lru_cache
def _rendered(template: str, names: str) -> str:
    """Render a chat template, which is code of others, with the mark as the user's message."""
    message = [{"role": "user", "content": MARK}]
    try:
        return bounded(RENDER, template, message, json.loads(names))
    except ValueError as error:
        said = textwrap.shorten(str(error), MAX_REASON, placeholder=" ...")
        raise ValueError(f"the chat template cannot be used: {said}") from None


def transcripts(
    tokenizer: Any, task: Task, losses: np.ndarray, actions: Any = None, lengths: Any = None
) -> tuple[list[Sequence], Pieces]:
    """The transcripts of a batch `(n, T, d)`, each up to the decision of its last round, and what they share.

    Args:
        tokenizer: of the model.
        task: how it is told.
        losses: of every round.
        actions: that were played, `(n, T)`, where transcripts name them.
        lengths: how many rounds each has; by default all.
    """
    n, rounds, _ = losses.shape
    lengths = [rounds] * n if lengths is None else lengths
    played = [[None] * rounds] * n if actions is None else np.asarray(actions).tolist()
    pieces = pieces_of(tokenizer, task, rounds)
    told = [
        task.tell_text(t, losses[i, t], played[i][t])
        for i in range(n)
        for t in range(lengths[i] - 1)
    ]
    tells = iter(encode(tokenizer, told))
    said = pieces.names.tokens if task.answers else None
    rows = zip(played, lengths, strict=True)
    return [_sequence(pieces, said, row[:length], tells) for row, length in rows], pieces


def _sequence(
    pieces: Pieces, said: Any, actions: list[Any], tells: Iterator[list[int]]
) -> Sequence:
    tokens, ends = list(pieces.opening), []
    for t, action in enumerate(actions):
        tokens += pieces.asks[t]
        ends.append(len(tokens))
        if t + 1 < len(actions):
            tokens += [*(said[action] if said else ()), *next(tells)]
    return Sequence(tokens, ends)


def context_of(model: Any) -> int:
    """How many tokens a model can read; a great many where its config does not say."""
    config = model.config.get_text_config()
    return getattr(config, "max_position_embeddings", None) or UNLIMITED_TOKENS


def check_told(model: Any, tokenizer: Any, task: Task, losses: np.ndarray) -> None:
    """Raise unless the model can be told these losses, `(n, T, d)`: asked before anything is written or played."""
    actions = np.zeros(losses.shape[:2], int)
    check_fits(model, *transcripts(tokenizer, task, losses, actions))


def check_fits(model: Any, sequences: list[Sequence], pieces: Pieces) -> None:
    """Raise unless the model knows every token and has room for the longest transcript."""
    longest = max(len(one.tokens) for one in sequences) + pieces.depth
    if longest > (room := context_of(model)):
        raise ValueError(
            f"the transcript has {longest} tokens, but the model's context holds {room}: fewer rounds, or shorter words"
        )
    known = model.get_input_embeddings().weight.shape[0]
    used = [one.tokens for one in sequences] + [pieces.suffix, pieces.names.rows]
    largest = max(max(tokens, default=0) for tokens in used)
    if largest >= known:
        raise ValueError(
            f"the tokenizer has token {largest}, but the model knows {known}: they do not belong together"
        )
