"""The names of `regrax`, as type checkers and `lazy_loader` read them: each is loaded on first use."""

from . import agents as agents
from . import attention as attention
from . import audit as audit
from . import certify as certify
from . import checkpoints as checkpoints
from . import distributed as distributed
from . import domains as domains
from . import exploration as exploration
from . import games as games
from . import learners as learners
from . import llm as llm
from . import regret as regret
from . import runs as runs
from . import sharding as sharding
from . import simplex as simplex
from . import specs as specs
from . import sweep as sweep
from . import theory as theory
from . import tournament as tournament
from . import training as training
from .agents import (
    ChatAgent as ChatAgent,
)
from .agents import (
    outside_agent as outside_agent,
)
from .attention import (
    FullLinearAttention as FullLinearAttention,
)
from .attention import (
    LinearAttention as LinearAttention,
)
from .attention import (
    Model as Model,
)
from .attention import (
    SwapAttention as SwapAttention,
)
from .attention import (
    Transformer as Transformer,
)
from .audit import (
    audit_log as audit_log,
)
from .checkpoints import (
    Checkpoint as Checkpoint,
)
from .checkpoints import (
    load_model as load_model,
)
from .checkpoints import (
    save_model as save_model,
)
from .domains import (
    Ball as Ball,
)
from .domains import (
    Simplex as Simplex,
)
from .games import (
    Correlated as Correlated,
)
from .games import (
    Game as Game,
)
from .games import (
    Summary as Summary,
)
from .games import (
    Trajectory as Trajectory,
)
from .games import (
    cce_gap as cce_gap,
)
from .games import (
    ce_gap as ce_gap,
)
from .games import (
    deviation_gains as deviation_gains,
)
from .games import (
    joint_gaps as joint_gaps,
)
from .games import (
    joint_play as joint_play,
)
from .games import (
    nash_equilibria as nash_equilibria,
)
from .games import (
    nash_gap as nash_gap,
)
from .games import (
    nearest as nearest,
)
from .games import (
    play as play,
)
from .games import (
    pure_equilibria as pure_equilibria,
)
from .games import (
    running_gaps as running_gaps,
)
from .games import (
    solve as solve,
)
from .games import (
    swap_gap as swap_gap,
)
from .learners import (
    AdaHedge as AdaHedge,
)
from .learners import (
    Agent as Agent,
)
from .learners import (
    BanditLearner as BanditLearner,
)
from .learners import (
    BestResponse as BestResponse,
)
from .learners import (
    BlumMansour as BlumMansour,
)
from .learners import (
    Delayed as Delayed,
)
from .learners import (
    DiscountedRegretMatching as DiscountedRegretMatching,
)
from .learners import (
    DoublingHedge as DoublingHedge,
)
from .learners import (
    EuclideanFTRL as EuclideanFTRL,
)
from .learners import (
    Exp3 as Exp3,
)
from .learners import (
    Exp3IX as Exp3IX,
)
from .learners import (
    FollowTheLeader as FollowTheLeader,
)
from .learners import (
    FollowThePerturbedLeader as FollowThePerturbedLeader,
)
from .learners import (
    Hedge as Hedge,
)
from .learners import (
    HostLearner as HostLearner,
)
from .learners import (
    ImportanceWeighted as ImportanceWeighted,
)
from .learners import (
    InternalRegretMatching as InternalRegretMatching,
)
from .learners import (
    InverseSqrt as InverseSqrt,
)
from .learners import (
    Learner as Learner,
)
from .learners import (
    OnlineGradientDescent as OnlineGradientDescent,
)
from .learners import (
    OptimisticHedge as OptimisticHedge,
)
from .learners import (
    PerRound as PerRound,
)
from .learners import (
    PredictiveRegretMatchingPlus as PredictiveRegretMatchingPlus,
)
from .learners import (
    RegretMatching as RegretMatching,
)
from .learners import (
    RegretMatchingPlus as RegretMatchingPlus,
)
from .learners import (
    StoltzLugosi as StoltzLugosi,
)
from .learners import (
    TreeSwap as TreeSwap,
)
from .learners import (
    TsallisINF as TsallisINF,
)
from .learners import (
    Uniform as Uniform,
)
from .learners import (
    rollout as rollout,
)
from .regret import (
    best_action as best_action,
)
from .regret import (
    best_pair as best_pair,
)
from .regret import (
    best_swap as best_swap,
)
from .regret import (
    external_regret as external_regret,
)
from .regret import (
    internal_regret as internal_regret,
)
from .regret import (
    running_external_regret as running_external_regret,
)
from .regret import (
    running_internal_regret as running_internal_regret,
)
from .regret import (
    running_swap_regret as running_swap_regret,
)
from .regret import (
    swap_matrix as swap_matrix,
)
from .regret import (
    swap_regret as swap_regret,
)
from .runs import (
    Training as Training,
)
from .runs import (
    train as train,
)
from .show import plots as plots
from .show.explorer import explore as explore
from .simplex import (
    power_iteration as power_iteration,
)
from .simplex import (
    project_ball as project_ball,
)
from .simplex import (
    project_simplex as project_simplex,
)
from .simplex import (
    stationary as stationary,
)
from .theory import (
    Optimal as Optimal,
)
from .tournament import (
    Tournament as Tournament,
)
from .tournament import (
    round_robin as round_robin,
)
from .training import (
    ClosedLoopSwapObjective as ClosedLoopSwapObjective,
)
from .training import (
    HindsightObjective as HindsightObjective,
)
from .training import (
    RegretObjective as RegretObjective,
)
from .training import (
    SwapRegretObjective as SwapRegretObjective,
)
from .training import (
    evaluate as evaluate,
)
from .training import (
    fit as fit,
)
from .training import (
    fit_step_size as fit_step_size,
)

__version__: str
