"""A local language model in a learner's seat."""

import json
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import torch
from jaxtyping import Array, Float

from regrax.agents.llm._load import load_model
from regrax.agents.llm._policies import policies
from regrax.agents.llm._reader import Reader
from regrax.agents.llm._task import Task
from regrax.agents.llm._template import letters
from regrax.agents.llm._transcript import check_told
from regrax.learners import HostLearner, Key, runs_in_python

BATCH_TOKENS = 1 << 15
"""Tokens read in one forward pass, about, when many sequences are answered."""


class Said(NamedTuple):
    """What a model was told so far, and the reader that holds it, if it is still there."""

    task: Task
    past: tuple[tuple[Float[np.ndarray, "d"], int | None], ...]  # losses and action of every round
    reader: Any


class LanguageLearner(HostLearner):
    r"""$\pi_t$ = what a causal language model answers when told the losses of rounds $1, \dots, t-1$.

    The probabilities are exact: those of the action names, read from the model's logits. It plays wherever an outside
    agent does, and `evaluate` measures it. A task of bandit feedback sees the drawn action's loss only.

    Args:
        model: a causal language model.
        tokenizer: its tokenizer.
        task: how it is asked. Seated with another number of actions its names are A, B, C, ...
        label: how it prints; by default its spec.
    """

    model: Any = eqx.field(static=True)
    tokenizer: Any = eqx.field(static=True)
    task: Task = eqx.field(static=True)
    label: str = eqx.field(static=True, default="")

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Said:
        task = self._asked(actions, rounds)
        if rounds is not None:
            check_told(self.model, self.tokenizer, task, np.zeros((1, rounds, actions)))
        return Said(task, (), None)

    def _asked(self, actions: int, rounds: int | None) -> Task:
        task, rounds = self.task, rounds or self.task.rounds
        if (actions, rounds) == (task.d, task.rounds):
            return task
        names = task.actions if actions == task.d else letters(actions)
        return task.replace(actions=names, rounds=rounds, losses="gaussian")

    def policy(self, state: Said) -> Float[Array, "d"]:
        policy = self._reader(state).policy()
        return jnp.asarray(policy / policy.sum(), float)

    def _reader(self, state: Said) -> Reader:
        """The reader of this state; if it has gone on to another one, everything is read again."""
        if state.reader and state.reader.round == len(state.past):
            return state.reader
        reader = Reader(self.model, self.tokenizer, state.task)
        for told in state.past:
            reader.tell(*told)
        return reader

    def observe(self, loss: Any, action: Any) -> Any:
        if not self.task.answers:
            return loss
        if action is None:
            raise ValueError(f"{self} is told its own actions, so they must be drawn: give a seed")
        return int(action), loss

    def update(self, state: Said, feedback: Any) -> Said:
        action, loss = feedback if isinstance(feedback, tuple) else (None, feedback)
        runs_in_python([self], loss)
        told, reader = (np.asarray(loss, float), action), self._reader(state)
        reader.tell(*told)
        return Said(state.task, (*state.past, told), reader)

    def answer_batch(self, losses: Float[np.ndarray, "n T d"]) -> Float[np.ndarray, "n T d"]:
        """The policies of many sequences at once, a forward pass for several of them."""
        if self.task.answers:
            raise ValueError(f"{self} is told its own actions: it is played, not read at once")
        losses = np.asarray(losses, float)
        task = self._asked(losses.shape[2], losses.shape[1])
        length = len(self.tokenizer(task.text(losses[0]))["input_ids"])
        size = max(1, BATCH_TOKENS // length)
        with torch.no_grad():
            parts = [
                policies(self.model, self.tokenizer, task, losses[i : i + size]).cpu().numpy()
                for i in range(0, len(losses), size)
            ]
        return np.concatenate(parts)

    def __str__(self) -> str:
        return self.label or f'llm("{type(self.model).__name__}")'


def llm(
    path: str, chat: bool = False, device: str = "cpu", dtype: str = "float32", bandit: bool = False
) -> LanguageLearner:
    """The model in a folder as a learner; a `task.json` in it says how the model is asked.

    Args:
        path: a folder that `save_pretrained` wrote, or the name of a model on the hub.
        chat: ask through the tokenizer's chat template.
        device: where it runs.
        dtype: of its numbers.
        bandit: tell it the loss of the drawn action only.
    """
    model, tokenizer, task = load_model(path, device=device, dtype=dtype)
    task = task or Task(3, 20)
    asked = task.replace(chat=chat or task.chat, feedback="bandit" if bandit else task.feedback)
    given = {"chat": chat, "device": device, "dtype": dtype, "bandit": bandit}
    usual = (False, "cpu", "float32")
    named = [f"{name}={json.dumps(value)}" for name, value in given.items() if value not in usual]
    label = ", ".join([json.dumps(path, ensure_ascii=False), *named])
    return LanguageLearner(model, tokenizer, asked, f"llm({label})")
