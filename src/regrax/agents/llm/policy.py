r"""Policies of a causal language model, for all rounds of a batch of transcripts in one forward pass or round by round.

The tokens of a transcript form a path. Tokens that must be read beyond a decision point, to tell action names apart or
because a chat template puts them before an answer, form branches off the path. Branches are appended to the row of
tokens, with the positions they would have had, and an attention mask lets each token see only its own past, so one pass
reads the whole tree. Logits are computed only at the positions where something is decided, so no tensor of size
batch x length x vocabulary exists.
"""

import copy
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from regrax import _checks as checks
from regrax.agents.llm.task import Task
from regrax.agents.llm.transcript import (
    Branching,
    Pieces,
    Transcript,
    check_fits,
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
    checks.one_of("padding", padding, ("right", "left"))
    mask = np.ones(losses.shape[:2], bool) if mask is None else np.asarray(_to_cpu(mask))
    checks.shape("mask", mask, f"{losses.shape[:2]}", mask.shape == losses.shape[:2])
    if mask.dtype != bool or not mask[:, 0].all() or (mask[:, 1:] > mask[:, :-1]).any():
        raise ValueError(
            "mask must be True for the first rounds of each sequence, and for at least one"
        )
    if task.answers:
        expected = f"{mask.shape}, because this transcript includes answers"
        checks.shape("actions", actions, expected, np.shape(actions) == mask.shape)
        actions = np.asarray(actions)
        if actions.dtype.kind not in "iu" or not np.isin(actions, range(task.d)).all():
            raise ValueError(f"actions must be integers from 0 to {task.d - 1}, got other values")
    batch, pieces = transcripts(tokenizer, task, losses, actions, mask.sum(1))
    decided = decide(_read(model, batch, pieces, padding), pieces.branchings)
    read = torch.as_tensor(mask, device=decided.naming.device)
    played = torch.where(read[..., None], decided.policies, 1 / task.d)
    return Answers(played, torch.where(read, decided.naming, 0.0))


def _to_cpu(values: Any) -> Any:
    return values.detach().cpu() if isinstance(values, Tensor) else values


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
        places.append([grow(root, point.path) for point in pieces.branchings])
    places += places[-1:] * (len(pieces.asks) - len(places))  # missing rounds
    return Tree(tokens, parents, positions, places)


def _read(model: Any, batch: list[Transcript], pieces: Pieces, padding: str) -> Tensor:
    """Compute the logits of all decisions `(n, T, branchings, vocabulary)`; those of missing rounds are arbitrary."""
    bare = getattr(model, "module", model)  # inside `DistributedDataParallel`
    check_fits(bare, batch, pieces)
    trees = [build_tree(transcript, pieces) for transcript in batch]

    def pad(rows: list[list[int]]) -> Tensor:
        tensors = [torch.tensor(row) for row in rows]
        return pad_sequence(tensors, batch_first=True, padding_side=padding)

    positions = pad([tree.positions for tree in trees])
    mask = pad([[1] * len(tree.tokens) for tree in trees])
    starts = mask.argmax(1)
    attention: Any = mask.to(bare.device)
    if pieces.depth:
        attention = _tree_masks(bare, trees, starts, positions)
    places = torch.tensor([tree.places for tree in trees]) + starts[:, None, None]
    rows = torch.arange(len(trees))[:, None, None]

    def keep_decisions(_: Any, inputs: tuple[Tensor]) -> Tensor:
        return inputs[0][rows, places]

    with bare.get_output_embeddings().register_forward_pre_hook(keep_decisions):
        return model(
            input_ids=pad([tree.tokens for tree in trees]).to(bare.device),
            position_ids=positions.to(bare.device),
            attention_mask=attention,
        ).logits


def decide(logits: Tensor, branchings: list[Branching]) -> Answers:
    """Turn the logits at each branch point, `(..., branchings, vocabulary)`, into answers."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    played: Any = 0.0
    named: Any = 0.0
    for index, point in enumerate(branchings):
        scores = logits[..., index, list(point.tokens)]
        share = scores.logsumexp(-1, keepdim=True) - logits[..., index, :].logsumexp(-1, True)
        choice = torch.tensor(point.choice, device=logits.device)
        on_path = choice >= 0
        chosen = torch.log_softmax(scores, -1)[..., choice.clamp(min=0)]
        played = played + torch.where(on_path, chosen, 0.0)
        named = named + torch.where(on_path, chosen + share, 0.0)
    return Answers(played.exp(), named.logsumexp(-1))


def _tree_masks(model: Any, trees: list[Tree], starts: Tensor, positions: Tensor) -> Any:
    """Build additive attention masks, one for each kind of attention layer."""
    config = model.config.get_text_config()
    if "flash" in str(getattr(config, "_attn_implementation", "")):
        raise ValueError(
            "multi-token action names and chat templates need an attention mask, which flash attention does not "
            'support: load the model with attn_implementation="sdpa"'
        )
    kinds = set(getattr(config, "layer_types", None) or ())
    for kind in sorted(kinds - {"full_attention", "sliding_attention"}):
        raise ValueError(
            f"multi-token action names and chat templates need full or sliding attention, got {kind}"
        )
    width = positions.shape[1]
    visible = np.tile(np.eye(width, dtype=bool), (len(trees), 1, 1))  # padding sees itself
    for row, tree, start in zip(visible, trees, starts.tolist(), strict=True):
        for token, parent in enumerate(tree.parents[1:], 1):
            row[start + token] |= row[start + parent]
    full = _additive(model, torch.as_tensor(visible))
    window = getattr(config, "sliding_window", None)
    if window is None or (kinds and "sliding_attention" not in kinds):
        return full
    distances = positions[:, :, None] - positions[:, None, :]
    sliding = _additive(model, torch.as_tensor(visible) & (distances < window))
    if not kinds:
        return sliding
    return {"full_attention": full, "sliding_attention": sliding}


def _additive(model: Any, visible: Tensor) -> Tensor:
    hidden = ~visible[:, None].to(model.device)
    lowest = torch.finfo(model.dtype).min
    return torch.zeros_like(hidden, dtype=model.dtype).masked_fill(hidden, lowest)


class Reader:
    """Read a transcript as it grows, using the model's key-value cache for the tokens that were read before."""

    def __init__(self, model: Any, tokenizer: Any, task: Task) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.task = task
        self._read: list[int] = []
        self._logits: Any = None
        self._cache: Any = None

    @torch.no_grad()
    def policy(self, losses: Sequence[Any] = (), actions: Sequence[int] = ()) -> np.ndarray:
        """Distribution over the actions of the round that follows these losses `(t, d)`.

        Args:
            losses: the losses of the rounds so far.
            actions: the actions played in them, required if transcripts include answers.
        """
        if self.task.answers and len(actions) != len(losses):
            raise ValueError("the transcript includes answers, so actions must be given")
        rows = np.array([*losses, np.zeros(self.task.d)])  # the last round is only asked for
        played = [[*actions, 0]] if self.task.answers else None
        (transcript,), pieces = transcripts(self.tokenizer, self.task, rows[None], played)
        tokens = transcript.tokens
        if tokens[: len(self._read)] != self._read:
            self._read = []
            self._cache = None
        unread = tokens[len(self._read) :]
        if unread:
            check_fits(self.model, [transcript], pieces)
            self._logits, self._cache = self._forward(unread, self._cache)
            self._read = tokens
        logits = []
        for point in pieces.branchings:
            ahead = self._logits
            branch = [*pieces.suffix, *point.path]
            if branch:
                ahead, _ = self._forward(branch, copy.deepcopy(self._cache))
            logits.append(ahead)
        return decide(torch.stack(logits), pieces.branchings).policies.cpu().double().numpy()

    def _forward(self, tokens: list[int], cache: Any) -> tuple[Tensor, Any]:
        inputs = torch.tensor([tokens], device=self.model.device)
        output = self.model(
            input_ids=inputs, past_key_values=cache, use_cache=True, logits_to_keep=1
        )
        return output.logits[0, -1], output.past_key_values
