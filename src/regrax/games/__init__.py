"""Games: normal-form games of any number of players, a zoo, repeated play and equilibrium gaps."""

from regrax.games import zoo
from regrax.games._batched_play import Seating, swap_matrices
from regrax.games._correlated_profile import Correlated, Deviation
from regrax.games._game import Game, bimatrix, symmetric, zero_sum
from regrax.games._gaps import (
    cce_gap,
    ce_gap,
    deviation_gains,
    joint_gaps,
    nash_gap,
    running_gaps,
    swap_gap,
)
from regrax.games._interop import from_gambit, from_openspiel, to_gambit, to_openspiel
from regrax.games._known_equilibria import Known
from regrax.games._linear_programs import SolverError
from regrax.games._nash import (
    is_zero_sum,
    nash_equilibria,
    pure_equilibria,
    zero_sum_equilibrium,
)
from regrax.games._play import Trajectory, joint_play, play
from regrax.games._solve import Nearest, nearest, solve
from regrax.games.formats import (
    FORMATS,
    game_from_json,
    game_from_nfg,
    game_from_npz,
    game_to_json,
    game_to_nfg,
    game_to_npz,
)
from regrax.games.zoo import *

__all__ = [
    "FORMATS",
    "Correlated",
    "Deviation",
    "Game",
    "Known",
    "Nearest",
    "Seating",
    "SolverError",
    "Trajectory",
    "bimatrix",
    "cce_gap",
    "ce_gap",
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
    "joint_gaps",
    "joint_play",
    "nash_equilibria",
    "nash_gap",
    "nearest",
    "play",
    "pure_equilibria",
    "running_gaps",
    "solve",
    "swap_gap",
    "swap_matrices",
    "symmetric",
    "to_gambit",
    "to_openspiel",
    "zero_sum",
    "zero_sum_equilibrium",
]
__all__ += zoo.__all__
