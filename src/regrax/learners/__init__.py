"""Learners: the interface, the classical algorithms, and `rollout`, which plays one on a loss sequence."""

from regrax.learners.base import Learner, rollout
from regrax.learners.blum_mansour import BlumMansour
from regrax.learners.euclidean import EuclideanFTRL
from regrax.learners.hedge import Hedge
from regrax.learners.regret_matching import RegretMatching, RegretMatchingPlus
from regrax.learners.simple import FollowTheLeader, Uniform
from regrax.learners.steps import InverseSqrt, PerRound, Schedule

LEARNERS: dict[str, type[Learner]] = {
    learner.name: learner
    for learner in (
        BlumMansour,
        EuclideanFTRL,
        FollowTheLeader,
        Hedge,
        RegretMatching,
        RegretMatchingPlus,
        Uniform,
    )
}
SCHEDULES: dict[str, type[Schedule]] = {
    schedule.name: schedule for schedule in (InverseSqrt, PerRound)
}

__all__ = [
    "LEARNERS",
    "SCHEDULES",
    "BlumMansour",
    "EuclideanFTRL",
    "FollowTheLeader",
    "Hedge",
    "InverseSqrt",
    "Learner",
    "PerRound",
    "RegretMatching",
    "RegretMatchingPlus",
    "Uniform",
    "rollout",
]
