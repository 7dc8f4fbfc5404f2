"""Outside agents: chat models and Python functions, each in the seat of a learner, and episodes played and logged.

They run on the host and do input and output.
"""

from . import audit as audit, llm as llm
from ._chat import ChatAgent as ChatAgent
from ._episodes import play_episodes as play_episodes
from ._expression import Expression as Expression
from ._functions import FunctionAgent as FunctionAgent
from ._outside_agent import outside_agent as outside_agent
from ._parsers import PARSERS as PARSERS, AnswerReader as AnswerReader
from ._prompts import PROMPT as PROMPT
