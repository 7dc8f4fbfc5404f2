r"""`policies`: what a causal language model plays in every round of a batch of transcripts, in one forward pass.

The tokens of a transcript are a path; what must be read beyond a decision to tell names apart, and what a chat template
puts before an answer, are branches that leave it. Branches are appended to the row of tokens with the positions they
would have had, and an attention mask lets each see its own past only, so one pass reads them all. Logits are computed
for the tokens that decide and no others: the rows of the output embedding are exchanged while the model runs, so that
whatever it does to its logits (soft-capping, scaling) it does to these.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.func import functional_call

from regrax import _checks as checks
from regrax.agents.llm._config import one_of
from regrax.agents.llm._names import Names
from regrax.agents.llm._task import Task
from regrax.agents.llm._transcript import Pieces, Sequence, check_fits, transcripts


def policies(
    model: Any,
    tokenizer: Any,
    task: Task,
    losses: Any,
    *,
    actions: Any = None,
    mask: Any = None,
    padding: str = "right",
) -> Tensor:
    r"""$\pi_t$ of a causal language model for every round of every sequence, `(batch, T, d)`, with gradient.

    Args:
        model: any Hugging Face causal language model.
        tokenizer: its tokenizer.
        task: how losses become a transcript and names become answers.
        losses: `(batch, T, d)`; the text rounds them (`Task.rounded`). No gradient flows to them.
        actions: the actions that were played, `(batch, T)`, where transcripts hold the answers.
        mask: which rounds there are, `(batch, T)`, a prefix of each row; policies of the others are uniform.
        padding: at which end transcripts of unequal length are filled up, `right` or `left`.
    """
    losses = np.asarray(_on_cpu(losses), float)
    fits = losses.ndim == 3 and losses.shape[2] == task.d and losses.shape[1] >= 1
    checks.shape("losses", losses, f"(batch, T, {task.d})", fits)
    checks.finite("losses", losses)
    one_of("padding", padding, ("right", "left"))
    there = _rounds_there(mask, losses)
    if task.answers:
        _check_actions(actions, losses)
    sequences, pieces = transcripts(tokenizer, task, losses, actions, there.sum(1))
    check_fits(model, sequences, pieces)
    logits, reads = _read(model, sequences, pieces, padding)
    found = decide(logits[np.nonzero(there)[0][:, None], reads], pieces.names)
    played = found.new_full(losses.shape, 1 / task.d)
    played[torch.as_tensor(there)] = found
    return played


def _on_cpu(values: Any) -> Any:
    return values.detach().cpu() if isinstance(values, Tensor) else values


def _check_actions(actions: Any, losses: np.ndarray) -> None:
    *shape, d = losses.shape
    wanted = f"{tuple(shape)}, as this transcript holds the answers"
    checks.shape("actions", actions, wanted, list(np.shape(actions)) == shape)
    numbers = np.asarray(actions)
    if numbers.dtype.kind not in "iu" or numbers.min() < 0 or numbers.max() >= d:
        raise ValueError(f"actions must be integers from 0 to {d - 1}, got others")


def _rounds_there(mask: Any, losses: np.ndarray) -> np.ndarray:
    if mask is None:
        return np.ones(losses.shape[:2], bool)
    mask = np.asarray(_on_cpu(mask))
    checks.shape("mask", mask, f"{losses.shape[:2]}", mask.shape == losses.shape[:2])
    if mask.dtype != bool or not mask[:, 0].all() or (mask[:, 1:] > mask[:, :-1]).any():
        raise ValueError(
            "mask must be true for the first rounds of each sequence, at least one, then false"
        )
    return mask


class Layout(NamedTuple):
    """One row of tokens: the path, then branches; for each token the one before it, and where to read decisions."""

    tokens: list[int]
    parents: list[int]
    positions: list[int]
    reads: list[list[int]]  # for every round and branching the token after which it is decided


def layout(sequence: Sequence, pieces: Pieces) -> Layout:
    """Append the branches of every decision to the path."""
    tokens, length = list(sequence.tokens), len(sequence.tokens)
    parents, positions = list(range(-1, length - 1)), list(range(length))

    def grow(parent: int, branch: Iterable[int]) -> int:
        for token in branch:
            tokens.append(token)
            parents.append(parent)
            positions.append(positions[parent] + 1)
            parent = len(tokens) - 1
        return parent

    reads = []
    for end in sequence.ends:
        root = grow(end - 1, pieces.suffix)
        reads.append([grow(root, one.path) for one in pieces.names.branchings])
    return Layout(tokens, parents, positions, reads)


def _read(
    model: Any, sequences: list[Sequence], pieces: Pieces, padding: str
) -> tuple[Tensor, np.ndarray]:
    """Logits `(n, length, rows)`, and where in its row each decision of all sequences, one after the other, is read."""
    layouts = [layout(one, pieces) for one in sequences]
    width = max(len(one.tokens) for one in layouts)
    tokens, positions, mask = np.zeros((3, len(layouts), width), int)
    for i, one in enumerate(layouts):
        here = slice(-len(one.tokens), None) if padding == "left" else slice(len(one.tokens))
        tokens[i, here], positions[i, here], mask[i, here] = one.tokens, one.positions, 1
    starts = mask.argmax(1)
    inputs = {"input_ids": tokens, "position_ids": positions, "attention_mask": mask}
    read: dict[str, Any] = {k: torch.as_tensor(v, device=model.device) for k, v in inputs.items()}
    if pieces.depth:
        read["attention_mask"] = _tree_masks(model, layouts, starts, positions)
    reads = [np.array(one.reads) + start for one, start in zip(layouts, starts, strict=True)]
    return forward_rows(model, pieces.names.rows, read).logits, np.concatenate(reads)


def decide(logits: Tensor, names: Names) -> Tensor:
    """From logits at every branching, `(..., branchings, rows)`, to policies `(..., d)`."""
    logits, rows = logits.to(torch.promote_types(logits.dtype, torch.float32)), names.rows
    total: Any = 0.0
    for index, one in enumerate(names.branchings):
        columns = [rows.index(token) for token in one.tokens]
        scores = torch.log_softmax(logits[..., index, columns], -1)
        choice = torch.tensor(one.choice, device=scores.device)
        total = total + torch.where(choice >= 0, scores[..., choice.clamp(min=0)], 0.0)
    return total.exp()


def forward_rows(model: Any, rows: tuple[int, ...], inputs: dict[str, Any]) -> Any:
    """The model's output with logits of these tokens only."""
    head, index = model.get_output_embeddings(), list(rows)
    if type(head) is not torch.nn.Linear:  # adapted or quantised: its own logits, then the columns
        output = model(**inputs)
        output.logits = output.logits[..., index]
        return output
    name = next(name for name, module in model.named_modules() if module is head)
    small = {f"{name}.{part}": values[index] for part, values in head.named_parameters()}
    return functional_call(model, small, (), inputs, tie_weights=False)


