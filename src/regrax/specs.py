r"""Learners and games as text, the text that `repr` prints: parsed, never evaluated.

    spec     = name [ "(" [ argument { "," argument } ] ")" ]
    argument = [ keyword "=" ] ( number | true | false | "text" | spec | "[" [ number { "," number } ] "]" )

as in `hedge(0.4479)`, `blum_mansour(hedge(inverse_sqrt(1.0)))`, `weighted-rps`, `random(10, 10, seed=3)`. In names `-`
and `_` are the same. What a spec names is data: learners, games, distributions of losses and kinds of feedback. No spec
read here reaches an agent, a module or a file; the command line adds those to what it passes as `more`.
"""

import difflib
import inspect
import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from regrax import _registry as registry

if TYPE_CHECKING:
    from regrax.games import Game
    from regrax.learners import Learner
    from regrax.training import Distribution, Feedback

__all__ = [
    "GRAMMAR",
    "draw_games",
    "parse_distribution",
    "parse_feedback",
    "parse_game",
    "parse_learner",
]

GRAMMAR = 'name, or name(arguments) with numbers, true, false, "text" or specs, as in '
GAME = "random(10, 10, seed=3)"  # an example of a game's spec
DEPTH = 20  # specs within specs
LONGEST = 40  # characters of a number

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?![\w.])
      | (?P<name>[A-Za-z][\w-]*)
      | (?P<text>"(?:[^"\\]|\\.)*")
      | (?P<mark>[][(),=])
    )""",
    re.VERBOSE | re.ASCII,
)


class Call(NamedTuple):
    """A parsed spec: a name and its arguments, nothing looked up yet."""

    name: str
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]


class _Parser:
    """Reads tokens from left to right; every error shows the text and what was expected where."""

    def __init__(self, text: str, example: str) -> None:
        self.text, self.example, self.position, self.depth = text, example, 0, 0

    def whole(self) -> Call:
        call = self.spec()
        if self.text[self.position :].strip():
            self.fail("the end")
        return call

    def spec(self) -> Call:
        self.depth += 1
        if self.depth > DEPTH:
            raise ValueError(
                f"a spec may hold specs at most {DEPTH} deep, but {_short(self.text)} goes deeper"
            )
        name = self.take("name") or self.fail("a name")
        arguments, keywords = self.arguments() if self.take("mark", "(") else ((), {})
        self.depth -= 1
        return Call(_canonical(name), arguments, keywords)

    def arguments(self) -> tuple[tuple, dict]:
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        if self.take("mark", ")"):
            return (), keywords
        while True:
            self.argument(positional, keywords)
            if self.take("mark", ")"):
                return tuple(positional), keywords
            if not self.take("mark", ","):
                self.fail("',' or ')'")

    def argument(self, positional: list[Any], keywords: dict[str, Any]) -> None:
        start = self.position
        keyword = self.take("name")
        if keyword and self.take("mark", "="):
            if _canonical(keyword) in keywords:
                raise ValueError(
                    f"{keyword} must be given once, but {_short(self.text)} gives it twice"
                )
            keywords[_canonical(keyword)] = self.value()
            return
        self.position = start
        if keywords:
            self.fail("keyword=value after a keyword")
        positional.append(self.value())

    def value(self) -> Any:
        if number := self.take("number"):
            if len(number) > LONGEST:
                self.fail(f"a number of at most {LONGEST} characters")
            return float(number) if re.search(r"[.eE]", number) else int(number)
        if text := self.take("text"):
            return json.loads(text)
        if self.take("mark", "["):
            return self.numbers()
        call = self.spec()
        constants = {"true": True, "false": False}
        bare = call.name in constants and not call.arguments and not call.keywords
        return constants[call.name] if bare else call

    def numbers(self) -> list[float]:
        """The rest of a list of numbers."""
        listed: list[float] = []
        while not self.take("mark", "]"):
            if listed and not self.take("mark", ","):
                self.fail("',' or ']'")
            listed.append(float(self.take("number") or self.fail("a number")))
        return listed

    def take(self, kind: str, wanted: str | None = None) -> str | None:
        """The next token if it is of this kind (and is `wanted`), else None and nothing is read."""
        match = _TOKEN.match(self.text, self.position)
        if not match or match[kind] is None or (wanted is not None and match[kind] != wanted):
            return None
        self.position = match.end()
        return match[kind]

    def fail(self, expected: str) -> Any:
        rest = self.text[self.position :].strip()
        came = _short(rest) if rest else "the end"
        raise ValueError(
            f"expected {expected} but came {came} in {_short(self.text)}; a spec is {GRAMMAR}{self.example}"
        )


def parse_learner(text: str, more: Mapping[str, registry.Entry] | None = None) -> "Learner":
    """The learner that a spec names; `more` are names that are known besides the learners that are data.

    >>> parse_learner("blum-mansour(hedge(0.9944))")
    blum_mansour(hedge(0.9944))
    """
    from regrax.learners import Learner

    example = "blum_mansour(hedge(0.9944))"
    aliases = {name: registry.LEARNERS[meant] for name, meant in registry.ALIASES.items()}
    data = {name: one for name, one in registry.LEARNERS.items() if name != "checkpoint"}
    known = {**data, **aliases, **registry.PARTS, **(more or {})}
    built = _build(_Parser(text, example).whole(), known, "learner", example)
    if not isinstance(built, Learner):
        raise ValueError(f"expected a learner, as in {example}, but {text} is none")
    return built


def parse_game(text: str) -> "Game":
    """The game that a spec names.

    >>> parse_game("random(2, 3, seed=7)")
    random(2, 3, seed=7)
    """
    return _build(_Parser(text, GAME).whole(), _zoo(), "game", GAME)


def draw_games(text: str, seeds: int) -> "list[Game]":
    """The games that a spec stands for: of a random family without a seed one per seed, else the one game.

    >>> draw_games("random(2, 2)", 3)
    [random(2, 2), random(2, 2, seed=1), random(2, 2, seed=2)]
    >>> draw_games("chicken", 3)
    [chicken]
    """
    call, zoo = _Parser(text, GAME).whole(), _zoo()
    entry = zoo.get(call.name)
    if not entry or "seed=" not in entry.parameters or "seed" in call.keywords:
        return [_build(call, zoo, "game", GAME)]
    seeded = [call._replace(keywords={**call.keywords, "seed": seed}) for seed in range(seeds)]
    return [_build(one, zoo, "game", GAME) for one in seeded]


def _zoo() -> dict[str, registry.About]:
    return {_canonical(name): entry for name, entry in registry.games().items()}


def parse_distribution(text: str) -> "Distribution":
    """The distribution of loss sequences that a spec names; a game and its learners are specs in quotes.

    >>> type(parse_distribution("mixture(gaussian, student-t(5.0))")).__name__
    'Mixture'
    >>> type(parse_distribution('in-game("weighted-rps", "hedge(0.4)")')).__name__
    'InGame'
    """
    example = "student-t(5.0)"
    known = {**registry.DISTRIBUTIONS, "mixture": _mixture, "in_game": _in_game}
    return _build(_Parser(text, example).whole(), known, "distribution", example)


def parse_feedback(text: str) -> "Feedback":
    """What a model sees of the losses, as a spec names it.

    >>> parse_feedback("delayed(2)").delay
    2
    """
    example = "delayed(2)"
    return _build(_Parser(text, example).whole(), registry.FEEDBACKS, "feedback", example)


def _build(call: Call, known: Mapping[str, Any], kind: str, example: str) -> Any:
    if call.name not in known:
        nearest = difflib.get_close_matches(call.name, known, 1, 0.5)
        hint = f"; the nearest is {_spelled(nearest[0], known)}" if nearest else ""
        listed = f"`regrax {kind}s` lists them" if kind in ("game", "learner") else _listed(known)
        raise ValueError(
            f"no {kind} is named {call.name!r}{hint} (a spec is {GRAMMAR}{example}; {listed})"
        )

    def built(value: Any) -> Any:
        return _build(value, known, kind, example) if isinstance(value, Call) else value

    entry = known[call.name]
    make = entry.load() if hasattr(entry, "load") else entry
    arguments = [built(value) for value in call.arguments]
    keywords = {name: built(value) for name, value in call.keywords.items()}
    try:
        inspect.signature(make).bind(*arguments, **keywords)
    except TypeError as error:
        form = f"{call.name}{_parameters(make)}"
        raise ValueError(f"{call.name} is called as {form}, but: {error}") from None
    try:
        return make(*arguments, **keywords)
    except TypeError as error:
        raise ValueError(f"{call.name} cannot take these arguments: {error}") from None


def _listed(known: Mapping[str, Any]) -> str:
    return f"there are {', '.join(name.replace('_', '-') for name in known)}"


def _parameters(make: Callable[..., Any]) -> str:
    texts = []
    for parameter in inspect.signature(make).parameters.values():
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        texts.append(f"{star}{parameter.name}{default}")
    return f"({', '.join(texts)})"


def _canonical(name: str) -> str:
    return name.lower().replace("-", "_")


def _spelled(name: str, known: Mapping[str, Any]) -> str:
    return name.replace("_", "-") if name.replace("_", "-") in registry.games() else name


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _mixture(*parts: "Distribution") -> "Distribution":
    from regrax.training import Mixture

    return Mixture(parts)


def _in_game(game: str, *learners: str, seat: int = 0) -> "Distribution":
    from regrax.training import InGame

    return InGame(parse_game(game), tuple(map(parse_learner, learners)), seat)
