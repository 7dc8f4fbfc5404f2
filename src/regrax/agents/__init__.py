"""External agents: chat models and Python functions as players, episodes played with them, and audits of agent logs.

They run in Python, outside JAX, and may perform I/O.
"""

from . import audit as audit, llm as llm
from .answers import PARSERS as PARSERS, AnswerReader as AnswerReader, Expression as Expression
from .cache import Answer as Answer, AnswerCache as AnswerCache, BudgetReached as BudgetReached
from .chat import PROMPT as PROMPT, ChatAgent as ChatAgent
from .episodes import play_episodes as play_episodes
from .outside import FunctionAgent as FunctionAgent, outside_agent as outside_agent
from .suite import Benchmark as Benchmark, benchmark as benchmark
