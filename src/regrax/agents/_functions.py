"""A Python function named in a spec: `python:module:function` is an agent, `chat:module:function` a chat model."""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from regrax import _checks as checks
from regrax.agents._values import Names, policy_of


class FunctionAgent:
    """A function from past losses, an array of shape `(t - 1, d)`, to an action or a distribution.

    >>> agent = FunctionAgent("python:numpy:argmin")
    >>> agent(np.array([[0.0, 1.0]])).tolist()
    [1.0, 0.0]
    """

    def __init__(self, target: str) -> None:
        self.target = target
        self._function = load(target)
        self.__name__ = f'"{target}"'

    def __call__(self, losses: Float[np.ndarray, "past d"]) -> Float[np.ndarray, "d"]:
        """Call it; what it raises or gives wrongly names it and the round."""
        where = f"{self.target} in round {len(losses) + 1}"
        try:
            answer = self._function(losses)
        except (Exception, SystemExit) as error:
            raise ValueError(f"{where} failed: {type(error).__name__}: {error}") from error
        try:
            return policy_of(_plain(answer), Names.of(tuple(map(str, range(losses.shape[1])))))
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None


def load(target: str) -> Callable[[Any], Any]:
    """The function that `python:module:function` or `chat:...` names, looked for in the working directory too.

    >>> load("python:numpy:argmin").__name__
    'argmin'
    """
    checks.instance("target", target, str, "python:module:function")
    kind, _, rest = target.partition(":")
    module, _, name = rest.partition(":")
    if kind not in ("python", "chat") or not module or not name:
        raise ValueError(f"a Python agent must be {kind}:module:function, got {target!r}")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        found = import_module(module)
    except (Exception, SystemExit) as error:
        raise ValueError(f"{target} cannot be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(here)
    function = getattr(found, name, None)
    if not callable(function):
        raise ValueError(f"{target} must name a function, but {module} has no function {name}")
    return function


def _plain(answer: Any) -> Any:
    """Arrays and numpy numbers as Python's own."""
    if hasattr(answer, "tolist"):
        return answer.tolist()
    return list(answer) if isinstance(answer, tuple) else answer
