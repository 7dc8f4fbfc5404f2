"""Gambit's `.nfg` files, in both forms. The first player's action changes fastest; payoffs are exact rationals.

    NFG 1 R "title" { "player" ... } SHAPE "comment" PAYOFFS
    SHAPE   = { 2 3 ... }  or  { { "action" ... } ... }
    PAYOFFS = number ...                                    payoff form: every player's payoff at every joint action
            | { { "outcome" number, ... } ... } index ...   outcome form: an outcome (0: none) at every joint action

A number is an integer, a decimal (with an exponent or not) or a ratio of integers. In texts `\"` is a quote and `\\` a
backslash. The comment may be missing; names of outcomes are not kept.

Reference: Gambit documentation, Game representation formats, www.gambit-project.org.
"""

import re
from fractions import Fraction
from math import prod
from typing import Any, Literal, NoReturn

import numpy as np

from regrax import _checks as checks
from regrax.games.game import MAX_PLAYERS, Game, exact_payoffs

MAX_PAYOFFS = 2_000_000
"""Payoffs that a file may hold; larger games belong in `.npz`."""

MAX_NUMBER_CHARACTERS = 1000
MAX_EXPONENT = 400  # of a number: beyond, a double is 0 or infinite

_TOKEN = re.compile(
    r"""[\s]*+(?:
        (?P<text>"[^"\\]*+(?:\\.[^"\\]*+)*+")
      | (?P<mark>[{},])
      | (?P<word>[^\s{},"]++)
    )""",
    re.VERBOSE | re.DOTALL,
)
_NUMBER = re.compile(
    r"(?P<top>[-+]?\d+)/(?P<bottom>\d+)|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE](?P<exponent>[-+]?\d+))?",
    re.ASCII,
)


def game_from_nfg(data: bytes) -> Game:
    """Read a game from a Gambit `.nfg` file of either form.

    >>> game = game_from_nfg(b'NFG 1 R "coins" { "even" "odd" } { 2 2 } "" 1 -1 -1/3 1 -1 1 1 -1')
    >>> game, game.players, game.payoffs[0].tolist()
    (coins, ('even', 'odd'), [[1.0, -1.0], [-0.3333, 1.0]])
    """
    return _Reader(_decoded(data)).game()


def game_to_nfg(game: Game, form: Literal["payoff", "outcome"] = "payoff") -> bytes:
    """Write a game as a Gambit `.nfg` file; reading it back gives the same game, fractions included.

    >>> from regrax.games import matching_pennies
    >>> print(game_to_nfg(matching_pennies()).decode())
    NFG 1 R "matching-pennies" { "player 1" "player 2" }
    { { "heads" "tails" }
      { "heads" "tails" } }
    ""
    1 -1
    -1 1
    -1 1
    1 -1
    """
    checks.instance("game", game, Game, "a game")
    if form not in ("payoff", "outcome"):
        raise ValueError(f'form must be "payoff" or "outcome", got {form!r}')
    quoted = [f"{{ {' '.join(map(_quoted, labels))} }}" for labels in game.actions]
    head = f"NFG 1 R {_quoted(game.name)} {{ {' '.join(map(_quoted, game.players))} }}"
    rows = _rows(game)
    body = "\n".join(" ".join(row) for row in rows) if form == "payoff" else _outcomes(rows)
    shape = "\n  ".join(quoted)
    return f"{head}\n{{ {shape} }}\n{_quoted(game.comment)}\n{body}\n".encode()


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _rows(game: Game) -> list[tuple[str, ...]]:
    """Every player's payoff as text, a row for each joint action, the first player's action fastest."""
    payoffs = np.asarray(game.payoffs, float) if game.exact is None else exact_payoffs(game)
    table = np.vectorize(_text, otypes="O")(payoffs)
    return list(zip(*(own.ravel("F") for own in table), strict=True))


def _text(payoff: float | Fraction) -> str:
    """A fraction as it is; else the shortest decimal that reads back as the same double, without an exponent."""
    if isinstance(payoff, Fraction):
        return str(payoff)
    return str(int(payoff)) if float(payoff).is_integer() else np.format_float_positional(payoff)


def _outcomes(rows: list[tuple[str, ...]]) -> str:
    numbers = {row: index for index, row in enumerate(dict.fromkeys(rows), 1)}
    listed = "\n".join(
        f"  {{ {_quoted(f'outcome {index}')} {', '.join(row)} }}" for row, index in numbers.items()
    )
    return f"{{\n{listed}\n}}\n{' '.join(str(numbers[row]) for row in rows)}"


def _decoded(data: bytes) -> str:
    checks.instance("data", data, bytes, "the bytes of an .nfg file")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, column = _place(data[: error.start].decode("utf-8-sig", "replace"))
        raise ValueError(
            f"an .nfg file must be UTF-8 text, but line {line}, column {column} is not"
        ) from None


def _place(before: str) -> tuple[int, int]:
    """Line and column, from 1, of what comes after a text."""
    return before.count("\n") + 1, len(before) - before.rfind("\n")


