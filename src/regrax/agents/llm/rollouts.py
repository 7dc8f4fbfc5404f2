"""Play a task with sampled actions, and turn the rollouts into rewards and data for other trainers."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import torch
from scipy.special import softmax

from regrax import _checks as checks
from regrax.agents.llm.losses import Episode, draw_losses, is_reactive
from regrax.agents.llm.policy import policies
from regrax.agents.llm.task import Task
from regrax.agents.llm.transcript import transcripts
from regrax.regret import external_regret
from regrax.theory import step_size

By = Literal["policy", "action", "excess", "squared"]
Row = dict[str, list[int]]
"""The tokens `input_ids` of a text, and its `completion_mask`, which is 1 for the model's own tokens."""


class Rollouts(NamedTuple):
    """Losses and policies `(n, T, d)` and sampled actions `(n, T)`."""

    losses: np.ndarray
    policies: np.ndarray
    actions: np.ndarray

    def regrets(self, by: str = "policy") -> np.ndarray:
        r"""Score each rollout; lower is better.

        Args:
            by: `policy` is $\sum_t \langle \pi_t, \ell_t \rangle - \min_j S_j$, `action` the regret of the sampled
                actions, `excess` that of the policies minus Hedge's with its best step on the same losses, `squared`
                the square of `policy`.
        """
        checks.one_of("by", by, get_args(By))
        played = self.actions if by == "action" else self.policies
        regret = np.asarray(external_regret(played, self.losses))
        if by == "excess":
            return regret - np.asarray(external_regret(hedge_policies(self.losses), self.losses))
        return regret**2 if by == "squared" else regret


def hedge_policies(losses: np.ndarray) -> np.ndarray:
    r"""Policies of Hedge with the best step for its horizon, $\mathrm{softmax}(-k^* S_{t-1})$, on each sequence.

    >>> hedge_policies(np.array([[[1.0, 0.0], [0.0, 0.0]]])).round(3).tolist()
    [[[0.5, 0.5], [0.236, 0.764]]]
    """
    before = losses.cumsum(1) - losses
    step = float(step_size(losses.shape[2], losses.shape[1]))
    return softmax(step * (before.min(-1, keepdims=True) - before), -1)


def turn_advantages(rollouts: Rollouts) -> np.ndarray:
    r"""Exact advantage of the sampled action in each round, $\langle \ell_t, \pi_t \rangle - \ell_{t,a_t}$, `(n, T)`.

    With these as weights, $\sum_t A_t \nabla \log \pi_t(a_t)$ is an unbiased estimate of minus the gradient of the
    expected total loss, provided that losses do not react to actions and that later policies do not read them (full
    feedback without answers). Otherwise it ignores how an action affects later rounds.

    >>> losses = np.array([[[0.0, 1.0]]])
    >>> turn_advantages(Rollouts(losses, np.array([[[0.5, 0.5]]]), np.array([[1]]))).tolist()
    [[-0.5]]
    """
    expected = (rollouts.losses * rollouts.policies).sum(-1)
    received = np.take_along_axis(rollouts.losses, rollouts.actions[..., None], -1)[..., 0]
    return expected - received


@torch.no_grad()
def play_rollouts(
    model: Any,
    tokenizer: Any,
    task: Task,
    losses: np.ndarray | None,
    *,
    seed: int,
    leanings: np.ndarray | None = None,
    seeds: Sequence[int] | np.ndarray | None = None,
) -> Rollouts:
    r"""Play one rollout per loss sequence.

    Args:
        model: a causal language model.
        tokenizer: its tokenizer.
        task: the task.
        losses: `(n, T, d)`, or None to play against opponents that react.
        seed: the random seed for the actions.
        leanings: added to the log-policies of each rollout, `(n, d)`.
        seeds: the random seeds for the opponents, one per rollout.
    """
    model.eval()
    rng = np.random.default_rng(seed)
    if losses is not None:
        episodes = [Episode(task, seed=0, losses=rows) for rows in losses]
    elif seeds is not None:
        episodes = [Episode(task, seed=int(episode_seed)) for episode_seed in seeds]
    else:
        raise ValueError("seeds must be given if losses is None")
    seen = np.zeros((len(episodes), task.rounds, task.d))
    played = np.zeros_like(seen)
    actions = np.zeros(seen.shape[:2], int)
    one_pass = losses is not None and not task.answers  # the text does not depend on the actions
    read: Any = policies(model, tokenizer, task, losses) if one_pass else None
    for t in range(task.rounds):
        if not one_pass:
            read = policies(model, tokenizer, task, seen[:, : t + 1], actions=actions[:, : t + 1])
        policy = read[:, t].double().cpu().numpy()
        if leanings is None:
            played[:, t] = policy / policy.sum(-1, keepdims=True)
        else:
            played[:, t] = softmax(np.log(np.maximum(policy, 1e-300)) + leanings, -1)
        for i, episode in enumerate(episodes):
            actions[i, t] = rng.choice(task.d, p=played[i, t])
            seen[i, t] = episode.step(actions[i, t])
    return Rollouts(seen, played, actions)


