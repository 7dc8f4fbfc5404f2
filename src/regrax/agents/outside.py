"""Build external agents from specs: chat servers, Python functions, and chat models in this process."""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from regrax._files import read_limited
from regrax.agents.answers import PARSERS, policy_of, prepare_names
from regrax.agents.chat import ChatAgent
from regrax.agents.prompts import PROMPT
from regrax.learners import Agent, HostLearner

MAX_TEXT_BYTES = 1 << 20


def outside_agent(
    target: str,
    model: str = "default",
    api_key_env: str | None = None,
    timeout: float = 30.0,
    retries: int = 2,
    system: str = "",
    prompt: str = PROMPT,
    history: str = "full",
    shown: int = 50,
    temperature: float | None = None,
    max_tokens: int | None = None,
    parsers: str = ",".join(PARSERS),
    regex: str | None = None,
) -> HostLearner:
    """Build an agent from `http://host:port`, `https://...`, `python:module:function` or `chat:module:function`.

    The first two are chat servers. `python:` names a function that maps past losses to an action or a distribution;
    `chat:` names a function that maps chat messages to an answer.

    Args:
        target: the agent, in one of the forms above.
        model, api_key_env, timeout, retries, history, shown, temperature, max_tokens, regex: as in `ChatAgent`.
        system: a system message sent before each question, or `@FILE` to read it from a file.
        prompt: the question template, or `@FILE` to read it from a file.
        parsers: comma-separated parser names, tried in order.

    >>> str(outside_agent("python:numpy:argmin"))
    'agent("python:numpy:argmin")'
    """
    if not isinstance(target, str):
        known = "a url, python:module:function or chat:module:function"
        raise ValueError(f"an agent must be {known}, got {target!r}")
    if target.startswith("python:"):
        return Agent(FunctionAgent(target))
    return ChatAgent(
        load_function(target) if target.startswith("chat:") else target,
        model=model,
        api_key_env=api_key_env,
        timeout=timeout,
        retries=retries,
        system=_text(system),
        prompt=_text(prompt),
        history=history,
        shown=shown,
        temperature=temperature,
        max_tokens=max_tokens,
        parsers=tuple(name.strip() for name in parsers.split(",")),
        regex=regex,
    )


class FunctionAgent:
    """An agent that passes past losses, of shape `(t - 1, d)`, to a function that returns an action or a distribution.

    >>> agent = FunctionAgent("python:numpy:argmin")
    >>> agent(np.array([[0.0, 1.0]])).tolist()
    [1.0, 0.0]
    """

    def __init__(self, target: str) -> None:
        self.target = target
        self._function = load_function(target)
        self.__name__ = f'"{target}"'

    def __call__(self, losses: Float[np.ndarray, "past d"]) -> Float[np.ndarray, "d"]:
        """Call the function; error messages name it and the round."""
        where = f"{self.target} in round {len(losses) + 1}"
        try:
            answer = self._function(losses)
        except (Exception, SystemExit) as error:
            raise ValueError(f"{where} failed: {type(error).__name__}: {error}") from error
        if hasattr(answer, "tolist"):
            answer = answer.tolist()
        if isinstance(answer, tuple):
            answer = list(answer)
        names = tuple(map(str, range(losses.shape[1])))
        try:
            return policy_of(answer, prepare_names(names))
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None


def load_function(target: str) -> Callable[[Any], Any]:
    """Import the function in `python:module:function` or `chat:module:function`; the working directory is searched too.

    >>> load_function("python:numpy:argmin").__name__
    'argmin'
    """
    kind, _, rest = target.partition(":")
    module, _, name = rest.partition(":")
    if kind not in ("python", "chat") or not module or not name:
        raise ValueError(f"a Python agent must be {kind}:module:function, got {target!r}")
    folder = str(Path.cwd())
    sys.path.insert(0, folder)
    try:
        imported = import_module(module)
    except (Exception, SystemExit) as error:
        raise ValueError(f"{target} cannot be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(folder)
    function = getattr(imported, name, None)
    if not callable(function):
        raise ValueError(f"{target} must name a function, but {module} has no function {name}")
    return function


def _text(value: str) -> str:
    """Return the value itself, or the contents of the file if the value is `@FILE`."""
    if not value.startswith("@"):
        return value
    return read_limited(Path(value[1:]), MAX_TEXT_BYTES).decode("utf-8", "replace")
