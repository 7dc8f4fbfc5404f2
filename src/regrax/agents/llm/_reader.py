"""A transcript read as it grows, with the model's cache of keys and values: round-by-round play."""

import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regrax.agents.llm._policies import decide, forward_rows
from regrax.agents.llm._task import Task
from regrax.agents.llm._transcript import Sequence, check_fits, encode, pieces_of


class Reader:
    """Holds what was said so far; `policy` decides, `tell` goes on to the next round."""

    def __init__(self, model: Any, tokenizer: Any, task: Task) -> None:
        self.model, self.tokenizer, self.task = model, tokenizer, task
        self.pieces = pieces_of(tokenizer, task, task.rounds)
        self.round, self._read = 0, 0
        self._tokens = self.pieces.opening + self.pieces.asks[0]
        self._logits: Any = None
        self._cache: Any = None

    @torch.no_grad()
    def policy(self) -> np.ndarray:
        """The distribution over actions of this round."""
        if self._read < len(self._tokens):  # what was said since the last decision
            check_fits(self.model, [Sequence(self._tokens, [])], self.pieces)
            self._logits, self._cache = self._forward(self._tokens[self._read :], self._cache)
            self._read = len(self._tokens)
        names, suffix = self.pieces.names, self.pieces.suffix
        logits = [self._after([*suffix, *one.path]) for one in names.branchings]
        return decide(torch.stack(logits), names).cpu().double().numpy()

    def tell(self, losses: Any, action: int | None = None) -> None:
        """The round is over; `action` is needed where the transcript holds the answers."""
        if self.task.answers:
            if action is None:
                raise ValueError("this transcript holds the answers, so the action must be given")
            self._tokens += self.pieces.names.tokens[action]
        told = self.task.tell_text(self.round, losses, action)
        self.round += 1
        for tokens in encode(self.tokenizer, [told, self.task.ask_text(self.round)]):
            self._tokens += tokens

    def _after(self, branch: list[int]) -> Tensor:
        """The logits after a branch, which leaves no trace."""
        return self._forward(branch, copy.deepcopy(self._cache))[0] if branch else self._logits

    def _forward(self, tokens: list[int], cache: Any) -> tuple[Tensor, Any]:
        read = torch.tensor([tokens], device=self.model.device)
        inputs = {"input_ids": read, "past_key_values": cache, "use_cache": True}
        output = forward_rows(self.model, self.pieces.names.rows, inputs)
        return output.logits[0, -1], output.past_key_values