class _Reader:
    """Reads tokens from left to right; every error names the line and column."""

    def __init__(self, text: str) -> None:
        self.text, self.position, self.end = text, 0, 0

    def game(self) -> Game:
        for wanted in ("NFG", "1", "R or D"):
            self.take("word", wanted, wanted.replace(" or ", "|"))
        title = self.quoted("the title in quotes")
        players = self.listed("the name of a player in quotes or '}'")
        if not 1 <= len(players) <= MAX_PLAYERS:
            self.fail(f"between 1 and {MAX_PLAYERS} players", f"{len(players)}")
        sizes, actions = self.shape(len(players))
        comment = self.quoted("a comment") if self.peek("text") else ""
        read = self.outcomes if self.peek("mark") == "{" else self.payoffs
        flat = read(len(players), prod(sizes))
        if self.peek() is not None:
            self.fail("the end of the file")
        # rows are joint actions with the first player fastest
        table = np.array(flat, object).reshape(*reversed(sizes), len(players))
        return Game(
            table.transpose(), name=title, players=players, actions=actions, comment=comment
        )

    def shape(self, players: int) -> tuple[list[int], list[list[str]] | None]:
        self.mark("{")
        actions = None
        if self.peek("mark") == "{":
            expected = "the name of an action in quotes or '}'"
            actions = [self.listed(expected) for _ in range(players)]
            sizes = [len(labels) for labels in actions]
        else:
            sizes = [self.whole("a number of actions") for _ in range(players)]
        if min(sizes) < 1:
            self.fail("at least 1 action for every player", "0")
        if players * prod(sizes) > MAX_PAYOFFS:
            self.fail(f"a game of at most {MAX_PAYOFFS:,} payoffs", f"{players * prod(sizes):,}")
        self.mark("}")
        return sizes, actions

    def payoffs(self, players: int, joint: int) -> list[Any]:
        self.room(players * joint, "payoffs")
        return [self.number() for _ in range(players * joint)]

    def outcomes(self, players: int, joint: int) -> list[Any]:
        self.mark("{")
        outcomes = [[0] * players]
        while self.peek("mark") == "{":
            outcomes.append(self.outcome(players))
        self.mark("}")
        self.room(joint, "outcomes")
        flat: list[Any] = []
        for _ in range(joint):
            start, index = self.position, self.whole("the number of an outcome")
            if index >= len(outcomes):
                self.position = start
                self.fail(f"the number of one of {len(outcomes) - 1} outcomes")
            flat += outcomes[index]
        return flat

    def outcome(self, players: int) -> list[Any]:
        self.mark("{")
        self.quoted("the name of an outcome in quotes")
        paid = []
        for _ in range(players):
            if self.peek("mark") == ",":
                self.next()
            paid.append(self.number())
        self.mark("}")
        return paid

    def room(self, needed: int, what: str) -> None:
        """Refuse before reading when the rest of the text is too short for what the shape promises."""
        if needed > (len(self.text) - self.position + 1) // 2:
            self.fail(f"{needed:,} {what}", "a text too short for them")

    def listed(self, expected: str) -> list[str]:
        self.mark("{")
        texts = []
        while self.peek("mark") != "}":
            texts.append(self.quoted(expected))
        self.next()
        return texts

    def mark(self, wanted: str) -> None:
        self.take("mark", f"'{wanted}'", re.escape(wanted))

    def quoted(self, expected: str) -> str:
        return re.sub(r'\\(["\\])', r"\1", self.take("text", expected)[1:-1])

    def whole(self, expected: str) -> int:
        return int(self.take("word", expected, "[0-9]{1,9}"))

    def take(self, kind: str, expected: str, pattern: str = "(?s:.*)") -> str:
        """The next token, which must be of this kind and match the pattern, and on to the one after it."""
        token = self.peek(kind)
        if token is None or not re.fullmatch(pattern, token):
            self.fail(expected)
        self.next()
        return token

    def number(self) -> Any:
        """An int or a fraction; one whose double is not finite is refused here, where its place is known."""
        token = self.peek("word") or ""
        match = _NUMBER.fullmatch(token) if len(token) <= MAX_NUMBER_CHARACTERS else None
        if (
            not match
            or abs(int(match["exponent"] or 0)) > MAX_EXPONENT
            or not int(match["bottom"] or 1)
        ):
            self.fail("a number")
        value = Fraction(token)
        try:
            float(value)
        except OverflowError:
            self.fail("a number that a double can hold")
        self.next()
        return int(value) if value.denominator == 1 else value

    def peek(self, kind: str | None = None) -> str | None:
        """The next token, if it is of this kind."""
        match = _TOKEN.match(self.text, self.position)
        if not match:
            if self.text[self.position :].strip():
                self.fail("a text that ends in a quote")
            return None
        self.end = match.end()
        return match[kind or match.lastgroup or ""]

    def next(self) -> None:
        """On to what comes after the token that was peeked at."""
        self.position = self.end

    def fail(self, expected: str, got: str | None = None) -> NoReturn:
        rest = self.text[self.position :]
        start = self.position + len(rest) - len(rest.lstrip())
        line, column = _place(self.text[:start])
        shown = self.text[start : start + 20].split("\n")[0]
        got = got or (repr(shown) if shown else "the end")
        raise ValueError(f"expected {expected} at line {line}, column {column}, got {got}")
