r"""Play with the model's own words: actions drawn from its policies, round by round, many transcripts at once."""

import json
from collections.abc import Iterator, Sequence as SequenceOf
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import torch
from scipy.special import softmax

from regrax import _checks as checks
from regrax.agents.llm._config import one_of
from regrax.agents.llm._losses import Episode, draw_losses, is_reactive
from regrax.agents.llm._policies import policies
from regrax.agents.llm._task import Task
from regrax.agents.llm._transcript import transcripts
from regrax.regret import external_regret
from regrax.theory import step_size

By = Literal["policy", "action", "excess", "squared"]
"""What a rollout can be judged by."""
Row = dict[str, list[int]]
"""The tokens `input_ids` of a text, and its `completion_mask`: 1 where the model speaks."""


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
        played = self.actions if by == "action" else self.policies
        regret = np.asarray(external_regret(played, self.losses))
        if by == "excess":
            return regret - np.asarray(external_regret(hedge_policies(self.losses), self.losses))
        return regret**2 if by == "squared" else regret


def hedge_policies(losses: np.ndarray) -> np.ndarray:
    r"""Hedge on every sequence with the best step of its size, $\mathrm{softmax}(-k^* S_{t-1})$.

    >>> hedge_policies(np.array([[[1.0, 0.0], [0.0, 0.0]]])).round(3).tolist()
    [[[0.5, 0.5], [0.236, 0.764]]]
    """
    before, step = losses.cumsum(1) - losses, float(step_size(losses.shape[2], losses.shape[1]))
    return softmax(step * (before.min(-1, keepdims=True) - before), -1)


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
    seen, played = np.zeros((2, len(episodes), task.rounds, task.d))
    actions = np.zeros(seen.shape[:2], int)
    known = (
        losses is not None and not task.answers
    )  # what is said does not depend on what is played
    read: Any = policies(model, tokenizer, task, losses) if known else None
    for t in range(task.rounds):
        if not known:
            read = policies(model, tokenizer, task, seen[:, : t + 1], actions=actions[:, : t + 1])
        played[:, t] = _leaning(read[:, t].double().cpu().numpy(), leanings)
        actions[:, t] = [rng.choice(task.d, p=row) for row in played[:, t]]
        seen[:, t] = [one.step(a) for one, a in zip(episodes, actions[:, t], strict=True)]
    return Rollouts(seen, played, actions)


def _leaning(policy: np.ndarray, leanings: np.ndarray | None) -> np.ndarray:
    if leanings is None:
        return policy / policy.sum(-1, keepdims=True)
    return softmax(np.log(np.maximum(policy, 1e-300)) + leanings, -1)


def play_groups(
    model: Any, tokenizer: Any, task: Task, groups: np.ndarray, seed: int, step: int, leaning: float
) -> Rollouts:
    """Play rollouts that share their losses, or their opponents, with all of their group.

    Args:
        model: a causal language model.
        tokenizer: its tokenizer.
        task: how it is asked.
        groups: the group of every rollout, an index from 0.
        seed: of everything that is drawn, together with `step`.
        step: of training.
        leaning: standard deviation of what is added to each rollout's log-policies.
    """
    own, count = seed * 1_000_003 + step, groups[-1] + 1
    losses = leanings = None
    if leaning:
        leanings = leaning * np.random.default_rng(own).normal(size=(len(groups), task.d))
    if not is_reactive(task):
        losses = draw_losses(task, count, seed=seed, step=step)[groups]
    seeds = groups + own * count
    return play_rollouts(model, tokenizer, task, losses, seed=own, leanings=leanings, seeds=seeds)


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
    losses = None if is_reactive(task) else draw_losses(task, count, seed=seed)
    return play_rollouts(model, tokenizer, task, losses, seed=seed, seeds=np.arange(count) + seed)


def rows_of(tokenizer: Any, task: Task, rollouts: Rollouts) -> Iterator[Row]:
    """Rows `input_ids` and `completion_mask` for supervised fine-tuning: 1 where the model speaks.

    A plain transcript with answers is one row; otherwise every round is one, as the model is asked it.
    """
    found, pieces = transcripts(tokenizer, task, rollouts.losses, rollouts.actions)
    for sequence, actions in zip(found, rollouts.actions, strict=True):
        names = [pieces.names.tokens[a] for a in actions]
        answers = list(zip(sequence.ends, names, strict=True))
        if task.answers and not task.chat:
            row = answer_row(sequence.tokens, names[-1])
            for end, name in answers:
                row["completion_mask"][end : end + len(name)] = [1] * len(name)
            yield row
        else:
            for end, name in answers:
                yield answer_row([*sequence.tokens[:end], *pieces.suffix], name)


def answer_row(asked: list[int], name: SequenceOf[int]) -> Row:
    """A question and the tokens of its answer."""
    mask = [0] * len(asked) + [1] * len(name)
    return {"input_ids": [*asked, *name], "completion_mask": mask}


def transcript_lines(task: Task, rollouts: Rollouts) -> Iterator[str]:
    """Rollouts as JSON lines for other trainers: the messages, the text, the numbers and the regret of each."""
    told = task.replace(answers=True)
    columns = (*rollouts, rollouts.regrets(), rollouts.regrets("action"))
    for losses, played, actions, regret, action_regret in zip(*columns, strict=True):
        row = {
            "messages": _messages(told, losses, actions),
            "text": told.text(losses, actions),
            "actions": [task.actions[a] for a in actions],
            "policies": played.round(6).tolist(),
            "losses": losses.tolist(),
            "regret": float(regret),
            "action_regret": float(action_regret),
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
