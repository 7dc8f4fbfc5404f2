r"""A decision problem in words: what may be done, for how long, where losses come from, and how it is told.

Round $t$ asks for one of $d$ named actions; then the losses $\ell_t$ are told. A transcript is

    opening   ask(1) [answer]  tell(1)   ask(2) [answer]  tell(2)  ...

With full feedback the answers are left out unless `answers` is set: what the model reads depends on losses only, so the
policies of all rounds are those of one text. Losses are told rounded to `decimals`; `Task.rounded` is what the text
says, and what regret is measured on.
"""

import dataclasses
import json
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from regrax import _checks as checks
from regrax._files import read_limited, write_whole
from regrax.agents.llm import _template as template
from regrax.agents.llm._config import one_of

FORMAT = "regrax task 1"
MAX_ROUNDS, MAX_DECIMALS = 100_000, 12


@dataclass(frozen=True)
class Task:
    r"""Frozen, and written to and read from JSON.

    Args:
        actions: their names, or how many: then A, B, C, ...
        rounds: how many.
        losses: a distribution's spec, as in `gaussian`, `biased-gaussian(1.0)` or
            `in-game("matching-pennies", "uniform()", "hedge(0.4)")`, where the learner in the model's seat stands in
            for it wherever losses must be known before it plays; or numbers of shape `(T, d)` or `(n, T, d)`.
        feedback: what is told: every action's loss (`full`), or the chosen action's (`bandit`).
        answers: whether transcripts with full feedback hold the model's own answers; with bandit feedback they do.
        opening, ask, answer, tell, loss: the template; `{losses}` is every action's `loss`, joined by `between`.
        between: see there.
        decimals: to which losses are told.
        chat: ask through the tokenizer's chat template, everything so far in one message of the user.
        parser: how a sampled answer is read: the `first` or the `last` action named in it, `exact` words, or a regular
            expression whose first group is a name.
        name: how it prints; two tasks that differ in it alone are equal.

    >>> task = Task(("left", "right"), rounds=2)
    >>> print(task.text([[0.5, -1.0], [0.0, 0.25]]))
    You choose one of 2 options, left, right, in each of 2 rounds. ... keep the total small.
    Round 1, your choice:
    Losses: left 0.5, right -1.0
    Round 2, your choice:
    Losses: left 0.0, right 0.2
    <BLANKLINE>
    >>> Task.from_json(task.to_json()) == task
    True
    """

    actions: Any
    rounds: int
    losses: Any = "gaussian"
    feedback: Literal["full", "bandit"] = "full"
    answers: bool = False
    opening: str = template.OPENING
    ask: str = "Round {round}, your choice:"
    answer: str = " {action}"
    tell: str = ""
    loss: str = "{action} {loss}"
    between: str = ", "
    decimals: int = 1
    chat: bool = False
    parser: str = "first"
    name: str = field(default="task", compare=False)

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "actions", template.as_names(self.actions))
        set_field(self, "losses", _as_losses(self.losses, self.rounds, len(self.actions)))
        if not self.tell:
            set_field(self, "tell", template.TELL.get(self.feedback, ""))
        if self.feedback == "bandit":
            set_field(self, "answers", True)
        self._check()

    def _check(self) -> None:
        checks.at_least("rounds", self.rounds, 1, MAX_ROUNDS)
        checks.at_least("decimals", self.decimals, 0, MAX_DECIMALS)
        one_of("feedback", self.feedback, ("full", "bandit"))
        texts, flags = (str, "text"), (bool, "true or false")
        kinds = {"between": texts, "name": texts, "answers": flags, "chat": flags}
        for name, (kind, word) in kinds.items():
            if not isinstance(getattr(self, name), kind):
                raise ValueError(f"{name} must be {word}, got {getattr(self, name)!r}")
        for part in template.FIELDS:
            template.check_part(part, getattr(self, part))
        if (full := self.feedback == "full") != ("{losses}" in self.tell):
            must = f"tell must {'' if full else 'not '}hold {{losses}}"
            raise ValueError(f"{must} with {self.feedback} feedback, got {self.tell!r}")
        if not self.answer.endswith("{action}"):
            raise ValueError(f"answer must end with {{action}}, got {self.answer!r}")
        template.check_parser(self.parser)

    @property
    def d(self) -> int:
        """How many actions."""
        return len(self.actions)

    def replace(self, **changes: Any) -> "Task":
        """A task that differs in these fields; another feedback brings its own words unless `tell` is given."""
        if changes.get("feedback", self.feedback) != self.feedback:
            changes = {"tell": "", "answers": False, **changes}
        return dataclasses.replace(self, **changes)

    def rounded(self, losses: Any) -> np.ndarray:
        """The losses as the text says them."""
        return np.round(np.asarray(losses, float), self.decimals) + 0.0

    def opening_text(self) -> str:
        """What comes before round 1."""
        names, learn = ", ".join(self.actions), template.LEARN[self.feedback]
        return self.opening.format(d=self.d, actions=names, rounds=self.rounds, learn=learn)

    def ask_text(self, t: int) -> str:
        """The question of round `t`, from 0."""
        return self.ask.format(round=t + 1)

    def answer_text(self, action: int) -> str:
        """An answer as transcripts write it."""
        return self.answer.format(action=self.actions[action])

    def tell_text(self, t: int, losses: Any, action: int | None = None) -> str:
        """What is told after round `t`, from 0."""
        numbers = [f"{value:.{self.decimals}f}" for value in self.rounded(losses).tolist()]
        pairs = zip(self.actions, numbers, strict=True)
        one = [self.loss.format(action=name, loss=number) for name, number in pairs]
        own = {"round": t + 1, "losses": self.between.join(one)}
        if action is not None:
            own |= {"action": self.actions[action], "loss": numbers[action]}
        try:
            return self.tell.format(**own)
        except KeyError as missing:
            raise ValueError(
                f"tell names {missing}, so the actions that were played must be given"
            ) from None

    def text(self, losses: Any, actions: Sequence[int] | None = None) -> str:
        """The transcript of one sequence of losses, and of the actions that were played where it holds them."""
        if self.answers and actions is None:
            raise ValueError("this transcript holds the answers, so the actions must be given")
        parts = [self.opening_text()]
        for t, row in enumerate(np.asarray(losses, float)):
            played = None if actions is None else int(actions[t])
            said = self.answer_text(played) if self.answers and played is not None else ""
            parts += [self.ask_text(t), said, self.tell_text(t, row, played)]
        return "".join(parts)

    def parse(self, text: str) -> int | None:
        """The action that an answer names, or None.

        >>> task = Task(("A", "B"), 1)
        >>> task.parse(" I take B, not A."), task.parse("neither")
        (1, None)
        """
        return template.read_answer(self.parser, self.actions, text)

    def to_json(self) -> str:
        """The task as a JSON object."""
        fields = {"format": FORMAT, **dataclasses.asdict(self)}
        return json.dumps(fields, indent=1, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> "Task":
        """The task that a JSON object describes."""
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError):
            fields = None
        if not isinstance(fields, dict) or fields.pop("format", None) != FORMAT:
            raise ValueError(f'a task must be a JSON object with "format": "{FORMAT}"')
        known = {one.name for one in dataclasses.fields(cls)}
        if unknown := sorted(set(fields) - known):
            raise ValueError(f"a task has no {unknown[0]!r}; it has {', '.join(sorted(known))}")
        try:
            return cls(**fields)
        except TypeError as error:
            raise ValueError(f"a task must have actions and rounds: {error}") from None

    def save(self, path: str | Path) -> None:
        """Write the task to a file."""
        write_whole(Path(path), self.to_json().encode())

    @classmethod
    def load(cls, path: str | Path) -> "Task":
        """The task in a file."""
        return cls.from_json(read_limited(Path(path)))


def _as_losses(losses: Any, rounds: Any, d: int) -> Any:
    if isinstance(losses, str):
        return losses
    try:
        array = np.asarray(losses, float)
    except (TypeError, ValueError):
        array = np.full((), np.nan)
    if not array.ndim:
        raise ValueError(
            f"losses must be a distribution's spec or numbers, got {reprlib.repr(losses)}"
        )
    checks.finite("losses", array)
    fits = array.ndim in (2, 3) and array.shape[-2:] == (rounds, d)
    checks.shape("losses", array, f"(n, {rounds}, {d}) or ({rounds}, {d})", fits)
    return _tuples(array.tolist())


def _tuples(value: Any) -> Any:
    """Nested lists as tuples, which can be compared and hashed."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
