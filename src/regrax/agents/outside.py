"""Build external agents from specs: chat servers, Python functions, and chat models in this process."""

import contextlib
import json
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from jaxtyping import Float

from regrax import _checks as checks
from regrax._files import read_limited
from regrax.agents.answers import PARSERS, policy_of, prepare_names
from regrax.agents.chat import PROMPT, ChatAgent
from regrax.learners import Agent, HostLearner

MAX_TEXT_BYTES = 1 << 20
PROGRAM = Path(__file__).with_name("_worker.py")


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
    `chat:` names a function that maps chat messages to an answer. Functions run in a process of their own, which is
    stopped if an answer takes longer than `timeout`.

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
        return Agent(FunctionAgent(target, timeout))
    return ChatAgent(
        OwnProcess(target, timeout) if target.startswith("chat:") else target,
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

    Args:
        target: the function, as `python:module:function`.
        timeout: the time limit for an answer, in seconds.

    >>> agent = FunctionAgent("python:numpy:argmin")
    >>> agent(np.array([[0.0, 1.0]])).tolist()
    [1.0, 0.0]
    """

    def __init__(self, target: str, timeout: float = 30.0) -> None:
        self.target = target
        self._function = OwnProcess(target, timeout)
        self.__name__ = f'"{target}"'

    def __call__(self, losses: Float[np.ndarray, "past d"]) -> Float[np.ndarray, "d"]:
        """Call the function; error messages name it and the round."""
        where = f"{self.target} in round {len(losses) + 1}"
        try:
            answer = self._function([list(losses.shape), losses.ravel().tolist()])
        except ValueError as error:
            raise ValueError(f"{where} {error}") from None
        names = tuple(map(str, range(losses.shape[1])))
        try:
            return policy_of(answer, prepare_names(names))
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None


class OwnProcess:
    """A function that runs in a process of its own, which is stopped at a time limit.

    The module is searched for in the working directory too. The process ends with this one, and it is started again
    after a failed call.

    Args:
        target: the function, as `python:module:function` or `chat:module:function`.
        timeout: the time limit for a call, in seconds; importing the module may take ten times as long.

    >>> OwnProcess("chat:builtins:len", 30.0)([1, 2, 3])
    3
    """

    def __init__(self, target: str, timeout: float) -> None:
        kind, _, rest = target.partition(":")
        module, _, name = rest.partition(":")
        if kind not in ("python", "chat") or not module or not name:
            raise ValueError(f"a Python agent must be {kind}:module:function, got {target!r}")
        checks.positive("timeout", timeout)
        self.__name__ = target
        self.timeout = timeout
        self._child: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()
        try:
            if not self._launch():
                raise ValueError(f"must name a function, but {module} has no function {name}")
        except ValueError as error:
            raise ValueError(f"{target} {error}") from None

    def __call__(self, value: Any) -> Any:
        """Call the function with a JSON value; raise ValueError if it fails or takes too long."""
        with self._lock:
            if self._child is None:
                self._launch()
            return self._send(value, self.timeout, "failed")

    def _launch(self) -> Any:
        """Start the process and import the function."""
        # -P keeps the folder of the program, which has modules with common names, off the path
        command = [sys.executable, "-P", str(PROGRAM), self.__name__, str(self.timeout)]
        self._child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )
        weakref.finalize(self, _end, self._child)
        return self._send(None, 10 * self.timeout, "cannot be imported")

    def _send(self, value: Any, seconds: float, failed: str) -> Any:
        child = self._child
        assert child is not None
        assert child.stdin is not None
        assert child.stdout is not None
        end = monotonic() + seconds
        timer = threading.Timer(seconds, child.kill)
        timer.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                print(json.dumps(value), file=child.stdin, flush=True)
            line = child.stdout.readline()
        finally:
            timer.cancel()
        if not line:
            self._child = None
            _end(child)
            if monotonic() >= end:
                raise ValueError(f"took more than {seconds:g} s and was stopped")
            raise ValueError(f"{failed}: its process ended with code {child.returncode}")
        answer = json.loads(line)
        if "error" in answer:
            raise ValueError(f"{failed}: {answer['error']}")
        return answer["answer"]


def _end(child: subprocess.Popen[str]) -> None:
    with contextlib.suppress(BrokenPipeError), child:  # closes its pipes and waits for its end
        child.kill()


def _text(value: str) -> str:
    """Return the value itself, or the contents of the file if the value is `@FILE`."""
    if not value.startswith("@"):
        return value
    return read_limited(Path(value[1:]), MAX_TEXT_BYTES).decode("utf-8", "replace")
