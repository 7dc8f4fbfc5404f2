"""Learners: the interface, the classical algorithms, and `rollout`, which plays a learner on a loss sequence.

To read them, begin with `simple.py`, whose learners have three short methods each, and `Learner` in `base.py`. Then
`hedge.py` and `ftrl.py` use a step size, `regret_matching.py` uses none, `bandit.py` sees one loss per round, and
`swap.py` lowers swap regret. `perturbed.py` adds noise to the losses, and `starts.py` gives any learner another first
round. `engine.py` has the loop over rounds.
"""

from .bandit import (
    Delayed as Delayed,
    Exp3 as Exp3,
    Exp3IX as Exp3IX,
    ImportanceWeighted as ImportanceWeighted,
    TsallisINF as TsallisINF,
)
from .base import (
    BanditLearner as BanditLearner,
    Bound as Bound,
    Count as Count,
    Cumulative as Cumulative,
    Feedback as Feedback,
    HostLearner as HostLearner,
    InverseSqrt as InverseSqrt,
    Key as Key,
    Learner as Learner,
    PerRound as PerRound,
    Scalar as Scalar,
    Schedule as Schedule,
    State as State,
    Sum as Sum,
    SumLearner as SumLearner,
    spec as spec,
)
from .engine import (
    Round as Round,
    Vectors as Vectors,
    check_key as check_key,
    check_policies as check_policies,
    draw as draw,
    given_losses as given_losses,
    init_players as init_players,
    keys_of_round as keys_of_round,
    one_hots as one_hots,
    play_round as play_round,
    play_rounds as play_rounds,
    rollout as rollout,
    runs_in_python as runs_in_python,
    scan_rounds as scan_rounds,
)
from .ftrl import (
    EuclideanFTRL as EuclideanFTRL,
    OnlineGradientDescent as OnlineGradientDescent,
)
from .hedge import (
    AdaHedge as AdaHedge,
    DoublingHedge as DoublingHedge,
    Hedge as Hedge,
    OptimisticHedge as OptimisticHedge,
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
from .simple import (
    Agent as Agent,
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
    InternalRegretMatching as InternalRegretMatching,
    StoltzLugosi as StoltzLugosi,
    TreeSwap as TreeSwap,
)
