"""The names of `regrax.learners`, each loaded on first use."""

from ._agent import (
    Agent as Agent,
)
from ._bandit import (
    Exp3 as Exp3,
    Exp3IX as Exp3IX,
    ImportanceWeighted as ImportanceWeighted,
    TsallisINF as TsallisINF,
)
from ._base import (
    BanditLearner as BanditLearner,
    Bound as Bound,
    Feedback as Feedback,
    HostLearner as HostLearner,
    Key as Key,
    Learner as Learner,
    State as State,
    spec as spec,
)
from ._delayed import (
    Delayed as Delayed,
)
from ._draws import (
    Vectors as Vectors,
    draw as draw,
    one_hots as one_hots,
)
from ._engine import (
    ROUNDS_PER_SETTLEMENT as ROUNDS_PER_SETTLEMENT,
    Round as Round,
    Seats as Seats,
    at_most as at_most,
    begin as begin,
    block_of as block_of,
    check_key as check_key,
    fill_rounds as fill_rounds,
    fold_rounds as fold_rounds,
    init_seats as init_seats,
    on_host as on_host,
    play_round as play_round,
    scan_rounds as scan_rounds,
    segments as segments,
)
from ._euclidean import (
    EuclideanFTRL as EuclideanFTRL,
    OnlineGradientDescent as OnlineGradientDescent,
)
from ._ftrl import (
    Count as Count,
    Cumulative as Cumulative,
    Hedge as Hedge,
    InverseSqrt as InverseSqrt,
    PerRound as PerRound,
    Scalar as Scalar,
    Schedule as Schedule,
    Sum as Sum,
    SumLearner as SumLearner,
    settle as settle,
)
from ._hedge_variants import (
    AdaHedge as AdaHedge,
    DoublingHedge as DoublingHedge,
    OptimisticHedge as OptimisticHedge,
)
from ._internal import (
    InternalRegretMatching as InternalRegretMatching,
    StoltzLugosi as StoltzLugosi,
)
from ._on_host import (
    play_on_host as play_on_host,
)
from ._perturbed import (
    FollowThePerturbedLeader as FollowThePerturbedLeader,
    perturbed_leader as perturbed_leader,
)
from ._regret_matching import (
    DiscountedRegretMatching as DiscountedRegretMatching,
    PredictiveRegretMatchingPlus as PredictiveRegretMatchingPlus,
    RegretMatching as RegretMatching,
    RegretMatchingPlus as RegretMatchingPlus,
)
from ._rollout import (
    given_losses as given_losses,
    rollout as rollout,
)
from ._simple import (
    BestResponse as BestResponse,
    FollowTheLeader as FollowTheLeader,
    Uniform as Uniform,
)
from ._start_policies import (
    as_start as as_start,
    random_start as random_start,
)
from ._starts import (
    Started as Started,
    StartedBandit as StartedBandit,
    StartedOnHost as StartedOnHost,
)
from ._swap import (
    BlumMansour as BlumMansour,
    TreeSwap as TreeSwap,
)
