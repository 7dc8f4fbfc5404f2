"""Gambit's `.nfg` files in both forms. The first player's action changes fastest; payoffs are exact rationals.

    NFG 1 R "title" { "player" ... } SHAPE "comment" PAYOFFS
    SHAPE   = { 2 3 ... }  or  { { "action" ... } ... }
    PAYOFFS = number ...                                    payoff form: every player's payoff at every joint action
            | { { "outcome" number, ... } ... } index ...   outcome form: an outcome (0: none) at every joint action

A number is an integer, a decimal (with or without an exponent) or a ratio of integers. In strings, `\"` is a quote and
`\\` a backslash. The comment is optional; the names of outcomes are ignored.

Reference: Gambit documentation, Game representation formats, www.gambit-project.org.
"""

import re
from collections.abc import Callable
from fractions import Fraction
from math import prod
from typing import Any, Literal, NoReturn

import numpy as np

from regrax import _checks as checks
from regrax.games.game import MAX_PLAYERS, Game, precise_payoffs
from regrax.specs import as_game

MAX_PAYOFFS = 2_000_000
"""Largest number of payoffs in a file; larger games belong in `.npz`."""
MAX_NUMBER_CHARACTERS = 1000
MAX_EXPONENT = 400  # numbers beyond it are 0 or infinite as doubles

# a string, mark or word, and the space after it
_TOKEN = re.compile(r'("[^"\\]*+(?:\\.[^"\\]*+)*+"|[{},]|[^\s{},"]++)\s*+', re.DOTALL)


def game_from_nfg(data: bytes) -> Game:
    """Read a game from a Gambit `.nfg` file of either form.

    >>> game = game_from_nfg(b'NFG 1 R "coins" { "even" "odd" } { 2 2 } "" 1 -1 -1/3 1 -1 1 1 -1')
    >>> game, game.players, game.payoffs[0].tolist()
    (coins, ('even', 'odd'), [[1.0, -1.0], [-0.3333, 1.0]])
    """
    checks.instance("data", data, bytes, "the bytes of an .nfg file")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = _place(data[: error.start].decode("utf-8-sig", "replace"))
        raise ValueError(f"an .nfg file must be UTF-8 text, but {place} is not") from None
    return _Parser(text).game()


def game_to_nfg(game: Game | str, form: Literal["payoff", "outcome"] = "payoff") -> bytes:
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
    game = as_game(game)
    texts = np.vectorize(_number_text, otypes="O")(precise_payoffs(game))
    rows = list(zip(*(own.ravel("F") for own in texts), strict=True))
    if form == "payoff":
        body = "\n".join(" ".join(row) for row in rows)
    elif form == "outcome":
        outcomes = {row: index for index, row in enumerate(dict.fromkeys(rows), 1)}
        table = [f'  {{ "outcome {i}" {", ".join(row)} }}\n' for row, i in outcomes.items()]
        body = f"{{\n{''.join(table)}}}\n{' '.join(str(outcomes[row]) for row in rows)}"
    else:
        raise ValueError(f'form must be "payoff" or "outcome", got {form!r}')
    shape = "\n  ".join(_quoted_list(labels) for labels in game.actions)
    head = f"NFG 1 R {_quoted(game.name)} {_quoted_list(game.players)}"
    return f"{head}\n{{ {shape} }}\n{_quoted(game.comment)}\n{body}\n".encode()


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _quoted_list(texts: tuple[str, ...]) -> str:
    return f"{{ {' '.join(map(_quoted, texts))} }}"


def _number_text(payoff: float | Fraction) -> str:
    """Format a fraction, or the shortest decimal without an exponent that reads back as the same double."""
    if isinstance(payoff, Fraction):
        return str(payoff)
    if float(payoff).is_integer():
        return str(int(payoff))
    return np.format_float_positional(payoff)


def _place(before: str) -> str:
    """Return the line and column right after the text `before`."""
    line = before.count("\n") + 1
    column = len(before) - before.rfind("\n")
    return f"line {line}, column {column}"


