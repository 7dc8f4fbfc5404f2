"""What a parsed answer means: an action's name or index, or probabilities; anything else is refused."""

import re
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

ROUNDING = 0.02  # by which probabilities may miss a sum of 1, as rounded ones do: they are scaled
KEYS = ("action", "policy", "probabilities", "answer", "choice", "move")
LEAD = " \t\r\n:*_=#>`'\"!.-"  # between a marker and what it marks
NUMBER = re.compile(r"(?<![\w.-])-?\d+(?:\.\d+)?(?!\w)")
Policy = Float[np.ndarray, "d"]


class Names(NamedTuple):
    """Actions' names as they are looked for."""

    labels: tuple[str, ...]
    places: dict[str, int]  # of casefolded names
    pattern: re.Pattern[str]
    numbered: bool  # whether a number may be an index: not if other numbers are names

    @classmethod
    @cache
    def of(cls, names: tuple[str, ...]) -> "Names":
        """The names, prepared once."""
        places = {name.strip().casefold(): place for place, name in enumerate(names)}
        either = "|".join(map(re.escape, sorted(places, key=len, reverse=True)))  # longest first
        pattern = re.compile(rf"(?<![\w.-])(?:{either})(?![.-]?\w)", re.I)
        counted = [str(place) for place in range(len(names))]
        numbered = list(names) == counted or not any(NUMBER.fullmatch(name) for name in places)
        return cls(names, places, pattern, numbered)

    def policy(self, place: int) -> Policy:
        """All on one action."""
        last = len(self.labels) - 1
        if not 0 <= place <= last:
            raise ValueError(f"the action must be from 0 to {last}, got {place:.6g}")
        return np.eye(last + 1)[place]


def policy_of(value: Any, names: Names) -> Policy:
    """The distribution that a parsed answer means; raises if it means none.

    >>> names = Names.of(("a", "b", "c"))
    >>> policy_of([0.33, 0.33, 0.33], names).round(4).tolist(), policy_of({"action": "b"}, names).tolist()
    ([0.3333, 0.3333, 0.3333], [0.0, 1.0, 0.0])
    """
    if isinstance(value, dict):
        value = _of_object(value, names)
    if isinstance(value, str) and (policy := named(value, names)) is not None:
        return policy
    if type(value) is int:
        place = names.places.get(str(value), value if names.numbered else -1)
        return names.policy(place)
    if not isinstance(value, list) or not all(type(v) in (int, float) for v in value):
        raise ValueError("the answer is neither an action nor a distribution")
    if len(value) != len(names.labels):
        raise ValueError(f"a distribution must have {len(names.labels)} entries, got {len(value)}")
    if not all(0 <= v <= 1 + ROUNDING for v in value) or abs(sum(value) - 1) > ROUNDING:
        raise ValueError("a distribution must have entries of at least 0 that sum to 1")
    policy = np.array(value, float)
    return policy / policy.sum()


def _of_object(value: dict[Any, Any], names: Names) -> Any:
    """The one entry that tells the action, probabilities by name in order, or None."""
    folded = {str(key).strip().casefold(): entry for key, entry in value.items()}
    if len(folded) == len(value) and set(folded) == set(names.places):
        return [folded[name] for name in names.places]
    keys = [key for key in KEYS if key in folded]
    inner = folded[keys[0]] if len(keys) == 1 else None
    return _of_object(inner, names) if isinstance(inner, dict) and keys[0] in KEYS[1:3] else inner


def named(text: str, names: Names) -> Policy | None:
    """A text that is nothing but a name or an index."""
    bare = text.strip().strip(LEAD + "[](){}").casefold()
    if bare in names.places:
        return names.policy(names.places[bare])
    is_index = names.numbered and bare.isdecimal() and len(bare) < 10
    return names.policy(int(bare)) if is_index else None
