r"""`policies`: what a causal language model plays in every round of a batch of transcripts, in one forward pass.

The tokens of a transcript are a path; what must be read beyond a decision to tell names apart, and what a chat template
puts before an answer, are branches that leave it. Branches are appended to the row of tokens with the positions they
would have had, and an attention mask lets each see its own past only, so one pass reads them all. Logits are computed
for the tokens that decide and no others: the rows of the output embedding are exchanged while the model runs, so that
whatever it does to its logits (soft-capping, scaling) it does to these.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.func import functional_call

from regrax import _checks as checks
from regrax.llm._context import check_fits
from regrax.llm._names import Branching, Names
from regrax.llm._task import Task
from regrax.llm._transcript import Pieces, Sequence, pieces_of, sequences_of


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
    losses = np.asarray(losses.detach().cpu() if isinstance(losses, Tensor) else losses, float)
    fits = losses.ndim == 3 and losses.shape[2] == task.d and losses.shape[1] >= 1
    checks.shape("losses", losses, f"(batch, T, {task.d})", fits)
    checks.finite("losses", losses)
    lengths = _lengths(mask, losses)
    if task.answers:
        _check_actions(actions, losses)
    pieces = pieces_of(tokenizer, task, losses.shape[1])
    sequences = sequences_of(tokenizer, task, pieces, losses, actions, lengths)
    check_fits(model, sequences, pieces)
    return _read(model, sequences, pieces, lengths, losses.shape[1], padding)


def _check_actions(actions: Any, losses: np.ndarray) -> None:
    n, rounds, d = losses.shape
    if np.shape(actions) != (n, rounds):
        raise ValueError(
            f"this transcript holds the answers: actions must have shape {(n, rounds)}, got {np.shape(actions)}"
        )
    numbers = np.asarray(actions)
    if numbers.dtype.kind not in "iu" or numbers.min() < 0 or numbers.max() >= d:
        raise ValueError(f"actions must be integers from 0 to {d - 1}, got others")


def _lengths(mask: Any, losses: np.ndarray) -> np.ndarray:
    if mask is None:
        return np.full(len(losses), losses.shape[1])
    mask = np.asarray(mask.cpu() if isinstance(mask, Tensor) else mask)
    checks.shape("mask", mask, f"{losses.shape[:2]}", mask.shape == losses.shape[:2])
    lengths = mask.sum(1)
    if mask.dtype != bool or not (mask == (np.arange(mask.shape[1]) < lengths[:, None])).all():
        raise ValueError("mask must be true for the first rounds of each sequence, then false")
    if lengths.min() < 1:
        raise ValueError("mask must keep at least one round of each sequence, got none")
    return lengths


class Layout(NamedTuple):
    """One row of tokens: the path, then branches; for each token the one before it, and where to read decisions."""

    tokens: list[int]
    parents: list[int]
    reads: list[list[int]]  # for every round and branching the token after which it is decided


def layout(sequence: Sequence, pieces: Pieces) -> Layout:
    """Append the branches of every decision to the path."""
    tokens, parents = list(sequence.tokens), list(range(-1, len(sequence.tokens) - 1))

    def grow(parent: int, branch: tuple[int, ...] | list[int]) -> int:
        for token in branch:
            tokens.append(token)
            parents.append(parent)
            parent = len(tokens) - 1
        return parent

    reads = []
    for end in sequence.ends:
        root = grow(end - 1, pieces.suffix)
        reads.append([grow(root, one.path) for one in pieces.names.branchings])
    return Layout(tokens, parents, reads)


def _read(
    model: Any,
    sequences: list[Sequence],
    pieces: Pieces,
    lengths: np.ndarray,
    rounds: int,
    padding: str,
) -> Tensor:
    if padding not in ("right", "left"):
        raise ValueError(f"padding must be right or left, got {padding!r}")
    layouts = [layout(one, pieces) for one in sequences]
    width = max(len(one.tokens) for one in layouts)
    shifts = [width - len(one.tokens) if padding == "left" else 0 for one in layouts]
    branched = any(
        len(one.tokens) > len(s.tokens) for one, s in zip(layouts, sequences, strict=True)
    )
    inputs = _tree_inputs if branched else _path_inputs
    logits = action_logits(model, pieces.names.rows, inputs(model, layouts, shifts, width))
    reads = np.zeros((len(layouts), rounds, len(pieces.names.branchings)), int)
    for i, (one, shift) in enumerate(zip(layouts, shifts, strict=True)):
        reads[i, : lengths[i]] = np.array(one.reads) + shift
    played = torch.as_tensor(np.arange(rounds) < lengths[:, None], device=logits.device)
    found = decide(logits, torch.as_tensor(reads, device=logits.device), pieces.names)
    return torch.where(played[..., None], found, 1 / found.shape[-1])


def decide(logits: Tensor, reads: Tensor, names: Names) -> Tensor:
    """From logits `(n, length, rows)` and the places to read, `(n, T, branchings)`, to policies `(n, T, d)`."""
    rows, exact = names.rows, torch.promote_types(logits.dtype, torch.float32)
    batch = torch.arange(len(logits), device=logits.device)[:, None]
    total: Any = 0.0
    for index, one in enumerate(names.branchings):
        columns = torch.tensor([rows.index(token) for token in one.tokens], device=logits.device)
        here = logits[batch, reads[..., index]][..., columns].to(exact)
        total = total + chosen(torch.log_softmax(here, -1), one)
    return total.exp()


def chosen(scores: Tensor, branching: Branching) -> Tensor:
    """For every action the score of its own token, 0 for those on other paths."""
    choice = torch.tensor(branching.choice, device=scores.device)
    return torch.where(choice >= 0, scores[..., choice.clamp(min=0)], 0.0)


def action_logits(model: Any, rows: tuple[int, ...], inputs: dict[str, Any]) -> Tensor:
    """The model's own logits of these tokens only, `(n, length, rows)`."""
    return forward_rows(model, rows, inputs).logits


