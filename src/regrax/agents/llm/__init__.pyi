"""Names exported by `regrax.agents.llm`."""

from .compare import (
    Comparison as Comparison,
    Language as Language,
    Player as Player,
    Setting as Setting,
    compare_models as compare_models,
    nearest_step as nearest_step,
    squared_regret_share as squared_regret_share,
    text_tokens as text_tokens,
)
from .environments import (
    environment as environment,
    parallel_environment as parallel_environment,
    regret_reward as regret_reward,
    verifiers_environment as verifiers_environment,
)
from .learner import LanguageLearner as LanguageLearner, llm as llm
from .losses import (
    Episode as Episode,
    draw_losses as draw_losses,
    favours_no_action as favours_no_action,
    hindsight_forecast as hindsight_forecast,
)
from .models import (
    Loaded as Loaded,
    load_model as load_model,
    pretrained as pretrained,
    save_model as save_model,
)
from .policy import Reader as Reader, policies as policies
from .posttrain import (
    PostTrainConfig as PostTrainConfig,
    default_method as default_method,
    posttrain as posttrain,
)
from .rl import (
    GRPOConfig as GRPOConfig,
    RMFTConfig as RMFTConfig,
    grpo as grpo,
    rmft as rmft,
    rollout_function as rollout_function,
)
from .rollouts import (
    Rollouts as Rollouts,
    evaluate_rollouts as evaluate_rollouts,
    play_rollouts as play_rollouts,
    rows_of as rows_of,
    transcript_lines as transcript_lines,
    turn_advantages as turn_advantages,
)
from .task import SCENARIOS as SCENARIOS, Task as Task, scenario as scenario
from .trainer import (
    RegretTrainer as RegretTrainer,
    TrainConfig as TrainConfig,
    train as train,
)
