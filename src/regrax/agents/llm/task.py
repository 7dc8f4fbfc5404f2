r"""Decision problems in words: the actions, the number of rounds, the source of the losses, and the text of each round.

Round $t$ asks for one of $d$ named actions and then reports the losses $\ell_t$. A transcript reads

    opening   ask(1) [answer]  tell(1)   ask(2) [answer]  tell(2)  ...

With full feedback, answers are left out unless `answers` is set. The text then depends only on the losses, so one
transcript contains the questions of all rounds. Losses in the text are rounded to `decimals` places, and regret is
measured on the rounded losses (`Task.rounded`).
"""

import dataclasses
import json
import re
import reprlib
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from regrax import _checks as checks
from regrax._files import read_limited, write_whole
from regrax.agents.answers import Expression

FORMAT = "regrax task 1"
OPENING = (
    "You choose one of {d} options, {actions}, in each of {rounds} rounds. "
    "After each round you learn {learn}. Lower is better: keep the total small.\n"
)
TELL = {"full": "\nLosses: {losses}\n", "bandit": "\nIts loss: {loss}\n"}
LEARN = {"full": "the loss of every option", "bandit": "the loss of your choice"}
PLACEHOLDERS = {
    "opening": ("d", "actions", "rounds", "learn"),
    "ask": ("round",),
    "answer": ("action",),
    "tell": ("round", "losses", "action", "loss"),
    "loss": ("action", "loss"),
}
"""Names that each part of the template may use in braces."""
PARSERS = {
    "first": r"(?<!\w)({names})(?!\w)",
    "last": r"\A(?s:.*)(?<!\w)({names})(?!\w)",
    "exact": r"^\s*({names})\s*$",
}
# Task files may come from untrusted sources.
MAX_ACTIONS = 1_000
MAX_ROUNDS = 100_000
MAX_DECIMALS = 12
PARSER_SECONDS = 1.0


