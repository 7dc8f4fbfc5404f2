r"""Specs: strings that name learners, games, loss distributions and feedback, and can be passed in place of them.

    spec     = name [ "(" [ argument { "," argument } ] ")" ]
    argument = [ keyword "=" ] ( number | true | false | "text" | spec | "[" [ number { "," number } ] "]" )

as in `hedge(0.4479)`, `blum_mansour(hedge(inverse_sqrt(1.0)))`, `weighted-rps`, `random(10, 10, seed=3)`. In names, `-`
and `_` are interchangeable. A spec is parsed with Python's grammar but never evaluated, and it can only name what
`register` has registered, so a spec from an untrusted file cannot reach modules, files or agents.
"""

import ast
import difflib
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from regrax.games import Game
    from regrax.learners import Learner
    from regrax.training import Distribution, PartialFeedback

__all__ = [
    "Entry",
    "as_game",
    "as_learner",
    "draw_games",
    "import_own",
    "parse_distribution",
    "parse_feedback",
    "parse_game",
    "parse_learner",
    "register",
    "registered",
]

Registered = TypeVar("Registered", bound=Callable[..., Any])

GRAMMAR = 'name, or name(arguments) with numbers, true, false, "text" or specs, as in '
EXAMPLES = {
    "learner": "blum_mansour(hedge(0.9944))",
    "game": "random(10, 10, seed=3)",
    "distribution": "student-t(5.0)",
    "feedback": "delayed(2)",
}
MAX_DEPTH = 8  # specs within specs
MAX_CHARACTERS = 10_000
MAX_INTEGER = 2**63
_HYPHEN = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<=\w)-(?=[A-Za-z])""")
"""Matches a quoted string, or a hyphen inside a name but not the minus sign in `1e-3` or `-1`."""

_HOMES = {
    "learner": ("regrax.learners", "regrax.theory"),
    "argument": ("regrax.learners",),
    "game": ("regrax.games",),
    "distribution": ("regrax.training",),
    "feedback": ("regrax.training",),
}
"""Packages that register each kind; `registered` imports them, so that specs can name objects from higher layers."""

_REGISTRY: dict[str, dict[str, "Entry"]] = {kind: {} for kind in _HOMES}
_NAMES: dict[Any, str] = {}


class Entry(NamedTuple):
    """A registered class or function.

    Attributes:
        name: name used in specs.
        make: class or function, called with the spec's arguments.
        examples: example specs.
        is_alias: True if the name is an alias.
    """

    name: str
    make: Any
    examples: tuple[str, ...] = ()
    is_alias: bool = False

    @property
    def paragraphs(self) -> list[str]:
        """The docstring, split into paragraphs."""
        text = inspect.getdoc(self.make) or ""
        return [" ".join(part.split()) for part in text.split("\n\n")]

    @property
    def summary(self) -> str:
        """The first paragraph of its docstring."""
        return self.paragraphs[0]

    @property
    def rule(self) -> str:
        """The rest of its docstring, without arguments, examples and reference."""
        apart = ("Args:", "Reference:", ">>>")
        return " ".join(part for part in self.paragraphs[1:] if not part.startswith(apart))

    @property
    def reference(self) -> str:
        """The references that its docstring cites."""
        cited = [part for part in self.paragraphs if part.startswith("Reference:")]
        return " ".join(part.removeprefix("Reference: ") for part in cited)

    @property
    def parameters(self) -> str:
        """Its parameters with their defaults, as in `(firms=2, intercept=12)`; empty if it has none."""
        return _form(self.make).removeprefix("()")


def register(kind: str, *examples: str, alias: str = "") -> Callable[[Registered], Registered]:
    """Register a class or function so that specs can name it.

    Args:
        kind: `"learner"`, `"argument"` (of a learner's spec), `"game"`, `"distribution"` or `"feedback"`.
        examples: example specs; the first begins with the name to register, by default the function's in lower case.
        alias: an alternative name.

    >>> @register("game")  # doctest: +SKIP
    ... def traffic_lights():
    ...     return bimatrix([[0, 2], [1, -9]], [[0, 1], [2, -9]])
    >>> parse_game("traffic-lights")  # doctest: +SKIP
    traffic-lights
    """

    def decorate(make: Registered) -> Registered:
        name = examples[0].split("(")[0] if examples else make.__name__.lower()
        _REGISTRY[kind][name] = Entry(name, make, examples)
        _NAMES[make] = name
        if alias:
            _REGISTRY[kind][alias] = Entry(alias, make, (), True)
        return make

    return decorate


def import_own(module: str | None) -> None:
    """Import a user's module, which registers learners, games or models; the working directory is searched too.

    Call it only with a name that the user passes, never with one from a file.

    >>> import_own("no_such_module")
    Traceback (most recent call last):
    ValueError: the module no_such_module cannot be imported: ModuleNotFoundError: No module named 'no_such_module'
    """
    if module is None:
        return
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        import_module(module)
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(f"the module {module} cannot be imported: {reason}") from error
    finally:
        sys.path.remove(folder)


def registered(kind: str) -> dict[str, Entry]:
    """Return all registered entries of a kind, keyed by name.

    >>> registered("game")["ultimatum"].parameters
    '(pie=10)'
    """
    for home in _HOMES[kind]:
        import_module(home)
    return dict(sorted(_REGISTRY[kind].items()))


def name_of(kind: type) -> str:
    """Return the name that specs use for a class, or the class's own name if it is not registered."""
    return _NAMES.get(kind, kind.__name__)


class Call(NamedTuple):
    """A parsed spec: a name and its arguments, before any lookup."""

    name: str
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]


