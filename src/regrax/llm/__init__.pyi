"""The names of `regrax.llm`."""

from ._learner import LanguageLearner as LanguageLearner
from ._learner import llm as llm
from ._load import Loaded as Loaded
from ._load import load_model as load_model
from ._load import save_model as save_model
from ._losses import Episode as Episode
from ._losses import draw_losses as draw_losses
from ._losses import favours_no_action as favours_no_action
from ._policies import policies as policies
from ._reader import Reader as Reader
from ._scenarios import SCENARIOS as SCENARIOS
from ._scenarios import scenario as scenario
from ._scratch import scratch_model as scratch_model
from ._scratch import scratch_task as scratch_task
from ._scratch import scratch_tokenizer as scratch_tokenizer
from ._task import Task as Task
