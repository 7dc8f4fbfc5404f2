"""Learners: the interface, the classical algorithms, and `rollout`, which plays one on a loss sequence."""

from regrax.learners.adaptive import AdaHedge, DoublingHedge
from regrax.learners.agent import Agent
from regrax.learners.bandit import Exp3, Exp3IX, ImportanceWeighted
from regrax.learners.base import Learner
from regrax.learners.blum_mansour import BlumMansour
from regrax.learners.delayed import Delayed
from regrax.learners.euclidean import EuclideanFTRL, OnlineGradientDescent
from regrax.learners.hedge import Hedge
from regrax.learners.internal import InternalRegretMatching, StoltzLugosi
from regrax.learners.optimistic import OptimisticHedge
from regrax.learners.perturbed import FollowThePerturbedLeader
from regrax.learners.regret_matching import (
    DiscountedRegretMatching,
    PredictiveRegretMatchingPlus,
    RegretMatching,
    RegretMatchingPlus,
)
from regrax.learners.rounds import rollout
from regrax.learners.simple import BestResponse, FollowTheLeader, Uniform
from regrax.learners.steps import InverseSqrt, PerRound, Schedule
from regrax.learners.tree_swap import TreeSwap
from regrax.learners.tsallis import TsallisINF

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
    "Delayed",
    "DiscountedRegretMatching",
    "DoublingHedge",
    "EuclideanFTRL",
    "Exp3",
    "Exp3IX",
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
    "StoltzLugosi",
    "TreeSwap",
    "TsallisINF",
    "Uniform",
    "rollout",
]
