"""Public names of `regrax`, for type checkers and for `lazy_loader`, which imports each on first use."""

from . import (
    agents as agents,
    attention as attention,
    checkpoints as checkpoints,
    distributed as distributed,
    domains as domains,
    experiments as experiments,
    games as games,
    learners as learners,
    paper as paper,
    regret as regret,
    sharding as sharding,
    simplex as simplex,
    specs as specs,
    theory as theory,
    training as training,
)
from .agents import (
    ChatAgent as ChatAgent,
    audit as audit,
    llm as llm,
    outside_agent as outside_agent,
)
from .agents.audit import (
    audit_log as audit_log,
    compare_logs as compare_logs,
)
from .agents.exploration import (
    exploration as exploration,
)
from .attention import (
    FullLinearAttention as FullLinearAttention,
    LinearAttention as LinearAttention,
    SwapAttention as SwapAttention,
    TrainableLearner as TrainableLearner,
    Transformer as Transformer,
)
from .checkpoints import (
    Checkpoint as Checkpoint,
    load_model as load_model,
    save_model as save_model,
)
from .domains import (
    Ball as Ball,
    Simplex as Simplex,
)
from .experiments import runs as runs, sweep as sweep, tournament as tournament
from .experiments.runs import (
    TrainConfig as TrainConfig,
    train as train,
)
from .experiments.tournament import (
    Tournament as Tournament,
    round_robin as round_robin,
)
from .games import (
    CorrelatedProfile as CorrelatedProfile,
    Game as Game,
    Summary as Summary,
    Trajectory as Trajectory,
    cce_dist as cce_dist,
    cce_gap as cce_gap,
    ce_dist as ce_dist,
    ce_gap as ce_gap,
    deviation_gains as deviation_gains,
    joint_gaps as joint_gaps,
    joint_play as joint_play,
    nash_equilibria as nash_equilibria,
    nash_gap as nash_gap,
    nearest_equilibrium as nearest_equilibrium,
    play as play,
    pure_equilibria as pure_equilibria,
    running_gaps as running_gaps,
    solve as solve,
    swap_gap as swap_gap,
)
from .learners import (
    AdaHedge as AdaHedge,
    Agent as Agent,
    BanditLearner as BanditLearner,
    BestResponse as BestResponse,
    BlumMansour as BlumMansour,
    Delayed as Delayed,
    DiscountedRegretMatching as DiscountedRegretMatching,
    DoublingHedge as DoublingHedge,
    EuclideanFTRL as EuclideanFTRL,
    Exp3 as Exp3,
    Exp3IX as Exp3IX,
    FollowTheLeader as FollowTheLeader,
    FollowThePerturbedLeader as FollowThePerturbedLeader,
    Hedge as Hedge,
    HostLearner as HostLearner,
    ImportanceWeighted as ImportanceWeighted,
    InternalRegretMatching as InternalRegretMatching,
    InverseSqrt as InverseSqrt,
    Learner as Learner,
    OnlineGradientDescent as OnlineGradientDescent,
    OptimisticHedge as OptimisticHedge,
    PerRound as PerRound,
    PredictiveRegretMatchingPlus as PredictiveRegretMatchingPlus,
    RegretMatching as RegretMatching,
    RegretMatchingPlus as RegretMatchingPlus,
    StoltzLugosi as StoltzLugosi,
    TreeSwap as TreeSwap,
    TsallisINF as TsallisINF,
    Uniform as Uniform,
    rollout as rollout,
    spec as spec,
)
from .paper import certify as certify
from .regret import (
    best_action as best_action,
    best_pair as best_pair,
    best_swap as best_swap,
    external_regret as external_regret,
    internal_regret as internal_regret,
    running_external_regret as running_external_regret,
    running_internal_regret as running_internal_regret,
    running_swap_regret as running_swap_regret,
    swap_matrix as swap_matrix,
    swap_regret as swap_regret,
)
from .show import plots as plots
from .show.explorer import explore as explore
from .show.plots import animate as animate
from .simplex import (
    power_iteration as power_iteration,
    project_ball as project_ball,
    project_simplex as project_simplex,
    stationary as stationary,
)
from .theory import (
    Minimax as Minimax,
    Optimal as Optimal,
)
from .training import (
    ClosedLoopSwapObjective as ClosedLoopSwapObjective,
    HindsightObjective as HindsightObjective,
    RegretObjective as RegretObjective,
    SwapRegretObjective as SwapRegretObjective,
    evaluate as evaluate,
    fit as fit,
    fit_step_size as fit_step_size,
)

__version__: str
