r"""What an outside agent says, read strictly: an action, a distribution, or nothing.

An answer of $d$ actions is one of

    2      {"action": 2}      [0.1, 0.2, 0.7]      {"policy": [0.1, 0.2, 0.7]}

with actions counted from 0, alone or in a fenced block. Probabilities may miss a sum of 1 by `ROUNDING`, as rounded
ones do, and are scaled. Anything else is no answer: it is never searched for something that looks like one.
"""

import json
from typing import Any

import numpy as np
from jaxtyping import Float

ROUNDING = 0.02
FENCE = "```"


def read_answer(text: str, actions: int) -> Float[np.ndarray, "d"]:
    """The distribution that an answer means; raises if it means none.

    >>> read_answer("2", 3).tolist(), read_answer('{"policy": [0.33, 0.33, 0.33]}', 3).round(4).tolist()
    ([0.0, 0.0, 1.0], [0.3333, 0.3333, 0.3333])
    >>> read_answer("I would take action 2.", 3)
    Traceback (most recent call last):
    ValueError: the answer is neither an action nor a distribution
    """
    try:
        value = json.loads(_unfenced(text))
    except (ValueError, RecursionError):
        raise ValueError("the answer is neither an action nor a distribution") from None
    return read_value(value, actions)


def _unfenced(text: str) -> str:
    """What stands between the fences of a block, or the text itself; linear in its length, whatever it holds.

    >>> _unfenced("```json\\n2\\n```"), _unfenced("2")
    ('2\\n', '2')
    """
    body = text.strip()
    opens, closes = body.startswith(FENCE), body.endswith(FENCE) and len(body) >= 2 * len(FENCE)
    kind, line_end, inner = body[len(FENCE) : -len(FENCE)].partition("\n")
    return inner if opens and closes and line_end and kind.strip() in ("", "json") else text


def read_value(value: Any, actions: int) -> Float[np.ndarray, "d"]:
    """The same for a parsed answer."""
    if isinstance(value, dict) and len(value) == 1 and set(value) <= {"action", "policy"}:
        value = next(iter(value.values()))
    if type(value) is int:
        if not 0 <= value < actions:
            raise ValueError(f"the action must be from 0 to {actions - 1}, but is {value:.6g}")
        return np.eye(actions)[value]
    if not isinstance(value, list) or not all(type(v) in (int, float) for v in value):
        raise ValueError("the answer is neither an action nor a distribution")
    if len(value) != actions:
        raise ValueError(f"a distribution must have {actions} entries, but has {len(value)}")
    if not all(0 <= v <= 1 + ROUNDING for v in value) or abs(sum(value) - 1) > ROUNDING:
        raise ValueError("a distribution must have entries of at least 0 that sum to 1")
    policy = np.array(value, float)
    return policy / policy.sum()
