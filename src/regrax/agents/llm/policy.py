r"""Policies of a causal language model, for all rounds of a batch of transcripts in one forward pass or round by round.

The tokens of a transcript form a path. Tokens that must be read beyond a decision point, to tell action names apart or
because a chat template puts them before an answer, form branches off the path. Branches are appended to the row of
tokens, with the positions they would have had, and an attention mask lets each token see only its own past, so one pass
reads the whole tree. Logits are computed only at the positions where something is decided, so no tensor of size
batch x length x vocabulary exists.
"""

import copy
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from regrax import _checks as checks
from regrax.agents.llm.task import Task, one_of
from regrax.agents.llm.transcript import (
    NameTree,
    Pieces,
    Transcript,
    check_fits,
    encode,
    tokenize_pieces,
    transcripts,
)


class Answers(NamedTuple):
    r"""Policies $\pi_t$ `(batch, T, d)`, and the log-probability `(batch, T)` that a free answer names an action."""

    policies: Tensor
    naming: Tensor


def policies(model: Any, tokenizer: Any, task: Task, losses: Any, **options: Any) -> Tensor:
    r"""Compute $\pi_t$ for every round of every loss sequence, `(batch, T, d)`: see `answers`."""
    return answers(model, tokenizer, task, losses, **options).policies


def answers(
    model: Any,
    tokenizer: Any,
    task: Task,
    losses: Any,
    *,
    actions: Any = None,
    mask: Any = None,
    padding: str = "right",
) -> Answers:
    r"""Read the policies of every round of every loss sequence in one pass, with gradients to the model.

    Args:
        model: a Hugging Face causal language model, or one wrapped for several processes.
        tokenizer: its tokenizer.
        task: turns losses into transcripts and actions into answers.
        losses: `(batch, T, d)`, rounded in the text. No gradient flows to them.
        actions: the played actions `(batch, T)`, required if transcripts include answers.
        mask: True for the rounds to read, `(batch, T)`, a prefix of each row. The other policies are uniform, and
            their answers certain to name an action.
        padding: the side on which shorter transcripts are padded, `right` or `left`.
    """
    losses = np.asarray(_to_cpu(losses), float)
    fits = losses.ndim == 3 and losses.shape[2] == task.d and losses.shape[1] >= 1
    checks.shape("losses", losses, f"(batch, T, {task.d})", fits)
    checks.finite("losses", losses)
    one_of("padding", padding, ("right", "left"))
    mask = np.ones(losses.shape[:2], bool) if mask is None else np.asarray(_to_cpu(mask))
    checks.shape("mask", mask, f"{losses.shape[:2]}", mask.shape == losses.shape[:2])
    if mask.dtype != bool or not mask[:, 0].all() or (mask[:, 1:] > mask[:, :-1]).any():
        raise ValueError(
            "mask must be True for the first rounds of each sequence, and for at least one"
        )
    if task.answers:
        _check_actions(actions, losses)
    found, pieces = transcripts(tokenizer, task, losses, actions, mask.sum(1))
    check_fits(_unwrapped(model), [one.tokens for one in found], pieces)
    logits = _read(model, found, pieces, padding)
    decided = decide(logits, pieces.names)
    played = decided.policies.new_full(losses.shape, 1 / task.d)
    naming = decided.naming.new_zeros(mask.shape)
    read = torch.as_tensor(mask)
    played[read] = decided.policies[read[:, : logits.shape[1]]]
    naming[read] = decided.naming[read[:, : logits.shape[1]]]
    return Answers(played, naming)


def _to_cpu(values: Any) -> Any:
    return values.detach().cpu() if isinstance(values, Tensor) else values


def _unwrapped(model: Any) -> Any:
    """The model inside `DistributedDataParallel`, or the model itself."""
    return getattr(model, "module", model)


def _check_actions(actions: Any, losses: np.ndarray) -> None:
    expected = f"{losses.shape[:2]}, because this transcript includes answers"
    checks.shape("actions", actions, expected, np.shape(actions) == losses.shape[:2])
    numbers = np.asarray(actions)
    d = losses.shape[2]
    if numbers.dtype.kind not in "iu" or numbers.min() < 0 or numbers.max() >= d:
        raise ValueError(f"actions must be integers from 0 to {d - 1}, got other values")


class Tree(NamedTuple):
    """A row of tokens: the path of a transcript, followed by its branches."""

    tokens: list[int]
    parents: list[int]  # for each token, the index of the token before it
    positions: list[int]
    places: list[list[int]]  # for each round and branching, the token after which it is decided


def build_tree(transcript: Transcript, pieces: Pieces) -> Tree:
    """Append the branches of every decision to the path of a transcript."""
    tokens = list(transcript.tokens)
    parents = list(range(-1, len(tokens) - 1))
    positions = list(range(len(tokens)))

    def grow(parent: int, branch: Iterable[int]) -> int:
        for token in branch:
            tokens.append(token)
            parents.append(parent)
            positions.append(positions[parent] + 1)
            parent = len(tokens) - 1
        return parent

    places = []
    for end in transcript.ends:
        root = grow(end - 1, pieces.suffix)
        places.append([grow(root, point.path) for point in pieces.names.branchings])
    return Tree(tokens, parents, positions, places)


