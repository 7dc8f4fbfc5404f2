"""Learners: the interface, the classical algorithms, and `rollout`, which plays a learner on a loss sequence."""

from .agent import (
    Agent as Agent,
)
from .bandit import (
    Exp3 as Exp3,
    Exp3IX as Exp3IX,
    ImportanceWeighted as ImportanceWeighted,
    TsallisINF as TsallisINF,
)
from .base import (
    BanditLearner as BanditLearner,
    Bound as Bound,
    Feedback as Feedback,
    HostLearner as HostLearner,
    Key as Key,
    Learner as Learner,
    State as State,
    spec as spec,
)
from .delayed import (
    Delayed as Delayed,
)
from .engine import (
    Round as Round,
    Vectors as Vectors,
    check_key as check_key,
    check_policies as check_policies,
    draw as draw,
    init_players as init_players,
    is_traced as is_traced,
    keys_of_round as keys_of_round,
    one_hots as one_hots,
    play_in_calls as play_in_calls,
    play_in_python as play_in_python,
    play_round as play_round,
    runs_in_python as runs_in_python,
    scan_rounds as scan_rounds,
)
from .euclidean import (
    EuclideanFTRL as EuclideanFTRL,
    OnlineGradientDescent as OnlineGradientDescent,
)
from .ftrl import (
    Count as Count,
    Cumulative as Cumulative,
    Hedge as Hedge,
    InverseSqrt as InverseSqrt,
    PerRound as PerRound,
    Scalar as Scalar,
    Schedule as Schedule,
    Sum as Sum,
    SumLearner as SumLearner,
)
from .hedge_variants import (
    AdaHedge as AdaHedge,
    DoublingHedge as DoublingHedge,
    OptimisticHedge as OptimisticHedge,
)
from .internal import (
    InternalRegretMatching as InternalRegretMatching,
    StoltzLugosi as StoltzLugosi,
)
from .perturbed import (
    FollowThePerturbedLeader as FollowThePerturbedLeader,
    perturbed_leader as perturbed_leader,
)
from .regret_matching import (
    DiscountedRegretMatching as DiscountedRegretMatching,
    PredictiveRegretMatchingPlus as PredictiveRegretMatchingPlus,
    RegretMatching as RegretMatching,
    RegretMatchingPlus as RegretMatchingPlus,
)
from .rollout import (
    given_losses as given_losses,
    rollout as rollout,
)
from .simple import (
    BestResponse as BestResponse,
    FollowTheLeader as FollowTheLeader,
    Uniform as Uniform,
)
from .starts import (
    Started as Started,
    StartedBandit as StartedBandit,
    StartedOnHost as StartedOnHost,
    as_start as as_start,
    random_start as random_start,
)
from .swap import (
    BlumMansour as BlumMansour,
    TreeSwap as TreeSwap,
)