def _tree_masks(
    model: Any, layouts: list[Layout], starts: np.ndarray, positions: np.ndarray
) -> Any:
    """Additive masks of each token's own past, and for layers that look back a limited way those of that window."""
    config = model.config.get_text_config()
    window = getattr(config, "sliding_window", None)
    kinds = set(getattr(config, "layer_types", None) or ())
    sees = near = _sees(layouts, starts, positions.shape[1])
    if window is not None:
        near = sees & (positions[:, :, None] - positions[:, None, :] < window)
    masks = {"full_attention": sees, "sliding_attention": near}
    if unknown := kinds - set(masks):
        raise ValueError(
            f"names of several tokens and chat templates need full or sliding attention, got {sorted(unknown)[0]}"
        )
    if "sliding_attention" in kinds:
        return {kind: _additive(model, mask) for kind, mask in masks.items()}
    return _additive(model, sees if kinds else near)


def _sees(layouts: list[Layout], starts: np.ndarray, width: int) -> np.ndarray:
    sees = np.tile(np.eye(width, dtype=bool), (len(layouts), 1, 1))  # padding sees itself
    for row, one, start in zip(sees, layouts, starts, strict=True):
        for token, parent in enumerate(one.parents[1:], 1):
            row[start + token] |= row[start + parent]
    return sees


def _additive(model: Any, sees: np.ndarray) -> Tensor:
    allowed = torch.as_tensor(sees, device=model.device)[:, None]
    least = torch.finfo(model.dtype).min
    return torch.zeros_like(allowed, dtype=model.dtype).masked_fill(~allowed, least)