def _read(model: Any, found: list[Transcript], pieces: Pieces, padding: str) -> Tensor:
    """Compute the logits of all decisions `(n, T, branchings, vocabulary)`; those of missing rounds are arbitrary."""
    trees = [build_tree(transcript, pieces) for transcript in found]
    width = max(len(tree.tokens) for tree in trees)
    rounds = max(len(tree.places) for tree in trees)
    tokens, positions, mask = np.zeros((3, len(trees), width), int)
    places = np.zeros((len(trees), rounds, len(pieces.names.branchings)), int)
    starts = np.zeros(len(trees), int)
    for i, tree in enumerate(trees):
        if padding == "left":
            starts[i] = width - len(tree.tokens)
        filled = slice(starts[i], starts[i] + len(tree.tokens))
        tokens[i, filled] = tree.tokens
        positions[i, filled] = tree.positions
        mask[i, filled] = 1
        places[i, : len(tree.places)] = np.array(tree.places) + starts[i]
    bare = _unwrapped(model)
    attention = torch.as_tensor(mask, device=bare.device)
    if pieces.depth:
        attention = _tree_masks(bare, trees, starts, positions)
    rows = np.arange(len(trees))[:, None, None]

    def keep_decisions(_: Any, inputs: tuple[Tensor]) -> Tensor:
        return inputs[0][rows, places]

    hook = bare.get_output_embeddings().register_forward_pre_hook(keep_decisions)
    with hook:
        return model(
            input_ids=torch.as_tensor(tokens, device=bare.device),
            position_ids=torch.as_tensor(positions, device=bare.device),
            attention_mask=attention,
        ).logits


def decide(logits: Tensor, names: NameTree) -> Answers:
    """Turn the logits at each branch point, `(..., branchings, vocabulary)`, into answers."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    played: Any = 0.0
    named: Any = 0.0
    for index, point in enumerate(names.branchings):
        scores = logits[..., index, list(point.tokens)]
        share = scores.logsumexp(-1, keepdim=True) - logits[..., index, :].logsumexp(-1, True)
        choice = torch.tensor(point.choice, device=logits.device)
        on_path = choice >= 0
        chosen = torch.log_softmax(scores, -1)[..., choice.clamp(min=0)]
        played = played + torch.where(on_path, chosen, 0.0)
        named = named + torch.where(on_path, chosen + share, 0.0)
    return Answers(played.exp(), named.logsumexp(-1))


def _tree_masks(model: Any, trees: list[Tree], starts: np.ndarray, positions: np.ndarray) -> Any:
    """Build additive attention masks, one for each kind of attention layer."""
    width = positions.shape[1]
    visible = np.tile(np.eye(width, dtype=bool), (len(trees), 1, 1))  # padding sees itself
    for row, tree, start in zip(visible, trees, starts, strict=True):
        for token, parent in enumerate(tree.parents[1:], 1):
            row[start + token] |= row[start + parent]
    config = model.config.get_text_config()
    if "flash" in str(getattr(config, "_attn_implementation", "")):
        raise ValueError(
            "multi-token action names and chat templates need an attention mask, which flash attention does not "
            'support: load the model with attn_implementation="sdpa"'
        )
    window = getattr(config, "sliding_window", None)
    nearby = visible
    if window is not None:
        nearby = visible & (positions[:, :, None] - positions[:, None, :] < window)
    kinds = set(getattr(config, "layer_types", None) or ())
    masks = {"full_attention": visible, "sliding_attention": nearby}
    for kind in sorted(kinds - set(masks)):
        raise ValueError(
            f"multi-token action names and chat templates need full or sliding attention, got {kind}"
        )
    if "sliding_attention" in kinds:
        return {kind: _additive(model, mask) for kind, mask in masks.items()}
    return _additive(model, visible if kinds else nearby)


def _additive(model: Any, visible: np.ndarray) -> Tensor:
    allowed = torch.as_tensor(visible, device=model.device)[:, None]
    lowest = torch.finfo(model.dtype).min
    return torch.zeros_like(allowed, dtype=model.dtype).masked_fill(~allowed, lowest)


class Reader:
    """Read a transcript as it grows, using the model's key-value cache.

    `policy` returns the distribution over the actions of the current round, and `tell` moves on to the next round.
    """

    def __init__(self, model: Any, tokenizer: Any, task: Task) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.task = task
        self.pieces = tokenize_pieces(tokenizer, task, task.rounds)
        self.round = 0
        self._tokens = self.pieces.opening + self.pieces.asks[0]
        self._unread = list(self._tokens)
        self._logits: Any = None
        self._cache: Any = None

    @torch.no_grad()
    def policy(self) -> np.ndarray:
        """Distribution over the actions of this round."""
        if self._unread:
            check_fits(self.model, [self._tokens], self.pieces)
            self._logits, self._cache = self._forward(self._unread, self._cache)
            self._unread = []
        logits = []
        for point in self.pieces.names.branchings:
            branch = [*self.pieces.suffix, *point.path]
            if branch:
                logits.append(self._forward(branch, copy.deepcopy(self._cache))[0])
            else:
                logits.append(self._logits)
        return decide(torch.stack(logits), self.pieces.names).policies.cpu().double().numpy()

    def tell(self, losses: Any, action: int | None = None) -> None:
        """End the round; `action` is required if the transcript includes answers."""
        new: list[int] = []
        if self.task.answers:
            if action is None:
                raise ValueError("the transcript includes answers, so an action must be given")
            new += self.pieces.names.tokens[action]
        report = self.task.tell_text(self.round, losses, action)
        self.round += 1
        for piece in encode(self.tokenizer, [report, self.task.ask_text(self.round)]):
            new += piece
        self._tokens += new
        self._unread += new

    def _forward(self, tokens: list[int], cache: Any) -> tuple[Tensor, Any]:
        inputs = torch.tensor([tokens], device=self.model.device)
        output = self.model(
            input_ids=inputs, past_key_values=cache, use_cache=True, logits_to_keep=1
        )
        return output.logits[0, -1], output.past_key_values
