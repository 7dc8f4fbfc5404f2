"""What the games of the zoo are made with: grids of joint actions, and names that are specs."""

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from math import prod
from typing import Any, ParamSpec

import numpy as np
from jaxtyping import Float, Int

from regrax import _checks as checks
from regrax.games.game import MAX_PAYOFFS, MAX_PLAYERS, Game

Given = ParamSpec("Given")


def check_sizes(*sizes: int) -> None:
    """Raise unless every size is an integer >= 1 and the payoff tensor fits in memory."""
    if not sizes:
        raise ValueError(
            "a game needs the number of actions of each player, as in random(10, 10), got none"
        )
    for size in sizes:
        checks.at_least("actions", size, 1)
    if len(sizes) * prod(sizes) > MAX_PAYOFFS or len(sizes) > MAX_PLAYERS:
        raise ValueError(
            f"a game may have at most {MAX_PLAYERS} players and {MAX_PAYOFFS:,} payoffs, got sizes {_short(sizes)}"
        )


def _short(sizes: Sequence[int]) -> str:
    return str(list(sizes)) if len(sizes) <= 8 else f"{len(sizes)} players of {sizes[0]} actions"


def choices(*sizes: int) -> Int[np.ndarray, "N *d"]:
    """`choices(...)[n]` is player `n`'s action at every joint action.

    >>> choices(2, 2).tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    check_sizes(*sizes)
    return np.indices(sizes)


def numbers(highest: int, lowest: int = 0) -> list[str]:
    """Labels of actions that are integers."""
    return [str(number) for number in range(lowest, highest + 1)]


def split_prize(
    scores: Float[np.ndarray, "N *d"] | Int[np.ndarray, "N *d"],
) -> Float[np.ndarray, "N *d"]:
    """One, shared among the players with the highest score.

    >>> import numpy as np
    >>> split_prize(np.array([[1, 2], [1, 5]])).tolist()
    [[0.5, 0.0], [0.5, 1.0]]
    """
    best = scores == scores.max(0)
    return best / best.sum(0)


def named(make: Callable[Given, Game]) -> Callable[Given, Game]:
    """Give every game that `make` returns the spec of the call as its name.

    It has parameters without a default in order, the others by keyword where they differ from it.

    >>> from regrax.games import random
    >>> random(2, 3, seed=7).name
    'random(2, 3, seed=7)'
    """

    @wraps(make)
    def made(*arguments: Given.args, **keywords: Given.kwargs) -> Game:
        game = make(*arguments, **keywords)
        called = inspect.signature(make).bind(*arguments, **keywords)
        # a game never changes, but nobody has seen this one yet
        game.__dict__["name"] = _spec(make.__name__, called)
        return game

    return made


def _spec(name: str, called: inspect.BoundArguments) -> str:
    texts = []
    for argument, value in called.arguments.items():
        parameter = called.signature.parameters[argument]
        if parameter.kind is parameter.VAR_POSITIONAL:
            texts += map(_text, value)
        elif parameter.default is parameter.empty:
            texts.append(_text(value))
        elif value != parameter.default:
            texts.append(f"{argument}={_text(value)}")
    name = name.replace("_", "-")
    return f"{name}({', '.join(texts)})" if texts else name


def _text(value: Any) -> str:
    return repr(value.item() if isinstance(value, np.generic) else value)
