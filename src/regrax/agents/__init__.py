"""Agents from outside: chat models and Python functions as players, their episodes, and audits of any agent's log.

They run in Python, not in jax, and do input and output.
"""

from . import audit as audit, llm as llm
from .answers import PARSERS as PARSERS, AnswerReader as AnswerReader, Expression as Expression
from .chat import ChatAgent as ChatAgent
from .episodes import play_episodes as play_episodes
from .outside import FunctionAgent as FunctionAgent, outside_agent as outside_agent
from .prompts import PROMPT as PROMPT
