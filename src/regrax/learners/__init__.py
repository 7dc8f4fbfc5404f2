"""Learners: the interface, the classical algorithms, and `rollout`, which plays one on a loss sequence."""

from regrax.learners._adaptive import AdaHedge, DoublingHedge
from regrax.learners._agent import Agent
from regrax.learners._bandit import Exp3, Exp3IX, ImportanceWeighted
from regrax.learners._base import Feedback, Learner, State
from regrax.learners._blum_mansour import BlumMansour
from regrax.learners._delayed import Delayed
from regrax.learners._euclidean import EuclideanFTRL, OnlineGradientDescent
from regrax.learners._hedge import Cumulative, Hedge
from regrax.learners._internal import InternalRegretMatching, StoltzLugosi
from regrax.learners._optimistic import OptimisticHedge
from regrax.learners._perturbed import FollowThePerturbedLeader, perturbed_leader
from regrax.learners._regret_matching import (
    DiscountedRegretMatching,
    PredictiveRegretMatchingPlus,
    RegretMatching,
    RegretMatchingPlus,
)
from regrax.learners._rounds import check_key, check_on_host, draw, observe, rollout
from regrax.learners._simple import BestResponse, FollowTheLeader, Uniform
from regrax.learners._steps import InverseSqrt, PerRound, Scalar, Schedule
from regrax.learners._tree_swap import TreeSwap
from regrax.learners._tsallis import TsallisINF

LEARNERS: dict[str, type[Learner]] = {
    learner.name: learner
    for learner in (
        AdaHedge,
        BestResponse,
        BlumMansour,
        Delayed,
        DiscountedRegretMatching,
        DoublingHedge,
        EuclideanFTRL,
        Exp3,
        Exp3IX,
        FollowTheLeader,
        FollowThePerturbedLeader,
        Hedge,
        ImportanceWeighted,
        InternalRegretMatching,
        OnlineGradientDescent,
        OptimisticHedge,
        PredictiveRegretMatchingPlus,
        RegretMatching,
        RegretMatchingPlus,
        StoltzLugosi,
        TreeSwap,
        TsallisINF,
        Uniform,
    )
}
ALIASES: dict[str, type[Learner]] = {"fictitious_play": FollowTheLeader}
SCHEDULES: dict[str, type[Schedule]] = {
    schedule.name: schedule for schedule in (InverseSqrt, PerRound)
}

__all__ = [
    "ALIASES",
    "LEARNERS",
    "SCHEDULES",
    "AdaHedge",
    "Agent",
    "BestResponse",
    "BlumMansour",
    "Cumulative",
    "Delayed",
    "DiscountedRegretMatching",
    "DoublingHedge",
    "EuclideanFTRL",
    "Exp3",
    "Exp3IX",
    "Feedback",
    "FollowTheLeader",
    "FollowThePerturbedLeader",
    "Hedge",
    "ImportanceWeighted",
    "InternalRegretMatching",
    "InverseSqrt",
    "Learner",
    "OnlineGradientDescent",
    "OptimisticHedge",
    "PerRound",
    "PredictiveRegretMatchingPlus",
    "RegretMatching",
    "RegretMatchingPlus",
    "Scalar",
    "Schedule",
    "State",
    "StoltzLugosi",
    "TreeSwap",
    "TsallisINF",
    "Uniform",
    "check_key",
    "check_on_host",
    "draw",
    "observe",
    "perturbed_leader",
    "rollout",
]