def parse_learner(
    text: str, more: Mapping[str, Callable[..., "Learner"]] | None = None
) -> "Learner":
    """Build the learner that a spec names.

    Args:
        text: the spec.
        more: functions for additional names, for learners that need a file or an agent.

    >>> str(parse_learner("blum-mansour(hedge(0.9944))"))
    'blum_mansour(hedge(0.9944))'
    """
    known = _makers("learner") | _makers("argument") | dict(more or {})
    learner = _build(_parse(text, "learner"), "learner", known)
    if not isinstance(learner, _type_of("learner")):
        raise ValueError(f"expected a learner, as in {EXAMPLES['learner']}, got {text}")
    return learner


def as_learner(learner: "Learner | str") -> "Learner":
    """Return a learner unchanged, or build it from its spec.

    >>> as_learner("hedge(0.5)")
    Hedge(step_size=0.5)
    """
    if isinstance(learner, str):
        return parse_learner(learner)
    if not isinstance(learner, _type_of("learner")):
        raise ValueError(f"learners must be Learner objects or specs, got {learner!r}")
    return learner


def parse_game(text: str) -> "Game":
    """Build the game that a spec names.

    >>> parse_game("random(2, 3, seed=7)")
    random(2, 3, seed=7)
    """
    return _build(_parse(text, "game"), "game", _makers("game"))


def as_game(game: "Game | str") -> "Game":
    """Return a game unchanged, or build it from its spec; to read a file, use `regrax.games.load`.

    >>> as_game("chicken")
    chicken
    """
    if isinstance(game, str):
        return parse_game(game)
    if not isinstance(game, _type_of("game")):
        raise ValueError(
            f"game must be a Game or a spec, got {type(game).__name__}; "
            "rx.games.zero_sum and rx.games.bimatrix make a game from matrices"
        )
    return game


def draw_games(text: str, seeds: int) -> "list[Game]":
    """Build one game per seed if the spec names a random family without a seed, otherwise the single game it names.

    >>> draw_games("random(2, 2)", 3)
    [random(2, 2), random(2, 2, seed=1), random(2, 2, seed=2)]
    >>> draw_games("chicken", 3)
    [chicken]
    """
    known = _makers("game")
    call = _parse(text, "game")
    make = _look_up(call.name, "game", known)
    calls = [call]
    if "seed" in inspect.signature(make).parameters and "seed" not in call.keywords:
        calls = [call._replace(keywords={**call.keywords, "seed": n}) for n in range(seeds)]
    return [_build(call, "game", known) for call in calls]


def parse_distribution(
    text: str, more: Mapping[str, Callable[..., "Distribution"]] | None = None
) -> "Distribution":
    """Build the distribution of loss sequences that a spec names; games and learners inside it are quoted specs.

    Args:
        text: the spec.
        more: functions for additional names, which take precedence.

    >>> type(parse_distribution("mixture(gaussian, student-t(5.0))")).__name__
    'Mixture'
    >>> type(parse_distribution('in-game("weighted-rps", "hedge(0.4)")')).__name__
    'InGame'
    """
    known = _makers("distribution") | dict(more or {})
    return _build(_parse(text, "distribution"), "distribution", known)


def parse_feedback(text: str) -> "PartialFeedback":
    """Build the feedback that a spec names, that is, the part of the losses that a model sees.

    >>> parse_feedback("delayed(2)").delay
    2
    """
    return _build(_parse(text, "feedback"), "feedback", _makers("feedback"))


