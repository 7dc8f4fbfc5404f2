"""Learners: the interface, the classical algorithms, and `rollout`, which plays one on a loss sequence."""

from regrax.learners.base import Learner, rollout
from regrax.learners.blum_mansour import BlumMansour
from regrax.learners.euclidean import EuclideanFTRL
from regrax.learners.hedge import Hedge
from regrax.learners.regret_matching import RegretMatching, RegretMatchingPlus
from regrax.learners.simple import FollowTheLeader, Uniform
from regrax.learners.steps import InverseSqrt, PerRound

__all__ = [
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
