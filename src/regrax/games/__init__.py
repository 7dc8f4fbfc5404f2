"""Games: normal-form games of any number of players, a zoo, repeated play and equilibrium gaps."""

from regrax.games import zoo
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
    joint_gaps,
    nash_gap,
    running_gaps,
    swap_gap,
)
from regrax.games.known import Known
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
from regrax.games.zoo import *

__all__ = [
    "FORMATS",
    "Correlated",
    "Deviation",
    "Game",
    "Known",
    "Nearest",
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
    "symmetric",
    "to_gambit",
    "to_openspiel",
    "zero_sum",
    "zero_sum_equilibrium",
]
__all__ += zoo.__all__
