"""Helpers for defining the games in the zoo: grids of joint actions, labels, and names in the form of specs."""

import inspect
from collections.abc import Callable
from functools import wraps
from math import prod
from typing import Any, ParamSpec

import numpy as np
from jaxtyping import Float, Int

from regrax import _checks as checks
from regrax.games.game import MAX_PAYOFFS, MAX_PLAYERS, Game
from regrax.specs import register

Arguments = ParamSpec("Arguments")


def check_sizes(*sizes: int) -> None:
    """Raise an error unless every size is an integer >= 1 and the payoff tensor fits in memory."""
    if not sizes:
        raise ValueError(
            "a game needs a number of actions for each player, as in random(10, 10), got none"
        )
    for size in sizes:
        checks.at_least("actions", size, 1)
    if len(sizes) > MAX_PLAYERS or len(sizes) * prod(sizes) > MAX_PAYOFFS:
        raise ValueError(
            f"a game may have at most {MAX_PLAYERS} players and {MAX_PAYOFFS:,} payoffs, "
            f"got {len(sizes)} players with {max(sizes)} actions"
        )


def choices(*sizes: int) -> Int[np.ndarray, "N *d"]:
    """Return an array whose entry `n` is the action of player `n` at every joint action.

    >>> choices(2, 2).tolist()
    [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    check_sizes(*sizes)
    return np.indices(sizes)


def same_choices(name: str, players: int, actions: int, minimum: int = 1) -> Any:
    """Return the `choices` of players with the same number of actions; `name` is used in error messages."""
    checks.at_least(name, players, minimum)
    return choices(*[actions] * players)


def numbers(highest: int, lowest: int = 0) -> list[str]:
    """Return labels for integer actions."""
    return [str(number) for number in range(lowest, highest + 1)]


def split_prize(
    scores: Float[np.ndarray, "N *d"] | Int[np.ndarray, "N *d"],
) -> Float[np.ndarray, "N *d"]:
    """Split a prize of 1 among the players with the highest score.

    >>> import numpy as np
    >>> split_prize(np.array([[1, 2], [1, 5]])).tolist()
    [[0.5, 0.0], [0.5, 1.0]]
    """
    best = scores == scores.max(0)
    return best / best.sum(0)


def named(make: Callable[Arguments, Game]) -> Callable[Arguments, Game]:
    """Register a zoo function, and name every game that it returns after the spec of the call.

    Parameters without a default come first, in order; the others follow by keyword if they differ from the default.

    >>> from regrax.games import random
    >>> random(2, 3, seed=7).name
    'random(2, 3, seed=7)'
    """

    @wraps(make)
    def make_named(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> Game:
        game = make(*arguments, **keywords)
        call = inspect.signature(make).bind(*arguments, **keywords)
        texts = []
        for argument, value in call.arguments.items():
            parameter = call.signature.parameters[argument]
            if parameter.kind is parameter.VAR_POSITIONAL:
                texts += map(_text, value)
            elif parameter.default is parameter.empty:
                texts.append(_text(value))
            elif value != parameter.default:
                texts.append(f"{argument}={_text(value)}")
        name = make.__name__.replace("_", "-")
        if texts:
            name += f"({', '.join(texts)})"
        game.__dict__["name"] = name  # safe: nothing else refers to this immutable object yet
        return game

    return register("game")(make_named)


def _text(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    return repr(value)
