"""The outside agent that a spec describes."""

from pathlib import Path

from regrax._files import read_limited
from regrax.agents._chat import ChatAgent
from regrax.agents._functions import FunctionAgent, load
from regrax.agents._parsers import PARSERS
from regrax.agents._prompts import PROMPT
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
    """The agent behind `http://host:port`, `https://...`, `python:module:function` or `chat:module:function`.

    The first two are chat servers, the third is a function from past losses to an action or a distribution, the last a
    function from chat messages to an answer.

    Args:
        target: as above.
        model, api_key_env, timeout, retries, history, shown, temperature, max_tokens, regex: as in `ChatAgent`.
        system: a message of the system before each question, or `@FILE`.
        prompt: the template of a question, or `@FILE`.
        parsers: names with commas between them, in order.

    >>> str(outside_agent("python:numpy:argmin"))
    'agent("python:numpy:argmin")'
    """
    if not isinstance(target, str):
        known = "a url, python:module:function or chat:module:function"
        raise ValueError(f"an agent must be {known}, got {target!r}")
    if target.startswith("python:"):
        return Agent(FunctionAgent(target))
    answers = load(target) if target.startswith("chat:") else target
    names = tuple(name.strip() for name in parsers.split(","))
    system, prompt = _text(system), _text(prompt)
    return ChatAgent(
        answers, model, api_key_env, timeout, retries, system, prompt, history, shown, temperature,
        max_tokens, names, regex,
    )  # fmt: skip


def _text(value: str) -> str:
    """A text, or what the file after `@` holds."""
    if not value.startswith("@"):
        return value
    return read_limited(Path(value[1:]), MAX_TEXT_BYTES).decode("utf-8", "replace")
