"""Answers on disk, so that no answer is paid for twice, with a limit on their tokens and their cost."""

import contextlib
import hashlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from regrax import _checks as checks

TABLE = """CREATE TABLE IF NOT EXISTS answers
(key TEXT PRIMARY KEY, text TEXT, input_tokens INTEGER, output_tokens INTEGER, seconds REAL)"""
TOTALS = """SELECT COUNT(*), COUNT(input_tokens + output_tokens), IFNULL(SUM(input_tokens), 0),
IFNULL(SUM(output_tokens), 0), IFNULL(MAX(input_tokens), 0), IFNULL(MAX(output_tokens), 0) FROM answers"""
MILLION = 10**6  # prices are for this many tokens


class Answer(NamedTuple):
    """The answer of a chat model.

    Attributes:
        text: what it says.
        input_tokens: tokens of the question, or None if the server does not report them.
        output_tokens: tokens of the answer, likewise.
        seconds: time from the question to the answer.
    """

    text: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    seconds: float = 0.0


class Spent(NamedTuple):
    """Number of answers in a cache, with their tokens and their cost."""

    answers: int
    tokens: int
    cost: float


class BudgetReached(ValueError):
    """Raised instead of asking a question that could exceed the budget."""


class AnswerCache:
    """A SQLite file of answers, each written when it arrives; threads and processes may share it.

    A budget covers all answers in the file, including those of earlier runs. Every request in flight counts as much as
    the most expensive answer so far, so only an answer that is larger than all before it can exceed the budget.

    Args:
        path: the file; `":memory:"` stores the answers of this run only.
        prices: price of a million input tokens and of a million output tokens.
        budget_tokens: the most tokens to use.
        budget_cost: the most money to spend, in the unit of the prices.

    >>> cache = AnswerCache(":memory:", prices=(1.0, 4.0))
    >>> cache.add("key", Answer("heads", 1000, 500))
    >>> cache.find("key").text, cache.spent()
    ('heads', Spent(answers=1, tokens=1500, cost=0.003))
    """

    def __init__(
        self,
        path: str | Path,
        prices: tuple[float, float] = (0.0, 0.0),
        budget_tokens: int | None = None,
        budget_cost: float | None = None,
    ) -> None:
        checks.finite("prices", prices)
        checks.shape("prices", prices, "(2,)", len(prices) == 2)
        if min(prices) < 0:
            raise ValueError(f"prices must not be negative, got {min(prices)}")
        if budget_tokens is not None:
            checks.at_least("budget_tokens", budget_tokens, 1)
        if budget_cost is not None:
            checks.positive("budget_cost", budget_cost)
            if max(prices) <= 0:
                raise ValueError("budget_cost needs prices per million input and output tokens")
        self.path = path
        self.prices = prices
        self.budget_tokens = budget_tokens
        self.budget_cost = budget_cost
        self._lock = threading.RLock()
        self._in_flight = 0
        with self._errors():
            self._database = sqlite3.connect(
                path, timeout=60, isolation_level=None, check_same_thread=False
            )
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")  # only a power cut loses answers
            self._database.execute(TABLE)

    def find(self, key: str) -> Answer | None:
        """Return the answer with this key, or None."""
        row = self._query(f"SELECT {', '.join(Answer._fields)} FROM answers WHERE key = ?", key)
        return row and Answer(*row)

    def add(self, key: str, answer: Answer) -> None:
        """Write an answer to the file, unless another process already has."""
        self._query("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?)", key, *answer)

    def cost(self, input_tokens: int | None, output_tokens: int | None) -> float:
        """Return the cost of tokens; unknown numbers count as 0."""
        per_input, per_output = self.prices
        return (per_input * (input_tokens or 0) + per_output * (output_tokens or 0)) / MILLION

    def spent(self) -> Spent:
        """Add up the answers in the file."""
        count, _, total_in, total_out, *_ = self._query(TOTALS)
        return Spent(count, total_in + total_out, self.cost(total_in, total_out))

    def answer(self, key: str, ask: Callable[[], Answer]) -> Answer:
        """Return the answer with this key, or ask and store it; raise `BudgetReached` if too little is left."""
        answer = self.find(key)
        if answer is not None:
            return answer
        with self._lock:
            self._check_budget()
            self._in_flight += 1
        try:
            answer = ask()
            self.add(key, answer)
        finally:
            with self._lock:
                self._in_flight -= 1
        return answer

    def _check_budget(self) -> None:
        if self.budget_tokens is None and self.budget_cost is None:
            return
        count, reported, total_in, total_out, most_in, most_out = self._query(TOTALS)
        if reported < count:
            raise ValueError("the server does not report tokens, so no budget can be enforced")
        requests = self._in_flight + 1
        next_in = total_in + requests * most_in
        next_out = total_out + requests * most_out
        if self.budget_tokens is not None and next_in + next_out > self.budget_tokens:
            raise BudgetReached(
                f"the budget of {self.budget_tokens:,} tokens allows no further question after {total_in + total_out:,}"
            )
        if self.budget_cost is not None and self.cost(next_in, next_out) > self.budget_cost:
            spent = self.cost(total_in, total_out)
            raise BudgetReached(
                f"the budget of {self.budget_cost:g} allows no further question after {spent:.6g}"
            )

    def _query(self, statement: str, *values: Any) -> Any:
        with self._lock, self._errors():
            return self._database.execute(statement, values).fetchone()

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise ValueError(f"{self.path} cannot be used as a cache of answers: {error}") from None


def request_key(request: dict[str, Any], *place: Any) -> str:
    """Return the key of a request made at a place in a run: game, player, seed, episode, round and attempt.

    At temperature 0 the same question has the same answer everywhere, so only the attempt counts.
    """
    if request.get("temperature") == 0:
        place = place[-1:]
    return hashlib.sha256(json.dumps([request, place], sort_keys=True).encode()).hexdigest()
