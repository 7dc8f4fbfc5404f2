r"""Play with the model's own words: actions drawn from its policies, round by round, many transcripts at once."""

import json
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import torch

from regrax import _checks as checks
from regrax.llm._config import one_of
from regrax.llm._losses import Episode, distribution_of, draw_losses
from regrax.llm._policies import policies
from regrax.llm._task import Task
from regrax.llm._transcript import pieces_of, sequences_of
from regrax.theory import step_size
from regrax.training import InGame

By = Literal["policy", "action", "excess", "squared"]
"""What a rollout can be judged by."""


class Rollouts(NamedTuple):
    """What was played: losses and policies `(n, T, d)`, actions `(n, T)`."""

    losses: np.ndarray
    policies: np.ndarray
    actions: np.ndarray

    def regrets(self, by: str = "policy") -> np.ndarray:
        r"""One number per rollout, lower is better.

        `policy`: $\sum_t \langle \pi_t, \ell_t \rangle - \min_j S_j$. `action`: the same of the drawn actions.
        `excess`: `policy` less the regret of Hedge with its best step on the same losses. `squared`: the square of
        `policy`.
        """
        one_of("by", by, get_args(By))
        least = self.losses.sum(1).min(-1)
        if by == "action":
            played = np.take_along_axis(self.losses, self.actions[..., None], -1)
            return played.sum((1, 2)) - least
        regret = (self.policies * self.losses).sum((1, 2)) - least
        if by == "excess":
            return regret - ((hedge_policies(self.losses) * self.losses).sum((1, 2)) - least)
        return regret**2 if by == "squared" else regret


def hedge_policies(losses: np.ndarray, step: float | None = None) -> np.ndarray:
    r"""Hedge on every sequence, $\mathrm{softmax}(-k S_{t-1})$, by default with the best step $k^*$ of its size.

    >>> hedge_policies(np.array([[[1.0, 0.0], [0.0, 0.0]]]), step=1.0).round(3).tolist()
    [[[0.5, 0.5], [0.269, 0.731]]]
    """
    if step is None:
        step = float(step_size(losses.shape[2], losses.shape[1]))
    before = losses.cumsum(1) - losses
    weights = np.exp(-step * (before - before.min(-1, keepdims=True)))
    return weights / weights.sum(-1, keepdims=True)


@torch.no_grad()
def play_rollouts(
    model: Any,
    tokenizer: Any,
    task: Task,
    losses: np.ndarray | None,
    *,
    seed: int,
    leanings: np.ndarray | None = None,
    seeds: np.ndarray | None = None,
) -> Rollouts:
    r"""Play one rollout per sequence of losses.

    Args:
        model: a causal language model.
        tokenizer: its tokenizer.
        task: how it is asked.
        losses: `(n, T, d)`; None in a game whose opponents react, where `seeds` says which ones a rollout meets.
        seed: of the drawn actions.
        leanings: added to the logarithm of each rollout's policies, `(n, d)`.
        seeds: of the episodes.
    """
    model.eval()
    rng = np.random.default_rng(seed)
    if losses is None:
        assert seeds is not None
        episodes = [Episode(task, seed=int(one)) for one in seeds]
    else:
        episodes = [Episode(task, seed=0, losses=rows) for rows in losses]
    n, seen = len(episodes), np.zeros((len(episodes), task.rounds, task.d))
    played, actions = np.zeros_like(seen), np.zeros((n, task.rounds), int)
    whole = None
    if losses is not None and not task.answers:  # what is said does not depend on what is played
        whole = policies(model, tokenizer, task, losses).double().cpu().numpy()
    for t in range(task.rounds):
        if whole is None:
            past = policies(model, tokenizer, task, seen[:, : t + 1], actions=actions[:, : t + 1])
            now = past[:, t].double().cpu().numpy()
        else:
            now = whole[:, t]
        played[:, t] = _leaning(now, leanings)
        actions[:, t] = [rng.choice(task.d, p=row) for row in played[:, t]]
        seen[:, t] = [one.step(a) for one, a in zip(episodes, actions[:, t], strict=True)]
    return Rollouts(seen, played, actions)


