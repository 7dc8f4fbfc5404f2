"""Games: normal-form games of any number of players, a zoo, repeated play and equilibrium gaps."""

from regrax.games.bridges import from_gambit, from_openspiel, to_gambit, to_openspiel
from regrax.games.formats import (
    FORMATS,
    game_from_json,
    game_from_nfg,
    game_from_npz,
    game_to_json,
    game_to_nfg,
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
from regrax.games.nash import (
    is_zero_sum,
    nash_equilibria,
    pure_equilibria,
    zero_sum_equilibrium,
)
from regrax.games.play import Trajectory, joint_play, play
from regrax.games.profile import Correlated, Deviation
from regrax.games.programs import SolverError
from regrax.games.solve import Nearest, nearest, solve
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
    "Correlated",
    "Deviation",
    "Game",
    "Nearest",
    "SolverError",
    "Trajectory",
    "battle_of_the_sexes",
    "bimatrix",
    "cce_gap",
    "ce_gap",
    "chicken",
    "deviation_gains",
    "from_gambit",
    "from_openspiel",
    "game_from_json",
    "game_from_nfg",
    "game_from_npz",
    "game_to_json",
    "game_to_nfg",
    "game_to_npz",
    "is_zero_sum",
    "joint_play",
    "matching_pennies",
    "nash_equilibria",
    "nash_gap",
    "nearest",
    "play",
    "prisoners_dilemma",
    "pure_equilibria",
    "random",
    "random_zero_sum",
    "running_gaps",
    "shapley",
    "solve",
    "swap_gap",
    "symmetric",
    "to_gambit",
    "to_openspiel",
    "weighted_rps",
    "zero_sum",
    "zero_sum_equilibrium",
]