def forward_rows(model: Any, rows: tuple[int, ...], inputs: dict[str, Any]) -> Any:
    """The model's output with logits of these tokens only."""
    head, index = model.get_output_embeddings(), list(rows)
    if (
        type(head) is not torch.nn.Linear
    ):  # an adapted or quantised head: its own logits, then the columns
        output = model(**inputs)
        output.logits = output.logits[..., index]
        return output
    name = next(name for name, module in model.named_modules() if module is head)
    small = {f"{name}.weight": head.weight[index]}
    if head.bias is not None:
        small[f"{name}.bias"] = head.bias[index]
    return functional_call(model, small, (), inputs, tie_weights=False)


def _path_inputs(
    model: Any, layouts: list[Layout], shifts: list[int], width: int
) -> dict[str, Any]:
    tokens = np.zeros((len(layouts), width), int)
    mask = np.zeros((len(layouts), width), int)
    for i, (one, shift) in enumerate(zip(layouts, shifts, strict=True)):
        here = slice(shift, shift + len(one.tokens))
        tokens[i, here], mask[i, here] = one.tokens, 1
    positions = np.maximum(mask.cumsum(1) - 1, 0)
    return _tensors(model, input_ids=tokens, attention_mask=mask, position_ids=positions)


def _tree_inputs(
    model: Any, layouts: list[Layout], shifts: list[int], width: int
) -> dict[str, Any]:
    shape = (len(layouts), width)
    tokens, positions = np.zeros(shape, int), np.zeros(shape, int)
    sees = np.zeros((*shape, width), bool)
    sees[:, np.arange(width), np.arange(width)] = True  # padding sees itself: no row is empty
    for i, (one, shift) in enumerate(zip(layouts, shifts, strict=True)):
        tokens[i, shift : shift + len(one.tokens)] = one.tokens
        for j, parent in enumerate(one.parents):
            if parent >= 0:
                sees[i, shift + j] |= sees[i, shift + parent]
                positions[i, shift + j] = positions[i, shift + parent] + 1
    masks = _masks(model, sees, positions)
    return {**_tensors(model, input_ids=tokens, position_ids=positions), "attention_mask": masks}


def _masks(model: Any, sees: np.ndarray, positions: np.ndarray) -> Any:
    """Additive masks, and for layers that look back a limited way those of that window."""
    config = model.config.get_text_config()
    window = getattr(config, "sliding_window", None)
    kinds = set(getattr(config, "layer_types", None) or ())
    near = sees
    if window is not None:
        near = sees & (positions[:, :, None] - positions[:, None, :] < window)
    if "sliding_attention" in kinds:
        return {
            "full_attention": _additive(model, sees),
            "sliding_attention": _additive(model, near),
        }
    if unknown := kinds - {"full_attention"}:
        raise ValueError(
            f"names of several tokens and chat templates need full or sliding attention, got {sorted(unknown)[0]}"
        )
    return _additive(model, sees if kinds else near)


def _additive(model: Any, sees: np.ndarray) -> Tensor:
    weight = model.get_input_embeddings().weight
    allowed = torch.as_tensor(sees, device=weight.device)[:, None]
    return torch.zeros_like(allowed, dtype=weight.dtype).masked_fill(
        ~allowed, torch.finfo(weight.dtype).min
    )


def _tensors(model: Any, **arrays: np.ndarray) -> dict[str, Tensor]:
    device = model.get_input_embeddings().weight.device
    return {name: torch.as_tensor(array, device=device) for name, array in arrays.items()}
