"""A transcript read as it grows, with the model's cache of keys and values: round-by-round play."""

import copy
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regrax.llm._context import check_fits
from regrax.llm._policies import chosen, forward_rows
from regrax.llm._task import Task
from regrax.llm._transcript import Sequence, encode, pieces_of


class Reader:
    """Holds what was said so far; `policy` decides, `tell` goes on to the next round."""

    def __init__(self, model: Any, tokenizer: Any, task: Task) -> None:
        self.model, self.tokenizer, self.task = model, tokenizer, task
        self.pieces = pieces_of(tokenizer, task)
        self.round, self._length, self._cache = 0, 0, None
        self._new = self.pieces.opening + self.pieces.asks[0]
        self._logits: Tensor | None = None

    @torch.no_grad()
    def policy(self) -> np.ndarray:
        """The distribution over actions of this round."""
        self._catch_up()
        total: Any = 0.0
        for one in self.pieces.names.branchings:
            columns = [self.pieces.names.rows.index(token) for token in one.tokens]
            here = self._after([*self.pieces.suffix, *one.path])[columns]
            here = here.to(torch.promote_types(here.dtype, torch.float32))
            total = total + chosen(torch.log_softmax(here, -1), one)
        return total.exp().cpu().double().numpy()

    def tell(self, losses: Any, action: int | None = None) -> None:
        """The round is over; `action` is needed where the transcript holds the answers."""
        if self.task.answers and action is None:
            raise ValueError("this transcript holds the answers, so the action must be given")
        said = self.pieces.names.tokens[action] if self.task.answers and action is not None else ()
        told = self.task.tell_text(self.round, losses, action)
        self.round += 1
        self._new += [*said, *encode(self.tokenizer, [told])[0]]
        if self.round >= len(self.pieces.asks):
            self.pieces.asks.append(encode(self.tokenizer, [self.task.ask_text(self.round)])[0])
        self._new += self.pieces.asks[self.round]

    def _catch_up(self) -> None:
        """Read what was said since the last decision."""
        if self._new:
            said = Sequence([0] * self._length + self._new, [])
            check_fits(self.model, [said], self.pieces)
            self._logits, self._cache = self._forward(self._new, self._cache, self._length)
            self._length += len(self._new)
            self._new = []

    def _after(self, branch: list[int]) -> Tensor:
        """The logits after a branch, which leaves no trace."""
        assert self._logits is not None
        if not branch:
            return self._logits
        return self._forward(branch, copy.deepcopy(self._cache), self._length)[0]

    def _forward(self, tokens: list[int], cache: Any, start: int) -> tuple[Tensor, Any]:
        device = self.model.get_input_embeddings().weight.device
        inputs = {
            "input_ids": torch.tensor([tokens], device=device),
            "position_ids": torch.arange(start, start + len(tokens), device=device)[None],
            "past_key_values": cache,
            "use_cache": True,
        }
        output = forward_rows(self.model, self.pieces.names.rows, inputs)
        return output.logits[0, -1], output.past_key_values
