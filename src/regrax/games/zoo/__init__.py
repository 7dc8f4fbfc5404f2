"""A zoo of named games and families, a file a kind. Each function is a name on the command line, `_` written as `-`."""

import inspect
from collections.abc import Callable
from typing import NamedTuple

from regrax.games._game import Game
from regrax.games.zoo import (
    _bargaining,
    _classics,
    _markets,
    _n_player,
    _poker,
    _random_games,
    _zero_sum,
)
from regrax.games.zoo._bargaining import *
from regrax.games.zoo._classics import *
from regrax.games.zoo._markets import *
from regrax.games.zoo._n_player import *
from regrax.games.zoo._poker import *
from regrax.games.zoo._random_games import *
from regrax.games.zoo._zero_sum import *

ZOO = {
    name.replace("_", "-"): getattr(family, name)
    for family in (_classics, _bargaining, _zero_sum, _poker, _markets, _n_player, _random_games)
    for name in family.__all__
}
"""Name to function; the `repr` of a game starts with its name here."""


class About(NamedTuple):
    """What the docstring of a game of the zoo says."""

    summary: str
    rule: str
    reference: str
    parameters: str  # with their defaults, as in (firms=2, intercept=12)


def about(name: str) -> About:
    """A game's description by its name or spec; all empty if the zoo has no such name.

    >>> about("deadlock").summary
    'What is dominant is also best for both: no dilemma.'
    >>> about("ultimatum").parameters
    '(pie=10)'
    """
    make = ZOO.get(name.split("(")[0].strip().lower().replace("_", "-"))
    text = (inspect.getdoc(make) or "") if make else ""
    parts = [" ".join(part.split()) for part in text.split("\n\n") if not part.startswith(">>>")]
    reference = " ".join(
        part.removeprefix("Reference: ") for part in parts if part.startswith("Reference")
    )
    rule = " ".join(part for part in parts[1:] if not part.startswith("Reference"))
    return About(parts[0] if parts else "", rule, reference, _parameters(make) if make else "")


def _parameters(make: Callable[..., Game]) -> str:
    texts = []
    for parameter in inspect.signature(make).parameters.values():
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        default = "" if parameter.default is parameter.empty else f"={parameter.default:.4g}"
        texts.append(f"{star}{parameter.name}{default}")
    return f"({', '.join(texts)})" if texts else ""


__all__ = ["ZOO", "About", "about"]
__all__ += _bargaining.__all__
__all__ += _classics.__all__
__all__ += _zero_sum.__all__
__all__ += _n_player.__all__
__all__ += _random_games.__all__
__all__ += _markets.__all__
__all__ += _poker.__all__
