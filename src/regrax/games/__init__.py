"""Normal-form games: payoffs, a zoo of examples, repeated play, equilibrium gaps, exact equilibria and files."""

from . import zoo as zoo
from .equilibria import (
    NearestEquilibrium as NearestEquilibrium,
    nearest_equilibrium as nearest_equilibrium,
    solve as solve,
)
from .formats import (
    FORMATS as FORMATS,
    game_from_json as game_from_json,
    game_from_nfg as game_from_nfg,
    game_from_npz as game_from_npz,
    game_to_json as game_to_json,
    game_to_nfg as game_to_nfg,
    game_to_npz as game_to_npz,
    load as load,
    read_game as read_game,
    read_games as read_games,
)
from .game import (
    Game as Game,
    Known as Known,
    bimatrix as bimatrix,
    symmetric as symmetric,
    zero_sum as zero_sum,
)
from .gaps import (
    cce_dist as cce_dist,
    cce_gap as cce_gap,
    ce_dist as ce_dist,
    ce_gap as ce_gap,
    deviation_gains as deviation_gains,
    joint_gaps as joint_gaps,
    measure_play as measure_play,
    measured_text as measured_text,
    nash_gap as nash_gap,
    running_gaps as running_gaps,
    swap_gap as swap_gap,
)
from .interop import (
    from_gambit as from_gambit,
    from_nashpy as from_nashpy,
    from_openspiel as from_openspiel,
    from_quantecon as from_quantecon,
    to_gambit as to_gambit,
    to_nashpy as to_nashpy,
    to_openspiel as to_openspiel,
    to_quantecon as to_quantecon,
)
from .linear_programs import (
    SolverError as SolverError,
)
from .matches import (
    Seating as Seating,
    swap_matrices as swap_matrices,
)
from .nash import (
    is_zero_sum as is_zero_sum,
    nash_equilibria as nash_equilibria,
    pure_equilibria as pure_equilibria,
    zero_sum_equilibrium as zero_sum_equilibrium,
)
from .play import (
    check_rounds as check_rounds,
    play as play,
    seated_learners as seated_learners,
    start_policies as start_policies,
)
from .profile import (
    CorrelatedProfile as CorrelatedProfile,
    Deviation as Deviation,
)
from .trajectory import (
    Summary as Summary,
    Trajectory as Trajectory,
    joint_play as joint_play,
)
from .zoo import *
