"""Whether a model can be told a task: it must know every token, and have room for the longest transcript."""

from typing import Any

import numpy as np

from regrax.llm._losses import draw_losses
from regrax.llm._task import Task
from regrax.llm._transcript import Pieces, Sequence, pieces_of, sequences_of

UNLIMITED_TOKENS = 2**31


def context_of(model: Any) -> int:
    """How many tokens a model can read; a great many where its config does not say."""
    config = model.config.get_text_config()
    return getattr(config, "max_position_embeddings", None) or UNLIMITED_TOKENS


def check_task(model: Any, tokenizer: Any, task: Task) -> None:
    """Raise unless the model can be told a sequence of the task's losses: asked before anything is written."""
    _check_told(model, tokenizer, task, draw_losses(task, 1, seed=0))


def check_room(model: Any, tokenizer: Any, task: Task) -> None:
    """Raise if the model could not be told even losses of zero in all rounds: asked before the first is played."""
    _check_told(model, tokenizer, task, np.zeros((1, task.rounds, task.d)))


def _check_told(model: Any, tokenizer: Any, task: Task, losses: np.ndarray) -> None:
    pieces, actions = pieces_of(tokenizer, task), np.zeros((1, task.rounds), int)
    told = sequences_of(tokenizer, task, pieces, losses, actions, [task.rounds])
    check_fits(model, told, pieces)


def check_fits(model: Any, sequences: list[Sequence], pieces: Pieces) -> None:
    """Raise unless the model knows every token and has room for the longest transcript."""
    deepest = max(len(one.path) for one in pieces.names.branchings) + len(pieces.suffix)
    longest = max(len(one.tokens) for one in sequences) + deepest
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
