"""Games: normal-form games of any number of players, a zoo, repeated play and equilibrium gaps."""

from regrax.games.formats import (
    FORMATS,
    game_from_json,
    game_from_npz,
    game_to_json,
    game_to_npz,
)
from regrax.games.game import Game, bimatrix, symmetric, zero_sum
from regrax.games.gaps import (
    cce_gap,
    ce_gap,
    deviation_gains,
    nash_gap,
    running_gaps,
    swap_gap,
)
from regrax.games.play import Trajectory, joint_play, play
from regrax.games.zoo import (
    ZOO,
    battle_of_the_sexes,
    chicken,
    matching_pennies,
    prisoners_dilemma,
    random,
    random_zero_sum,
    shapley,
    weighted_rps,
)

__all__ = [
    "FORMATS",
    "ZOO",
    "Game",
    "Trajectory",
    "battle_of_the_sexes",
    "bimatrix",
    "cce_gap",
    "ce_gap",
    "chicken",
    "deviation_gains",
    "game_from_json",
    "game_from_npz",
    "game_to_json",
    "game_to_npz",
    "joint_play",
    "matching_pennies",
    "nash_gap",
    "play",
    "prisoners_dilemma",
    "random",
    "random_zero_sum",
    "running_gaps",
    "shapley",
    "swap_gap",
    "symmetric",
    "weighted_rps",
    "zero_sum",
]
