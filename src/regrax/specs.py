r"""Learners and games as text, the text that `rx.spec` gives: parsed as Python's calls are, never evaluated.

    spec     = name [ "(" [ argument { "," argument } ] ")" ]
    argument = [ keyword "=" ] ( number | true | false | "text" | spec | "[" [ number { "," number } ] "]" )

as in `hedge(0.4479)`, `blum_mansour(hedge(inverse_sqrt(1.0)))`, `weighted-rps`, `random(10, 10, seed=3)`. In names `-`
and `_` are the same. What a spec names is data: learners, games, distributions of losses and kinds of feedback. No spec
read here reaches an agent, a module or a file; the command line adds those to what it passes as `more`.

Functions that take a learner or a game take its text, too: `as_learner` and `as_game` stand at their doors.
"""

import ast
import difflib
import inspect
import re
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from regrax import _registry as registry

if TYPE_CHECKING:
    from regrax.games import Game
    from regrax.learners import Learner
    from regrax.training import Distribution, Feedback

__all__ = [
    "GRAMMAR",
    "as_game",
    "as_learner",
    "draw_games",
    "learner_maker",
    "parse_distribution",
    "parse_feedback",
    "parse_game",
    "parse_learner",
]

GRAMMAR = 'name, or name(arguments) with numbers, true, false, "text" or specs, as in '
GAME = "random(10, 10, seed=3)"  # an example of a game's spec
MAX_DEPTH = 8  # specs within specs
MAX_CHARACTERS = 10_000
MAX_INTEGER = 2**63
_HYPHEN = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<=\w)-(?=[A-Za-z])""")
"""A quoted text, or a hyphen inside a name: `1e-3` and `-1` have none."""


class Call(NamedTuple):
    """A parsed spec: a name and its arguments, nothing looked up yet."""

    name: str
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]


def _parse(text: str, example: str) -> Call:
    """Read Python's grammar of calls, numbers and texts as data; whatever else it allows is refused."""
    _check_text(text, example)
    try:
        if len(text) > MAX_CHARACTERS:
            raise ValueError(f"it is longer than {MAX_CHARACTERS} characters")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an unknown escape in a text
            tree = ast.parse(_HYPHEN.sub(lambda m: m[1] or "_", text.strip()), mode="eval")
        call = _value(tree.body, 0)
        if not isinstance(call, Call):
            raise ValueError("it has no name")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise ValueError(f"expected {GRAMMAR}{example}, got {_short(text)}: {reason}") from None
    return call


def _check_text(text: Any, example: str) -> None:
    if not isinstance(text, str):
        raise ValueError(f"a spec must be a text{example}, got {text!r:.60}")


def _value(node: ast.expr, depth: int) -> Any:
    """A number, text, list of numbers, true, false or spec within a spec."""
    if depth > MAX_DEPTH:
        raise ValueError(f"specs may be at most {MAX_DEPTH} deep")
    match node:
        case ast.Name(id="true" | "false" as constant):
            return constant == "true"
        case ast.Name(id=name):
            return Call(name.lower(), (), {})
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
            within = [_value(one, depth + 1) for one in arguments]
            named = {(k.arg or "**").lower(): _value(k.value, depth + 1) for k in keywords}
            if len(named) < len(keywords) or "**" in named:
                raise ValueError("every keyword must be named, and given once")
            return Call(name.lower(), tuple(within), named)
        case ast.List(elts=items):
            return [float(_number(item)) for item in items]
        case ast.Constant(value=str(quoted)):
            return quoted
    return _number(node)


def _number(node: ast.expr) -> int | float:
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=positive):
            return -_number(positive)
        case ast.UnaryOp(op=ast.UAdd(), operand=positive):
            return _number(positive)
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            if isinstance(number, int) and number >= MAX_INTEGER:
                raise ValueError("an integer must be below 2^63")
            return number
    raise ValueError(f"{_short(ast.unparse(node))} is no number, text or spec")


def parse_learner(text: str, more: Mapping[str, registry.Entry] | None = None) -> "Learner":
    """The learner that a spec names; `more` are names that are known besides the learners that are data.

    >>> str(parse_learner("blum-mansour(hedge(0.9944))"))
    'blum_mansour(hedge(0.9944))'
    """
    return learner_maker(text, more)()


def learner_maker(
    text: str, more: Mapping[str, registry.Entry] | None = None
) -> "Callable[[], Learner]":
    """What makes the learner that a spec names: bad names are refused here, and nothing is imported until it is called.

    >>> learner_maker("blum-mansour(hegde(0.9944))")
    Traceback (most recent call last):
    ValueError: unknown learner 'hegde'; did you mean hedge? ...
    """
    example = "blum_mansour(hedge(0.9944))"
    known = {**registry.LEARNERS, **registry.ALIASES, **registry.PARTS, **(more or {})}
    if "checkpoint" not in (more or {}):
        del known["checkpoint"]
    call = _read(text, known, "learner", example)

    def make() -> "Learner":
        built = _build(call, known)
        if not isinstance(built, _load(registry.LEARNER)):
            raise ValueError(f"expected a learner, as in {example}, got {text}")
        return built

    return make


def as_learner(learner: "Learner | str") -> "Learner":
    """A learner as it is, or the one that a text names.

    >>> as_learner("hedge(0.5)")
    Hedge(step_size=0.5)
    """
    learner = parse_learner(learner) if isinstance(learner, str) else learner
    if not isinstance(learner, _load(registry.LEARNER)):
        raise ValueError(f"learners must be Learner objects or specs of them, got {learner!r}")
    return learner


