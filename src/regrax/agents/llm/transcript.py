r"""Transcripts as tokens, and the positions in them where the model decides.

The pieces of a text (opening, questions, answers, reports) are tokenized separately, each as the continuation of
another text. The tokens of early rounds therefore never depend on later rounds, and reading a complete transcript gives
the same policies as playing it round by round.

Action names form a tree of tokens. Where names diverge, the model chooses among the tokens that can follow:

    P(name) = prod over the branchings on its path of  softmax(logits of the tokens that can follow)[its token]

This is the distribution of an answer sampled from the model when only action names are allowed. If each name is a
single token, it is the softmax over the logits of those tokens.
"""

import contextlib
import json
import textwrap
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from regrax.agents.llm._sandbox import RENDER, run_sandboxed
from regrax.agents.llm.task import Task

ANCHORS = ("\n", ":", "a", "0")
MARK = "\u2063regrax\u2063"  # placeholder for the user's message while a chat template is split


class Branching(NamedTuple):
    """A point where action names diverge."""

    path: tuple[int, ...]  # the tokens of the name so far
    tokens: tuple[int, ...]  # the tokens that can follow
    choice: tuple[int, ...]  # the index of each action's token, or -1 if it is not on this path


class Pieces(NamedTuple):
    """The tokens that all transcripts of a task share."""

    opening: list[int]
    asks: list[list[int]]  # the question of each round
    suffix: list[int]  # what a chat template puts between the question and the answer
    names: list[tuple[int, ...]]  # the answer that names each action
    branchings: list[Branching]  # where the names diverge

    @property
    def depth(self) -> int:
        """Number of tokens after a question that must be read before a decision."""
        return len(self.suffix) + max(len(point.path) for point in self.branchings)


class Transcript(NamedTuple):
    """The tokens of a transcript and, for each round, how many of them precede the decision."""

    tokens: list[int]
    ends: list[int]


def tokenize_pieces(tokenizer: Any, task: Task, rounds: int) -> Pieces:
    """Tokenize the parts that all transcripts of a task share."""
    before = after = ""
    if task.chat:
        before, after = _chat_frame(tokenizer, task.system)
    text = before + task.opening_text()
    opening = _tokenize(tokenizer, [text])[0]
    if not task.chat:  # keep the tokens that the tokenizer puts before a text, such as BOS
        whole = tokenizer(text)["input_ids"]
        for start in range(len(whole) - len(opening) + 1):
            if whole[start : start + len(opening)] == opening:
                opening = whole[: start + len(opening)]
                break
    suffix, *asks = encode(tokenizer, [after, *(task.ask_text(t) for t in range(rounds))])
    if not opening + asks[0]:
        raise ValueError("a transcript must have text before the first answer, got none")
    names = _name_tokens(tokenizer, task)
    return Pieces(opening, asks, suffix, names, _branchings(names))


def _chat_frame(tokenizer: Any, system: str) -> tuple[str, str]:
    """Split a chat template into the text before and after the user's message."""
    if not getattr(tokenizer, "chat_template", None):
        raise ValueError("this tokenizer has no chat template: use a task with chat=False")
    special_tokens = json.dumps(tokenizer.special_tokens_map, default=str)
    text = _rendered(tokenizer.get_chat_template(), special_tokens, system)
    if text.count(MARK) != 1:
        raise ValueError("the chat template must contain the user's message exactly once")
    before, after = text.split(MARK)
    return before, after


@lru_cache
def _rendered(template: str, special_tokens: str, system: str) -> str:
    """Render a chat template, which is untrusted code, with the mark as the user's message."""
    messages = [{"role": "user", "content": MARK}]
    if system:
        messages.insert(0, {"role": "system", "content": system})
    try:
        return run_sandboxed(RENDER, template, messages, json.loads(special_tokens))
    except ValueError as error:
        raise ValueError(f"the chat template cannot be used: {error}") from None


def encode(tokenizer: Any, texts: list[str]) -> list[list[int]]:
    """Tokenize each text as the continuation of another text.

    Tokenizers of the sentencepiece family put a space before every text. For those, each text is tokenized after a
    short anchor whose tokens are then removed, so that the pieces concatenate to the output of `Task.text`.
    """
    newline, word, both = _tokenize(tokenizer, ["\n", "a", "\na"])
    if both == newline + word:
        pieces = _tokenize(tokenizer, texts)
    else:
        pieces = [_continuation(tokenizer, text) for text in texts]
    for text, tokens in zip(texts, pieces, strict=True):
        if tokenizer.unk_token_id in tokens:  # None if the tokenizer knows every word
            shown = textwrap.shorten(text, 60, placeholder=" ...")
            raise ValueError(
                f"the tokenizer does not know a word in {shown!r}: does it belong to this model?"
            )
    return pieces


