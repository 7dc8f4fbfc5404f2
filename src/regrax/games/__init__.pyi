"""The names of `regrax.games`, each loaded on first use."""

from . import zoo as zoo
from ._batched_play import (
    Seating as Seating,
)
from ._batched_play import (
    swap_matrices as swap_matrices,
)
from ._correlated_profile import (
    Correlated as Correlated,
)
from ._correlated_profile import (
    Deviation as Deviation,
)
from ._game import (
    Game as Game,
)
from ._game import (
    bimatrix as bimatrix,
)
from ._game import (
    symmetric as symmetric,
)
from ._game import (
    zero_sum as zero_sum,
)
from ._gaps import (
    cce_dist as cce_dist,
)
from ._gaps import (
    cce_gap as cce_gap,
)
from ._gaps import (
    ce_dist as ce_dist,
)
from ._gaps import (
    ce_gap as ce_gap,
)
from ._gaps import (
    deviation_gains as deviation_gains,
)
from ._gaps import (
    joint_gaps as joint_gaps,
)
from ._gaps import (
    nash_gap as nash_gap,
)
from ._gaps import (
    running_gaps as running_gaps,
)
from ._gaps import (
    swap_gap as swap_gap,
)
from ._interop import (
    from_gambit as from_gambit,
)
from ._interop import (
    from_openspiel as from_openspiel,
)
from ._interop import (
    to_gambit as to_gambit,
)
from ._interop import (
    to_openspiel as to_openspiel,
)
from ._joint_play import (
    joint_play as joint_play,
)
from ._known_equilibria import (
    Known as Known,
)
from ._linear_programs import (
    SolverError as SolverError,
)
from ._nash import (
    is_zero_sum as is_zero_sum,
)
from ._nash import (
    nash_equilibria as nash_equilibria,
)
from ._nash import (
    pure_equilibria as pure_equilibria,
)
from ._nash import (
    zero_sum_equilibrium as zero_sum_equilibrium,
)
from ._play import (
    Trajectory as Trajectory,
)
from ._play import (
    play as play,
)
from ._solve import (
    Nearest as Nearest,
)
from ._solve import (
    nearest as nearest,
)
from ._solve import (
    solve as solve,
)
from ._summary import (
    Summary as Summary,
)
from .formats import (
    FORMATS as FORMATS,
)
from .formats import (
    game_from_json as game_from_json,
)
from .formats import (
    game_from_nfg as game_from_nfg,
)
from .formats import (
    game_from_npz as game_from_npz,
)
from .formats import (
    game_to_json as game_to_json,
)
from .formats import (
    game_to_nfg as game_to_nfg,
)
from .formats import (
    game_to_npz as game_to_npz,
)
from .zoo import (
    all_pay_auction as all_pay_auction,
)
from .zoo import (
    asymmetric_pennies as asymmetric_pennies,
)
from .zoo import (
    battle_of_the_sexes as battle_of_the_sexes,
)
from .zoo import (
    beauty_contest as beauty_contest,
)
from .zoo import (
    bertrand as bertrand,
)
from .zoo import (
    braess as braess,
)
from .zoo import (
    centipede as centipede,
)
from .zoo import (
    chicken as chicken,
)
from .zoo import (
    colonel_blotto as colonel_blotto,
)
from .zoo import (
    congestion as congestion,
)
from .zoo import (
    coordination as coordination,
)
from .zoo import (
    cournot as cournot,
)
from .zoo import (
    deadlock as deadlock,
)
from .zoo import (
    dispersion as dispersion,
)
from .zoo import (
    first_price_auction as first_price_auction,
)
from .zoo import (
    hawk_dove as hawk_dove,
)
from .zoo import (
    hide_and_seek as hide_and_seek,
)
from .zoo import (
    hotelling as hotelling,
)
from .zoo import (
    inspection as inspection,
)
from .zoo import (
    jordan as jordan,
)
from .zoo import (
    kuhn_poker as kuhn_poker,
)
from .zoo import (
    market_entry as market_entry,
)
from .zoo import (
    matching_pennies as matching_pennies,
)
from .zoo import (
    minority as minority,
)
from .zoo import (
    morra as morra,
)
from .zoo import (
    penalty_kick as penalty_kick,
)
from .zoo import (
    prisoners_dilemma as prisoners_dilemma,
)
from .zoo import (
    public_goods as public_goods,
)
from .zoo import (
    random as random,
)
from .zoo import (
    random_coordination as random_coordination,
)
from .zoo import (
    random_covariant as random_covariant,
)
from .zoo import (
    random_potential as random_potential,
)
from .zoo import (
    random_symmetric as random_symmetric,
)
from .zoo import (
    random_zero_sum as random_zero_sum,
)
from .zoo import (
    rock_paper_scissors as rock_paper_scissors,
)
from .zoo import (
    second_price_auction as second_price_auction,
)
from .zoo import (
    shapley as shapley,
)
from .zoo import (
    stag_hunt as stag_hunt,
)
from .zoo import (
    travellers_dilemma as travellers_dilemma,
)
from .zoo import (
    tullock as tullock,
)
from .zoo import (
    ultimatum as ultimatum,
)
from .zoo import (
    volunteers_dilemma as volunteers_dilemma,
)
from .zoo import (
    war_of_attrition as war_of_attrition,
)
from .zoo import (
    weighted_rps as weighted_rps,
)