@dataclass(frozen=True)
class Task:
    r"""A decision problem in words, which can be saved as JSON.

    Args:
        actions: the action names, or how many there are, which names them A, B, C, ...
        rounds: the number of rounds.
        losses: the spec of a distribution, such as `gaussian`, `biased-gaussian(1.0)` or
            `in-game("matching-pennies", "uniform()", "hedge(0.4)")`, or numbers of shape `(T, d)` or `(n, T, d)`.
            In a game, the learner in the model's seat stands in for the model when losses are drawn before play; the
            other learners may be language models, `llm("folder")`.
        feedback: `full` reports the loss of every action, `bandit` that of the chosen action.
        answers: include the model's answers in transcripts with full feedback. Bandit feedback always includes them.
        opening, ask, answer, tell, loss: the template. `{losses}` stands for the `loss` texts of all actions.
        between: the separator between those texts.
        decimals: digits after the decimal point.
        chat: ask through the tokenizer's chat template, with the transcript so far as one user message.
        parser: how to read the action from a sampled answer: the `first` or `last` action mentioned, an `exact` match,
            or a regular expression whose first group is the name. Text up to `</think>` is ignored, and the first three
            options read the last `<answer>...</answer>` if there is one.
        name: shown in reports; it does not affect equality.
        system: the system message of the chat template, if any.

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
    opening: str = OPENING
    ask: str = "Round {round}, your choice:"
    answer: str = " {action}"
    tell: str = ""
    loss: str = "{action} {loss}"
    between: str = ", "
    decimals: int = 1
    chat: bool = False
    parser: str = "first"
    name: str = field(default="task", compare=False)
    system: str = ""

    def __post_init__(self) -> None:
        checks.one_of("feedback", self.feedback, ("full", "bandit"))
        checks.at_least("rounds", self.rounds, 1, MAX_ROUNDS)
        checks.at_least("decimals", self.decimals, 0, MAX_DECIMALS)
        assign = object.__setattr__
        assign(self, "actions", _action_names(self.actions))
        assign(self, "losses", _checked_losses(self.losses, self.rounds, len(self.actions)))
        if not self.tell:
            assign(self, "tell", TELL[self.feedback])
        if self.feedback == "bandit":
            assign(self, "answers", True)
        for name in ("between", "name", "system"):
            checks.instance(name, getattr(self, name), str, "a string")
        for name in ("answers", "chat"):
            checks.instance(name, getattr(self, name), bool, "true or false")
        for part in PLACEHOLDERS:
            _check_placeholders(part, getattr(self, part))
        if ("{losses}" in self.tell) != (self.feedback == "full"):
            must = "must" if self.feedback == "full" else "must not"
            raise ValueError(
                f"tell {must} contain {{losses}} with {self.feedback} feedback, got {self.tell!r}"
            )
        if not self.answer.endswith("{action}"):
            raise ValueError(f"answer must end with {{action}}, got {self.answer!r}")
        _check_parser(self.parser)

    @property
    def d(self) -> int:
        """Number of actions."""
        return len(self.actions)

    def replace(self, **changes: Any) -> "Task":
        """Copy the task with changed fields; a new `feedback` also resets `tell` and `answers`."""
        if changes.get("feedback", self.feedback) != self.feedback:
            changes = {"tell": "", "answers": False, **changes}
        return dataclasses.replace(self, **changes)

    def rounded(self, losses: Any) -> np.ndarray:
        """Round losses as the text does."""
        return np.round(np.asarray(losses, float), self.decimals) + 0.0

    def opening_text(self) -> str:
        """Text before round 1."""
        names = ", ".join(self.actions)
        learn = LEARN[self.feedback]
        return self.opening.format(d=self.d, actions=names, rounds=self.rounds, learn=learn)

    def ask_text(self, t: int) -> str:
        """Question of round `t`, counted from 0."""
        return self.ask.format(round=t + 1)

    def answer_text(self, action: int) -> str:
        """Answer that names an action, as written in transcripts."""
        return self.answer.format(action=self.actions[action])

    def tell_text(self, t: int, losses: Any, action: int | None = None) -> str:
        """Report of the losses of round `t`, counted from 0."""
        numbers = [f"{value:.{self.decimals}f}" for value in self.rounded(losses).tolist()]
        texts = [
            self.loss.format(action=name, loss=number)
            for name, number in zip(self.actions, numbers, strict=True)
        ]
        fields = {"round": t + 1, "losses": self.between.join(texts)}
        if action is not None:
            fields |= {"action": self.actions[action], "loss": numbers[action]}
        try:
            return self.tell.format(**fields)
        except KeyError as missing:
            raise ValueError(f"tell uses {missing}, so actions must be given") from None

    def text(self, losses: Any, actions: Sequence[int] | None = None) -> str:
        """Transcript of one loss sequence, with the played actions if it includes answers."""
        if self.answers and actions is None:
            raise ValueError("the transcript includes answers, so actions must be given")
        rows = np.asarray(losses, float)
        played: Sequence[Any] = [None] * len(rows) if actions is None else actions
        if len(played) != len(rows):
            raise ValueError(
                f"actions must have one entry for each of {len(rows)} rounds, got {len(played)}"
            )
        text = self.opening_text()
        for t, (row, action) in enumerate(zip(rows, played, strict=True)):
            text += self.ask_text(t)
            if self.answers:
                text += self.answer_text(action)
            text += self.tell_text(t, row, action)
        return text

    def parse(self, text: str) -> int | None:
        """Return the index of the action that an answer names, or None.

        >>> task = Task(("A", "B"), 1)
        >>> task.parse(" I take B, not A."), task.parse("neither")
        (1, None)
        >>> task.parse("<think>A or B?</think> B"), task.parse("not A: <answer>B</answer>")
        (1, 1)
        """
        spoken = without_thoughts(text)
        if self.parser in PARSERS:
            tagged = re.findall(r"<answer>(.*?)</answer>", spoken, re.DOTALL)
            if tagged:
                spoken = tagged[-1]
            longest_first = sorted(self.actions, key=len, reverse=True)
            names = "|".join(re.escape(name) for name in longest_first)
            match = re.search(PARSERS[self.parser].replace("{names}", names), spoken)
            word = match[1] if match else None
        else:
            word = _expression(self.parser).first(spoken, PARSER_SECONDS)
        return self.actions.index(word) if word in self.actions else None

    def to_json(self) -> str:
        """Write the task as a JSON object."""
        fields = {"format": FORMAT, **dataclasses.asdict(self)}
        return json.dumps(fields, indent=1, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> "Task":
        """Read a task from a JSON object."""
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError):
            fields = None
        if not isinstance(fields, dict) or fields.pop("format", None) != FORMAT:
            raise ValueError(f'a task must be a JSON object with "format": "{FORMAT}"')
        known = sorted(field.name for field in dataclasses.fields(cls))
        for name in fields:
            if name not in known:
                raise ValueError(f"a task has no field {name!r}; its fields are {', '.join(known)}")
        try:
            return cls(**fields)
        except TypeError as error:
            raise ValueError(f"a task must have actions and rounds: {error}") from None

    def save(self, path: str | Path) -> None:
        """Write the task to a JSON file."""
        write_whole(Path(path), self.to_json().encode())

    @classmethod
    def load(cls, path: str | Path) -> "Task":
        """Read the task from a JSON file."""
        return cls.from_json(read_limited(Path(path)))


SCENARIOS: dict[str, dict[str, Any]] = {
    "plain": {"actions": ("A", "B", "C")},
    "clinic": {
        "actions": ("aspirin", "rest", "fluids", "exercise"),
        "opening": (
            "A clinic gives each of {rounds} patients one of {d} treatments: {actions}. "
            "Patients are alike. After each you learn {learn}, in days of illness above the usual; fewer is better.\n"
        ),
        "ask": "Patient {round}, treatment:",
        "tell": "\nDays: {losses}\n",
    },
    "ads": {
        "actions": ("banner", "video", "search"),
        "opening": (
            "A shop buys advertising on {rounds} days, each day in one of {d} ways: {actions}. "
            "In the evening it learns {learn}: its cost, less what it brought. Spend as little as possible in all.\n"
        ),
        "ask": "Day {round}, buy:",
        "tell": "\nNet cost: {losses}\n",
    },
    "routes": {
        "actions": ("highway", "bridge", "tunnel"),
        "opening": (
            "A driver goes to work on {rounds} mornings by one of {d} routes: {actions}. "
            "On arrival the radio tells {learn}, in minutes of delay against the timetable. Lose little time in all.\n"
        ),
        "ask": "Morning {round}, take the",
        "tell": "\nDelay: {losses}\n",
    },
    "irrigation": {
        "actions": ("early", "noon", "late"),
        "opening": (
            "A farm waters its field on {rounds} days at one of {d} times: {actions}. "
            "Next day it learns {learn}, in litres wasted against the plan. Waste little in all.\n"
        ),
        "ask": "Day {round}, water:",
        "tell": "\nWaste: {losses}\n",
    },
    "servers": {
        "actions": ("east", "west", "north"),
        "opening": (
            "A dispatcher sends {rounds} jobs to one of {d} data centres: {actions}. "
            "After each job it learns {learn}, in seconds against the target. Keep the sum low.\n"
        ),
        "ask": "Job {round}, send to",
        "tell": "\nSeconds: {losses}\n",
    },
}
"""For each scenario, the fields that differ from a plain task."""


def scenario(name: str, rounds: int = 20, **fields: Any) -> Task:
    """Build the task for a ready-made scenario.

    Args:
        name: a key of `SCENARIOS`.
        rounds: the number of rounds.
        **fields: further fields of `Task`.

    >>> scenario("routes", rounds=5).actions
    ('highway', 'bridge', 'tunnel')
    >>> sorted(SCENARIOS)
    ['ads', 'clinic', 'irrigation', 'plain', 'routes', 'servers']
    """
    checks.one_of("scenario", name, sorted(SCENARIOS))
    defaults = dict(SCENARIOS[name])
    if fields.get("feedback") == "bandit" and "tell" in defaults:
        defaults["tell"] = defaults["tell"].replace("{losses}", "{action} {loss}")
    return Task(rounds=rounds, name=name, **{**defaults, **fields})


def at_least(config: Any, **minimums: int) -> None:
    """Raise ValueError unless each field is an integer no smaller than its minimum."""
    for name, minimum in minimums.items():
        checks.at_least(name, getattr(config, name), minimum)


def nonnegative(name: str, value: Any) -> None:
    """Raise ValueError unless the value is a finite number >= 0."""
    checks.finite(name, value)
    if value < 0:
        raise ValueError(f"{name} must be at least 0, got {value}")


def without_thoughts(text: str) -> str:
    """Return the text after the last `</think>`, or nothing if a thought is not closed.

    >>> without_thoughts("<think>A?</think>B"), without_thoughts("<think>A"), without_thoughts("B")
    ('B', '', 'B')
    """
    _, closed, spoken = text.rpartition("</think>")
    if not closed and "<think>" in text:
        return ""
    return spoken


def letters(count: int) -> tuple[str, ...]:
    """Default action names: A, ..., Z, or A1, ..., Z1, A2, ... so that none is a prefix of another.

    >>> letters(3), letters(28)[-2:]
    (('A', 'B', 'C'), ('A2', 'B2'))
    """
    alphabet = string.ascii_uppercase
    if count <= len(alphabet):
        return tuple(alphabet[:count])
    width = len(str((count - 1) // 26 + 1))
    return tuple(alphabet[i % 26] + str(i // 26 + 1).zfill(width) for i in range(count))


def _action_names(actions: Any) -> tuple[str, ...]:
    if isinstance(actions, int):
        checks.at_least("actions", actions, 2, MAX_ACTIONS)
        return letters(actions)
    shown = reprlib.repr(actions)
    if not isinstance(actions, Iterable) or isinstance(actions, str | bytes):
        raise ValueError(f"actions must be a list of names or a count, got {shown}")
    names = tuple(actions)
    if not all(isinstance(name, str) and name.strip() for name in names):
        raise ValueError(f"actions must be a list of names or a count, got {shown}")
    if not 2 <= len(set(names)) == len(names) <= MAX_ACTIONS:
        raise ValueError(
            f"actions must be between 2 and {MAX_ACTIONS:,} distinct names, got {shown}"
        )
    return names


def _checked_losses(losses: Any, rounds: int, d: int) -> Any:
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
    return _as_tuples(array.tolist())


def _as_tuples(value: Any) -> Any:
    """Convert nested lists to tuples, which can be hashed."""
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


def _check_placeholders(part: str, text: Any) -> None:
    try:
        parsed = list(string.Formatter().parse(text))
    except (ValueError, TypeError):
        raise ValueError(f"{part} must be a string with names in braces, got {text!r}") from None
    allowed = PLACEHOLDERS[part]
    for _, name, form, conversion in parsed:
        if name is not None and (name not in allowed or form or conversion):
            listed = ", ".join(f"{{{known}}}" for known in allowed)
            raise ValueError(f"{part} may contain {listed}, got {text!r}")


def _check_parser(parser: Any) -> None:
    must = "parser must be first, last, exact or a regular expression"
    if parser in PARSERS:
        return
    checks.instance("parser", parser, str, "first, last, exact or a regular expression")
    try:
        pattern = _expression(parser)
    except ValueError as error:
        raise ValueError(f"{must}: {error}") from None
    if not pattern.groups:
        raise ValueError(f"{must} with a group, as in 'choose (\\w+)', got {parser!r}")


_expression = lru_cache(256)(Expression)
