"""Outside agents: chat endpoints and Python functions, each in the seat of a learner.

They run on the host and do input and output; what they give `Agent` is a plain function of past losses.
"""

from regrax.agents._chat import ChatAgent
from regrax.agents._functions import FunctionAgent
from regrax.learners import Agent

__all__ = ["ChatAgent", "FunctionAgent", "outside_agent"]


def outside_agent(
    target: str,
    model: str = "default",
    key: str | None = None,
    timeout: float = 30.0,
    retries: int = 2,
) -> Agent:
    """The agent behind `http://host:port`, `https://...` or `python:module:function`.

    >>> str(outside_agent("python:numpy:argmin"))
    'agent("python:numpy:argmin")'
    """
    if not isinstance(target, str):
        raise ValueError(f"an agent must be a url or python:module:function, but is {target!r}")
    if target.startswith("python:"):
        return Agent(FunctionAgent(target))
    return Agent(ChatAgent(target, model, key, timeout, retries))