def _leaning(policy: np.ndarray, leanings: np.ndarray | None) -> np.ndarray:
    if leanings is None:
        return policy / policy.sum(-1, keepdims=True)
    weights = np.log(np.maximum(policy, 1e-300)) + leanings
    weights = np.exp(weights - weights.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def is_reactive(task: Task) -> bool:
    """Whether the losses answer to what is played."""
    return isinstance(distribution_of(task), InGame)


def evaluate_rollouts(
    model: Any, tokenizer: Any, task: Task, count: int = 512, *, seed: int = 10_000
) -> Rollouts:
    """Play on fresh losses, to measure.

    Args:
        model: a causal language model.
        tokenizer: its tokenizer.
        task: to be played.
        count: how many episodes, an integer >= 1.
        seed: of losses and answers.
    """
    checks.at_least("count", count, 1)
    if is_reactive(task):
        seeds = np.arange(count) + seed
        return play_rollouts(model, tokenizer, task, None, seed=seed, seeds=seeds)
    return play_rollouts(model, tokenizer, task, draw_losses(task, count, seed=seed), seed=seed)


def rows_of(tokenizer: Any, task: Task, rollouts: Rollouts) -> Iterator[dict[str, list[int]]]:
    """Rows `input_ids` and `completion_mask` for supervised fine-tuning: 1 where the model speaks.

    A plain transcript with answers is one row; otherwise every round is one, as the model is asked it.
    """
    pieces = pieces_of(tokenizer, task)
    lengths = [task.rounds] * len(rollouts.losses)
    found = sequences_of(tokenizer, task, pieces, rollouts.losses, rollouts.actions, lengths)
    for sequence, actions in zip(found, rollouts.actions, strict=True):
        names = [list(pieces.names.tokens[a]) for a in actions]
        if task.answers and not task.chat:
            tokens, mask = (
                [*sequence.tokens, *names[-1]],
                [0] * (len(sequence.tokens) + len(names[-1])),
            )
            for end, name in zip(sequence.ends, names, strict=True):
                mask[end : end + len(name)] = [1] * len(name)
            yield {"input_ids": tokens, "completion_mask": mask}
            continue
        for end, name in zip(sequence.ends, names, strict=True):
            asked = [*sequence.tokens[:end], *pieces.suffix]
            yield {
                "input_ids": [*asked, *name],
                "completion_mask": [0] * len(asked) + [1] * len(name),
            }


def transcript_lines(task: Task, rollouts: Rollouts) -> Iterator[str]:
    """Rollouts as JSON lines for other trainers: the messages, the text, the numbers and the regret of each."""
    told = task if task.answers else task.replace(answers=True)
    regrets = zip(rollouts.regrets("policy"), rollouts.regrets("action"), strict=True)
    for i, (by_policy, by_action) in enumerate(regrets):
        losses, actions = rollouts.losses[i], rollouts.actions[i]
        row = {
            "messages": _messages(told, losses, actions),
            "text": told.text(losses, actions),
            "actions": [task.actions[a] for a in actions],
            "policies": rollouts.policies[i].round(6).tolist(),
            "losses": losses.tolist(),
            "regret": float(by_policy),
            "action_regret": float(by_action),
        }
        yield json.dumps(row, allow_nan=False)


def _messages(task: Task, losses: np.ndarray, actions: np.ndarray) -> list[dict[str, str]]:
    """The transcript as a conversation: questions by the user, answers by the assistant."""
    messages, said = [], task.opening_text()
    for t, (row, action) in enumerate(zip(losses, actions, strict=True)):
        messages.append({"role": "user", "content": (said + task.ask_text(t)).strip()})
        messages.append({"role": "assistant", "content": task.answer_text(int(action)).strip()})
        said = task.tell_text(t, row, int(action))
    return messages
