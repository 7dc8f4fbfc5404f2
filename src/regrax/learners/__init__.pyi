"""The names of `regrax.learners`, each loaded on first use."""

from ._adaptive import (
    AdaHedge as AdaHedge,
)
from ._adaptive import (
    DoublingHedge as DoublingHedge,
)
from ._agent import (
    Agent as Agent,
)
from ._bandit import (
    Exp3 as Exp3,
)
from ._bandit import (
    Exp3IX as Exp3IX,
)
from ._bandit import (
    ImportanceWeighted as ImportanceWeighted,
)
from ._base import (
    BanditLearner as BanditLearner,
)
from ._base import (
    Bound as Bound,
)
from ._base import (
    Feedback as Feedback,
)
from ._base import (
    HostLearner as HostLearner,
)
from ._base import (
    Key as Key,
)
from ._base import (
    Learner as Learner,
)
from ._base import (
    Started as Started,
)
from ._base import (
    State as State,
)
from ._base import (
    SumLearner as SumLearner,
)
from ._blum_mansour import (
    BlumMansour as BlumMansour,
)
from ._delayed import (
    Delayed as Delayed,
)
from ._engine import (
    Round as Round,
)
from ._engine import (
    Seats as Seats,
)
from ._engine import (
    Vectors as Vectors,
)
from ._engine import (
    at_most as at_most,
)
from ._engine import (
    block_of as block_of,
)
from ._engine import (
    check_key as check_key,
)
from ._engine import (
    fill_rounds as fill_rounds,
)
from ._engine import (
    fold_rounds as fold_rounds,
)
from ._engine import (
    init_seats as init_seats,
)
from ._engine import (
    on_host as on_host,
)
from ._engine import (
    play_on_host as play_on_host,
)
from ._engine import (
    play_round as play_round,
)
from ._engine import (
    scan_rounds as scan_rounds,
)
from ._engine import (
    segments as segments,
)
from ._euclidean import (
    EuclideanFTRL as EuclideanFTRL,
)
from ._euclidean import (
    OnlineGradientDescent as OnlineGradientDescent,
)
from ._hedge import (
    Hedge as Hedge,
)
from ._internal import (
    InternalRegretMatching as InternalRegretMatching,
)
from ._internal import (
    StoltzLugosi as StoltzLugosi,
)
from ._optimistic import (
    OptimisticHedge as OptimisticHedge,
)
from ._perturbed import (
    FollowThePerturbedLeader as FollowThePerturbedLeader,
)
from ._perturbed import (
    perturbed_leader as perturbed_leader,
)
from ._regret_matching import (
    DiscountedRegretMatching as DiscountedRegretMatching,
)
from ._regret_matching import (
    PredictiveRegretMatchingPlus as PredictiveRegretMatchingPlus,
)
from ._regret_matching import (
    RegretMatching as RegretMatching,
)
from ._regret_matching import (
    RegretMatchingPlus as RegretMatchingPlus,
)
from ._rollout import (
    given_losses as given_losses,
)
from ._rollout import (
    rollout as rollout,
)
from ._simple import (
    BestResponse as BestResponse,
)
from ._simple import (
    FollowTheLeader as FollowTheLeader,
)
from ._simple import (
    Uniform as Uniform,
)
from ._steps import (
    InverseSqrt as InverseSqrt,
)
from ._steps import (
    PerRound as PerRound,
)
from ._steps import (
    Scalar as Scalar,
)
from ._steps import (
    Schedule as Schedule,
)
from ._sums import (
    Cumulative as Cumulative,
)
from ._sums import (
    Sum as Sum,
)
from ._tree_swap import (
    TreeSwap as TreeSwap,
)
from ._tsallis import (
    TsallisINF as TsallisINF,
)