@cache
def _type_of(kind: str) -> type:
    return getattr(import_module(_HOMES[kind][0]), kind.capitalize())


def _makers(kind: str) -> dict[str, Callable[..., Any]]:
    return {name: entry.make for name, entry in registered(kind).items()}


def _parse(text: str, kind: str) -> Call:
    """Parse calls, numbers and strings with Python's grammar, without evaluating them."""
    example = EXAMPLES[kind]
    if not isinstance(text, str):
        raise ValueError(f"a spec must be a string, as in {example}, got {text!r:.60}")
    try:
        if len(text) > MAX_CHARACTERS:
            raise ValueError(f"it is longer than {MAX_CHARACTERS} characters")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an unknown escape in a string
            tree = ast.parse(_HYPHEN.sub(lambda m: m[1] or "_", text.strip()), mode="eval")
        call = _value(tree.body, 0)
        if not isinstance(call, Call):
            raise ValueError("it has no name")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        raise ValueError(f"expected {GRAMMAR}{example}, got {_short(text)}: {reason}") from None
    return call


def _value(node: ast.expr, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise ValueError(f"specs may be nested at most {MAX_DEPTH} deep")
    match node:
        case ast.Name(id="true" | "false" as constant):
            return constant == "true"
        case ast.Name(id=name):
            return Call(name.lower(), (), {})
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
            values = tuple(_value(argument, depth + 1) for argument in arguments)
            named = {(k.arg or "**").lower(): _value(k.value, depth + 1) for k in keywords}
            if len(named) < len(keywords) or "**" in named:
                raise ValueError("every keyword must have a name and appear only once")
            return Call(name.lower(), values, named)
        case ast.List(elts=items):
            return [float(_number(item)) for item in items]
        case ast.Constant(value=str(quoted)):
            return quoted
    return _number(node)


def _number(node: ast.expr) -> int | float:
    number: Any = None
    with suppress(ValueError, TypeError):  # TypeError for a set of lists
        number = ast.literal_eval(node)
    if type(number) not in (int, float):
        raise ValueError(f"{_short(ast.unparse(node))} is not a number, string or spec")
    if isinstance(number, int) and abs(number) >= MAX_INTEGER:
        raise ValueError("an integer must be below 2^63")
    return number


def _look_up(name: str, kind: str, known: Mapping[str, Any]) -> Any:
    """Return what a name stands for, or raise an error that suggests a similar name."""
    if name in known:
        return known[name]
    close = difflib.get_close_matches(name, known, 1, 0.5)
    hint = ""
    if close:
        similar = close[0] if kind == "learner" else _with_hyphens(close[0])
        hint = f"; did you mean {similar}?"
    listed = f"choose from {', '.join(map(_with_hyphens, known))}"
    if kind in ("game", "learner"):
        listed = f"`regrax {kind}s` lists all {kind}s"
    raise ValueError(
        f"unknown {kind} {name!r}{hint} (a spec is {GRAMMAR}{EXAMPLES[kind]}; {listed})"
    )


def _build(value: Any, kind: str, known: Mapping[str, Callable[..., Any]]) -> Any:
    """Build what a spec names, with its nested specs; return other values unchanged."""
    if not isinstance(value, Call):
        return value
    make = _look_up(value.name, kind, known)
    arguments = [_build(argument, kind, known) for argument in value.arguments]
    keywords = {name: _build(argument, kind, known) for name, argument in value.keywords.items()}
    signature = inspect.signature(make)
    try:
        signature.bind_partial(**keywords)  # unknown names are reported before missing arguments
        signature.bind(*arguments, **keywords)
    except TypeError as error:
        call = value.name + _form(make)
        raise ValueError(f"{value.name} must be called as {call}: {error}") from None
    try:
        return make(*arguments, **keywords)
    except TypeError as error:
        raise ValueError(f"{value.name} does not accept these arguments: {error}") from None


def _form(make: Callable[..., Any]) -> str:
    """Return the parameters of a function with their defaults, as they are written in a call."""
    shown = []
    for parameter in inspect.signature(make).parameters.values():
        default = parameter.default
        if isinstance(default, float):
            default = round(default, 4)
        shown.append(parameter.replace(annotation=parameter.empty, default=default))
    return str(inspect.Signature(shown))


def _with_hyphens(name: str) -> str:
    return name.replace("_", "-")


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