def as_game(game: "Game | str") -> "Game":
    """A game as it is, or the one that a text names; a file is read by `regrax.games.load`.

    >>> as_game("chicken")
    chicken
    """
    game = parse_game(game) if isinstance(game, str) else game
    if not isinstance(game, _load(registry.GAME)):
        raise ValueError(f"game must be a Game or the spec of one, got {type(game).__name__}")
    return game


def parse_game(text: str) -> "Game":
    """The game that a spec names.

    >>> parse_game("random(2, 3, seed=7)")
    random(2, 3, seed=7)
    """
    zoo = _zoo()
    return _build(_read(text, zoo, "game", GAME), zoo)


def draw_games(text: str, seeds: int) -> "list[Game]":
    """The games that a spec stands for: of a random family without a seed one per seed, else the one game.

    >>> draw_games("random(2, 2)", 3)
    [random(2, 2), random(2, 2, seed=1), random(2, 2, seed=2)]
    >>> draw_games("chicken", 3)
    [chicken]
    """
    zoo = _zoo()
    call = _read(text, zoo, "game", GAME)
    make = _load(zoo[call.name])
    if "seed" not in inspect.signature(make).parameters or "seed" in call.keywords:
        return [_build(call, zoo)]
    seeded = [call._replace(keywords={**call.keywords, "seed": seed}) for seed in range(seeds)]
    return [_build(one, zoo) for one in seeded]


def _zoo() -> dict[str, str]:
    names = dir(import_module(registry.ZOO_HOME))
    return {name: f"{registry.ZOO_HOME}:{name}" for name in names}


def _load(entry: Any) -> Any:
    """What an entry of the registry, or its home, names; anything else is the thing itself."""
    home = entry.home if isinstance(entry, registry.Entry) else entry
    if not isinstance(home, str):
        return home
    package, _, name = home.rpartition(":")
    return getattr(import_module(package or "regrax.learners"), name)


def parse_distribution(
    text: str, more: "Mapping[str, Callable[..., Distribution]] | None" = None
) -> "Distribution":
    """The distribution of loss sequences that a spec names; a game and its learners are specs in quotes.

    `more` are names that are known besides, or in place of these.

    >>> type(parse_distribution("mixture(gaussian, student-t(5.0))")).__name__
    'Mixture'
    >>> type(parse_distribution('in-game("weighted-rps", "hedge(0.4)")')).__name__
    'InGame'
    """
    example = "student-t(5.0)"
    known = {**registry.DISTRIBUTIONS, "mixture": _mixture, "in_game": _in_game, **(more or {})}
    return _build(_read(text, known, "distribution", example), known)


def parse_feedback(text: str) -> "Feedback":
    """What a model sees of the losses, as a spec names it.

    >>> parse_feedback("delayed(2)").delay
    2
    """
    example = "delayed(2)"
    return _build(_read(text, registry.FEEDBACKS, "feedback", example), registry.FEEDBACKS)


def _read(text: str, known: Mapping[str, Any], kind: str, example: str) -> Call:
    call = _parse(text, example)
    _check(call, known, kind, example)
    return call


def _check(call: Call, known: Mapping[str, Any], kind: str, example: str) -> None:
    """Raise for a name that is not known, in a spec or within it: all are looked up before anything is loaded."""
    if call.name not in known:
        spelled = _with_hyphens if kind == "game" else str
        close = difflib.get_close_matches(call.name, known, 1, 0.5)
        hint = f"; did you mean {spelled(close[0])}?" if close else ""
        listed = f"`regrax {kind}s` lists all {kind}s"
        if kind not in ("game", "learner"):
            listed = f"there are {', '.join(map(_with_hyphens, known))}"
        raise ValueError(
            f"unknown {kind} {call.name!r}{hint} (a spec is {GRAMMAR}{example}; {listed})"
        )

    for value in (*call.arguments, *call.keywords.values()):
        if isinstance(value, Call):
            _check(value, known, kind, example)
    if check := getattr(known[call.name], "check", None):
        check(*call.arguments, **call.keywords)


def _build(call: Call, known: Mapping[str, Any]) -> Any:
    def built(value: Any) -> Any:
        return _build(value, known) if isinstance(value, Call) else value

    make = _load(known[call.name])
    arguments = [built(value) for value in call.arguments]
    keywords = {name: built(value) for name, value in call.keywords.items()}
    signature = inspect.signature(make)
    try:
        for unknown in keywords.keys() - signature.parameters:  # told before what is missing
            raise TypeError(f"got an unexpected keyword argument {unknown!r}")
        signature.bind(*arguments, **keywords)
    except TypeError as error:
        plain = [one.replace(annotation=one.empty) for one in signature.parameters.values()]
        form = signature.replace(parameters=plain, return_annotation=signature.empty)
        raise ValueError(f"{call.name} is called as {call.name}{form}, but: {error}") from None
    try:
        return make(*arguments, **keywords)
    except TypeError as error:
        raise ValueError(f"{call.name} cannot take these arguments: {error}") from None


def _with_hyphens(name: str) -> str:
    return name.replace("_", "-")


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def _mixture(*parts: "Distribution") -> "Distribution":
    return _load(registry.MIXTURE)(parts)


def _in_game(game: str, *learners: str, seat: int = 0) -> "Distribution":
    return _load(registry.IN_GAME)(game, learners, seat)
