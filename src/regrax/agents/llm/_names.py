r"""Action names as tokens: a tree whose branchings a model decides one after the other.

A name is the tokens $w_1 \dots w_n$ of an answer. Where names part, the model chooses among the tokens that go on:

    P(name) = prod over the branchings on its path of  softmax(logits of the tokens that go on)[its own]

which is the distribution of an answer drawn from the model with every other word forbidden. Names of one token each
part at once, and this is the softmax over their logits.
"""

from itertools import permutations
from typing import Any, NamedTuple

from regrax.agents.llm._task import Task


class Branching(NamedTuple):
    """A place where names part."""

    path: tuple[int, ...]  # the tokens of the name before it
    tokens: tuple[int, ...]  # that may follow
    choice: tuple[int, ...]  # of every action its token's index, or -1 if it is not on this path


class Names(NamedTuple):
    """The tokens of every action's answer, and where they part."""

    tokens: tuple[tuple[int, ...], ...]
    branchings: tuple[Branching, ...]

    @property
    def rows(self) -> tuple[int, ...]:
        """The rows of the output embedding that decide."""
        return tuple(sorted({token for one in self.branchings for token in one.tokens}))


def names_of(tokenizer: Any, task: Task) -> Names:
    """The tree of a task's names; raises if the tokenizer cannot tell two of them apart."""
    texts = [task.answer_text(j) for j in range(task.d)]
    texts = [text.lstrip() for text in texts] if task.chat else texts
    tokens = tuple(tuple(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in texts)
    for name, own in zip(task.actions, tokens, strict=True):
        if not own or tokenizer.unk_token_id in own:
            raise ValueError(f"the tokenizer has no tokens for the action name {name!r}")
    for (first, one), (second, other) in permutations(zip(task.actions, tokens, strict=True), 2):
        if other[: len(one)] == one:
            raise ValueError(
                f"the tokenizer cannot tell the action names {first!r} and {second!r} apart: "
                "the tokens of the first begin those of the second"
            )
    return Names(tokens, tuple(_branchings(tokens)))


def _branchings(tokens: tuple[tuple[int, ...], ...]) -> list[Branching]:
    paths = sorted({one[:n] for one in tokens for n in range(len(one))}, key=lambda p: (len(p), p))
    found = []
    for path in paths:
        ahead = [one[len(path)] if one[: len(path)] == path else None for one in tokens]
        following = tuple(sorted({token for token in ahead if token is not None}))
        if len(following) > 1:
            choice = tuple(-1 if token is None else following.index(token) for token in ahead)
            found.append(Branching(path, following, choice))
    return found