def play_groups(
    model: Any,
    tokenizer: Any,
    task: Task,
    groups: np.ndarray,
    *,
    seed: int,
    step: int,
    leaning: float = 0.0,
    total: int | None = None,
    rank: int = 0,
) -> Rollouts:
    """Play rollouts that share losses, or opponents, within their group.

    Args:
        model: a causal language model.
        tokenizer: its tokenizer.
        task: the task.
        groups: the group of every rollout, counted across all processes.
        seed: the random seed, used together with `step`.
        step: the training step.
        leaning: the standard deviation of the vector added to each rollout's log-policies.
        total: the number of groups across all processes, by default that of `groups`.
        rank: the rank of the process; each process samples its own actions.
    """
    total = int(groups[-1]) + 1 if total is None else total
    own_seed = seed * 1_000_003 + step
    action_seed = own_seed + 7_919 * rank
    leanings = None
    if leaning:
        leanings = leaning * np.random.default_rng(action_seed).normal(size=(len(groups), task.d))
    losses = None
    if not is_reactive(task):
        losses = draw_losses(task, total, seed=seed, step=step)[groups]
    seeds = groups + own_seed * total
    return play_rollouts(
        model, tokenizer, task, losses, seed=action_seed, leanings=leanings, seeds=seeds
    )


def evaluate_rollouts(
    model: Any, tokenizer: Any, task: Task, count: int = 512, *, seed: int = 10_000
) -> Rollouts:
    """Play on fresh losses.

    Args:
        model: a causal language model.
        tokenizer: its tokenizer.
        task: the task.
        count: the number of episodes.
        seed: the random seed for losses and actions.
    """
    checks.at_least("count", count, 1)
    losses = None if is_reactive(task) else draw_losses(task, count, seed=seed)
    return play_rollouts(model, tokenizer, task, losses, seed=seed, seeds=np.arange(count) + seed)


def rows_of(tokenizer: Any, task: Task, rollouts: Rollouts) -> Iterator[Row]:
    """Yield `input_ids` and `completion_mask` (1 for the model's own tokens) for supervised fine-tuning.

    A plain transcript that includes answers is one row. Otherwise every round is a row, as the model sees it.
    """
    batch, pieces = transcripts(tokenizer, task, rollouts.losses, rollouts.actions)
    for transcript, actions in zip(batch, rollouts.actions, strict=True):
        names = [pieces.names[action] for action in actions]
        if task.answers and not task.chat:
            row = answer_row(transcript.tokens, names[-1])
            for end, name in zip(transcript.ends, names, strict=True):
                row["completion_mask"][end : end + len(name)] = [1] * len(name)
            yield row
        else:
            for end, name in zip(transcript.ends, names, strict=True):
                yield answer_row([*transcript.tokens[:end], *pieces.suffix], name)


def answer_row(question: list[int], name: Sequence[int]) -> Row:
    """Join a question and the tokens of its answer."""
    mask = [0] * len(question) + [1] * len(name)
    return {"input_ids": [*question, *name], "completion_mask": mask}


def transcript_lines(task: Task, rollouts: Rollouts) -> Iterator[str]:
    """Yield rollouts as JSON lines for other trainers: messages, text, actions, policies, losses and regret."""
    spoken = task.replace(answers=True)
    columns = (*rollouts, rollouts.regrets(), rollouts.regrets("action"))
    for losses, played, actions, regret, action_regret in zip(*columns, strict=True):
        row = {
            "messages": _messages(spoken, losses, actions),
            "text": spoken.text(losses, actions),
            "actions": [task.actions[action] for action in actions],
            "policies": played.round(6).tolist(),
            "losses": losses.tolist(),
            "regret": float(regret),
            "action_regret": float(action_regret),
        }
        yield json.dumps(row, allow_nan=False)


def _messages(task: Task, losses: np.ndarray, actions: np.ndarray) -> list[dict[str, str]]:
    """Write a transcript as a conversation: the user asks, the assistant answers."""
    messages = []
    if task.system:
        messages.append({"role": "system", "content": task.system})
    text = task.opening_text()
    for t, (row, action) in enumerate(zip(losses, actions, strict=True)):
        messages.append({"role": "user", "content": (text + task.ask_text(t)).strip()})
        messages.append({"role": "assistant", "content": task.answer_text(int(action)).strip()})
        text = task.tell_text(t, row, int(action))
    return messages