class _Parser:
    """A recursive-descent parser; every error names the line and column."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = len(text) - len(text.lstrip())

    def game(self) -> Game:
        for expected, words in {"NFG": ["NFG"], "1": ["1"], "R or D": ["R", "D"]}.items():
            self.take(expected, words.index)
        title = self.quoted("the title in quotes")
        players = self.quoted_list("the name of a player in quotes or '}'")
        count = len(players)
        if not 1 <= count <= MAX_PLAYERS:
            self.fail(f"between 1 and {MAX_PLAYERS} players", f"{count}")
        self.mark("{")
        actions = None
        if self.next_is("{"):
            expected = "the name of an action in quotes or '}'"
            actions = [self.quoted_list(expected) for _ in players]
            sizes = [len(labels) for labels in actions]
        else:
            sizes = [self.take("a number of actions", _count) for _ in players]
        profiles = prod(sizes)
        if profiles < 1:
            self.fail("at least 1 action for every player", "0")
        if count * profiles > MAX_PAYOFFS:
            self.fail(f"a game with at most {MAX_PAYOFFS:,} payoffs", f"{count * profiles:,}")
        self.mark("}")
        comment = self.quoted("a comment") if self.next_is('"') else ""
        if self.next_is("{"):
            payoffs = self.outcomes(count, profiles)
        else:
            payoffs = [self.number() for _ in range(count * profiles)]
        if self.position < len(self.text):
            self.fail("the end of the file")
        # rows are joint actions with the first player's action fastest
        table = np.array(payoffs, object).reshape(*reversed(sizes), count).transpose()
        return Game(table, name=title, players=players, actions=actions, comment=comment)

    def outcomes(self, players: int, profiles: int) -> list[Any]:
        self.mark("{")
        outcomes = [[0] * players]
        while self.next_is("{"):
            self.mark("{")
            self.quoted("the name of an outcome in quotes")
            outcome = []
            for _ in range(players):
                if self.next_is(","):
                    self.mark(",")
                outcome.append(self.number())
            outcomes.append(outcome)
            self.mark("}")
        self.mark("}")
        expected = f"the number of an outcome, at most {len(outcomes) - 1},"
        return [self.take(expected, lambda word: outcomes[_count(word)]) for _ in range(profiles)]

    def quoted_list(self, expected: str) -> list[str]:
        self.mark("{")
        texts = []
        while not self.next_is("}"):
            texts.append(self.quoted(expected))
        self.mark("}")
        return texts

    def quoted(self, expected: str) -> str:
        if self.next_is('"'):
            expected = "a closing quote"
        return self.take(expected, _unquoted)

    def number(self) -> int | Fraction:
        return self.take("a number", _number)

    def next_is(self, mark: str) -> bool:
        return self.text.startswith(mark, self.position)

    def mark(self, mark: str) -> None:
        self.take(f"'{mark}'", [mark].index)

    def take(self, expected: str, convert: Callable[[str], Any]) -> Any:
        """Read a token; fail if there is none or `convert` raises an error."""
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            self.fail(expected)
        try:
            value = convert(match[1])
        except OverflowError:
            self.fail(f"{expected} that fits in a double")
        except (ValueError, LookupError, ZeroDivisionError):
            self.fail(expected)
        self.position = match.end()
        return value

    def fail(self, expected: str, got: str | None = None) -> NoReturn:
        if got is None:
            shown = self.text[self.position : self.position + 20].split("\n")[0]
            got = repr(shown) if shown else "the end"
        raise ValueError(f"expected {expected} at {_place(self.text[: self.position])}, got {got}")


def _unquoted(token: str) -> str:
    if not token.startswith('"'):
        raise ValueError
    return re.sub(r'\\(["\\])', r"\1", token[1:-1])


def _count(word: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", word):
        raise ValueError
    return int(word)


def _number(word: str) -> int | Fraction:
    if len(word) > MAX_NUMBER_CHARACTERS or set(word) - set("0123456789.eE/+-"):
        raise ValueError
    exponent = word.lower().partition("e")[2]
    if exponent and abs(int(exponent)) > MAX_EXPONENT:
        raise ValueError
    value = Fraction(word)
    float(value)  # may overflow
    if value.denominator == 1:
        return int(value)
    return value