def _tokenize(tokenizer: Any, texts: list[str]) -> list[list[int]]:
    if not texts:
        return []
    options = {"return_attention_mask": False, "return_token_type_ids": False}
    return tokenizer(texts, add_special_tokens=False, **options)["input_ids"]


def _continuation(tokenizer: Any, text: str) -> list[int]:
    for anchor in ANCHORS:
        start, whole = _tokenize(tokenizer, [anchor, anchor + text])
        if whole[: len(start)] == start:
            return whole[len(start) :]
    raise ValueError(f"the tokenizer cannot continue a text with {text!r:.60}")


def _name_tokens(tokenizer: Any, task: Task) -> list[tuple[int, ...]]:
    names = []
    for action, name in enumerate(task.actions):
        text = task.answer_text(action)
        if task.chat:
            text = text.lstrip()
        tokens = ()
        with contextlib.suppress(ValueError):  # an unknown word
            tokens = tuple(encode(tokenizer, [text])[0])
        if not tokens:
            raise ValueError(f"the tokenizer has no tokens for the action name {name!r}")
        names.append(tokens)
    for first, second in pairwise(sorted(range(task.d), key=names.__getitem__)):
        if names[second][: len(names[first])] == names[first]:
            raise ValueError(
                f"the tokenizer cannot tell the action names {task.actions[first]!r} and {task.actions[second]!r} "
                "apart: the tokens of the first are a prefix of the second's"
            )
    return names


def _branchings(names: list[tuple[int, ...]]) -> list[Branching]:
    paths = {name[:length] for name in names for length in range(len(name))}
    branchings = []
    for path in sorted(paths, key=lambda path: (len(path), path)):
        ahead = [name[len(path)] if name[: len(path)] == path else -1 for name in names]
        following = tuple(sorted(set(ahead) - {-1}))
        if len(following) > 1:
            choice = tuple(-1 if token == -1 else following.index(token) for token in ahead)
            branchings.append(Branching(path, following, choice))
    return branchings


def transcripts(
    tokenizer: Any,
    task: Task,
    losses: np.ndarray,
    actions: Any = None,
    lengths: Sequence[int] | np.ndarray | None = None,
) -> tuple[list[Transcript], Pieces]:
    """Tokenize the transcripts of a batch, each up to the decision of its last round.

    Args:
        tokenizer: the model's tokenizer.
        task: the task.
        losses: `(n, T, d)`.
        actions: the played actions `(n, T)`, if the transcripts mention them.
        lengths: the number of rounds of each transcript, by default `T`.
    """
    n, rounds, _ = losses.shape
    lengths = np.full(n, rounds) if lengths is None else np.asarray(lengths)
    pieces = tokenize_pieces(tokenizer, task, rounds)
    answers = [[None] * rounds] * n if actions is None else np.asarray(actions).tolist()
    reports = []
    for rows, played, length in zip(losses, answers, lengths, strict=True):
        reports += [task.tell_text(t, rows[t], played[t]) for t in range(length - 1)]
    report_tokens = iter(encode(tokenizer, reports))
    batch = []
    for played, length in zip(answers, lengths, strict=True):
        tokens = pieces.opening + pieces.asks[0]
        ends = [len(tokens)]
        for t in range(1, length):
            if task.answers:
                tokens += pieces.names[played[t - 1]]
            tokens += next(report_tokens) + pieces.asks[t]
            ends.append(len(tokens))
        batch.append(Transcript(tokens, ends))
    return batch, pieces


def context_length(model: Any) -> int:
    """Number of tokens that a model can read, or 2^31 if its config sets no limit."""
    config = model.config.get_text_config()
    return getattr(config, "max_position_embeddings", None) or 2**31


def check_readable(model: Any, tokenizer: Any, task: Task, losses: np.ndarray) -> None:
    """Raise ValueError unless the model can read the transcripts of these losses `(n, T, d)`."""
    actions = np.zeros(losses.shape[:2], int)
    batch, pieces = transcripts(tokenizer, task, losses, actions)
    check_fits(model, batch, pieces)


def check_fits(model: Any, batch: list[Transcript], pieces: Pieces) -> None:
    """Raise ValueError unless the model knows every token and its context is long enough."""
    token_lists = [transcript.tokens for transcript in batch]
    longest = max(map(len, token_lists)) + pieces.depth
    room = context_length(model)
    if longest > room:
        raise ValueError(
            f"the transcript has {longest} tokens, but the model's context is {room}: use fewer rounds or shorter texts"
        )
    known = model.get_input_embeddings().weight.shape[0]
    largest = max(map(max, [*token_lists, [0, *pieces.suffix], *pieces.names]))
    if largest >= known:
        raise ValueError(
            f"the tokenizer has token {largest}, but the model has {known} tokens: they do not match"
        )
