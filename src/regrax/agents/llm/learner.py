"""Local language models as learners."""

import json
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import torch
from jaxtyping import Array, Float

from regrax.agents.llm.models import load_model
from regrax.agents.llm.policy import Reader, policies
from regrax.agents.llm.task import Task, letters
from regrax.agents.llm.transcript import check_readable
from regrax.learners import HostLearner, Key, runs_in_python

TOKENS_PER_PASS = 1 << 15
"""Approximate number of tokens in a forward pass over many sequences."""


class History(NamedTuple):
    """The losses and, if the model reads them, the actions of the rounds so far, with a reader of their transcript."""

    losses: tuple[Float[np.ndarray, "d"], ...]
    actions: tuple[int, ...]
    reader: Reader


class LanguageLearner(HostLearner):
    r"""Play $\pi_t$, a causal language model's answer after reading the losses of rounds $1, \dots, t-1$.

    The probabilities of the action names are exact, computed from the model's logits. With bandit feedback, the model
    reads only the loss of the sampled action.

    Args:
        model: a causal language model.
        tokenizer: its tokenizer.
        task: the wording. If the number of actions differs, the names become A, B, C, ...
        label: how the learner is printed, by default as its spec.
    """

    model: Any = eqx.field(static=True)
    tokenizer: Any = eqx.field(static=True)
    task: Task = eqx.field(static=True)
    label: str = eqx.field(static=True, default="")

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> History:
        task = self._resized(actions, rounds)
        if rounds is not None:
            check_readable(self.model, self.tokenizer, task, np.zeros((1, rounds, actions)))
        return History((), (), Reader(self.model, self.tokenizer, task))

    def _resized(self, actions: int, rounds: int | None) -> Task:
        rounds = rounds or self.task.rounds
        if (actions, rounds) == (self.task.d, self.task.rounds):
            return self.task
        names = self.task.actions if actions == self.task.d else letters(actions)
        return self.task.replace(actions=names, rounds=rounds, losses="gaussian")

    def policy(self, state: History) -> Float[Array, "d"]:
        policy = state.reader.policy(state.losses, state.actions)
        return jnp.asarray(policy / policy.sum(), float)

    def observe(self, loss: Any, action: Any) -> Any:
        if not self.task.answers:
            return loss
        if action is None:
            raise ValueError(f"{self} reads its own actions, so they must be sampled: pass a seed")
        return int(action), loss

    def update(self, state: History, feedback: Any) -> History:
        actions = state.actions
        loss = feedback
        if isinstance(feedback, tuple):
            action, loss = feedback
            actions = (*actions, action)
        runs_in_python([self], loss)
        return History((*state.losses, np.asarray(loss, float)), actions, state.reader)

    def answer_batch(self, losses: Float[np.ndarray, "n T d"]) -> Float[np.ndarray, "n T d"]:
        """Compute the policies of many loss sequences, several per forward pass."""
        if self.task.answers:
            raise ValueError(f"{self} reads its own actions, so it must be played round by round")
        task = self._resized(losses.shape[2], losses.shape[1])
        length = len(self.tokenizer(task.text(losses[0]))["input_ids"])
        size = max(1, TOKENS_PER_PASS // length)
        parts = []
        with torch.no_grad():
            for start in range(0, len(losses), size):
                part = losses[start : start + size]
                parts.append(policies(self.model, self.tokenizer, task, part).cpu().numpy())
        return np.concatenate(parts)

    def __str__(self) -> str:
        return self.label or f'llm("{type(self.model).__name__}")'


def llm(
    path: str, chat: bool = False, device: str = "cpu", dtype: str = "float32", bandit: bool = False
) -> LanguageLearner:
    """Load a model as a learner; a `task.json` in its folder sets the wording.

    Args:
        path: a folder written by `save_pretrained`, or the name of a model on the hub.
        chat: ask through the tokenizer's chat template.
        device: where the model runs.
        dtype: the type of its parameters.
        bandit: report only the loss of the sampled action.
    """
    model, tokenizer, task = load_model(path, device=device, dtype=dtype)
    task = task or Task(3, 20)
    task = task.replace(chat=chat or task.chat, feedback="bandit" if bandit else task.feedback)
    arguments = [json.dumps(path, ensure_ascii=False)]
    options = {"chat": chat, "device": device, "dtype": dtype, "bandit": bandit}
    for name, value in options.items():
        if value not in (False, "cpu", "float32"):  # the defaults
            arguments.append(f"{name}={json.dumps(value)}")
    return LanguageLearner(model, tokenizer, task, f"llm({', '.join(arguments)})")
