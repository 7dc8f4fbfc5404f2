"""Where a learner starts, as people say it: probabilities, an action, a draw, or its own choice; nothing needs jax."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from regrax import _checks as checks

_RANDOM = re.compile(r"random(?:\((\d{1,18})\))?")


def as_start(
    start: Any, actions: int, seat: int = 0, labels: Sequence[str] = (), name: str = "start"
) -> Any:
    r"""The policy of round 1 that `start` stands for, or None for the learner's own choice.

    Args:
        start: probabilities, as a list or as text, `"0.2,0.8"`; an action, as its index or its label; `"random"`, a
            draw from the uniform distribution on the simplex, or `"random(7)"` for that of another seed; `"own"` or
            None for the learner's own choice.
        actions: how many actions.
        seat: the seat of the learner; a seed draws another start for each.
        labels: the names of the actions.
        name: of the setting, for errors.

    >>> as_start(1, 3).tolist(), as_start("dare", 2, labels=("swerve", "dare")).tolist()
    ([0.0, 1.0, 0.0], [0.0, 1.0])
    >>> as_start("0.2, 0.8", 2), as_start("random(7)", 3).round(3).tolist()
    ([0.2, 0.8], [0.307, 0.445, 0.247])
    """
    if isinstance(start, int | np.integer) and not isinstance(start, bool):
        return _vertex(int(start), actions, name)
    if isinstance(start, str):
        start = _policy(start, actions, seat, labels, name)
    if start is not None:
        checks.shape(name, start, f"({actions},)", np.shape(start) == (actions,))
        checks.distributions(name, start)
    return start


def _policy(start: str, actions: int, seat: int, labels: Sequence[str], name: str) -> Any:
    if start in labels:
        return _vertex(list(labels).index(start), actions, name)
    if drawn := _RANDOM.fullmatch(start):
        return random_start(actions, int(drawn[1] or 0), seat)
    if start == "own":
        return None
    return _probabilities(start, actions, labels, name)


def random_start(actions: int, *seeds: int) -> Float[np.ndarray, "d"]:
    """A draw from the uniform distribution on the simplex, the same for the same seeds."""
    return np.random.default_rng(seeds).dirichlet(np.ones(actions))


def _vertex(action: int, actions: int, name: str) -> Float[np.ndarray, "d"]:
    if not 0 <= action < actions:
        raise ValueError(f"{name} must be an action from 0 to {actions - 1}, got {action}")
    return np.eye(actions)[action]


def _probabilities(text: str, actions: int, labels: Sequence[str], name: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        known = f" or one of {', '.join(labels)}" if labels else ""
        raise ValueError(
            f"{name} must be {actions} probabilities as in 0.2,0.8, random, own{known}, got {text!r}"
        ) from None
