"""The names of `regrax.agents.llm`."""

from ._compare import (
    Comparison as Comparison,
    Player as Player,
    Setting as Setting,
    compare_models as compare_models,
    squared_regret_share as squared_regret_share,
)
from ._config import TrainConfig as TrainConfig
from ._environment import environment as environment, regret_reward as regret_reward
from ._grpo import GRPOConfig as GRPOConfig, grpo as grpo, rollout_function as rollout_function
from ._language import Language as Language, text_tokens as text_tokens
from ._learner import LanguageLearner as LanguageLearner, llm as llm
from ._load import Loaded as Loaded, load_model as load_model, save_model as save_model
from ._losses import (
    Episode as Episode,
    draw_losses as draw_losses,
    favours_no_action as favours_no_action,
)
from ._policies import policies as policies
from ._reader import Reader as Reader
from ._rmft import RMFTConfig as RMFTConfig, rmft as rmft
from ._rollouts import (
    Rollouts as Rollouts,
    evaluate_rollouts as evaluate_rollouts,
    play_rollouts as play_rollouts,
    rows_of as rows_of,
    transcript_lines as transcript_lines,
)
from ._scenarios import SCENARIOS as SCENARIOS, scenario as scenario
from ._scratch import (
    scratch_model as scratch_model,
    scratch_task as scratch_task,
    scratch_tokenizer as scratch_tokenizer,
)
from ._task import Task as Task
from ._train import train as train
