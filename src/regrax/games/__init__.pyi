"""The names of `regrax.games`, each loaded on first use."""

from . import zoo as zoo
from ._batched_play import (
    Seating as Seating,
    swap_matrices as swap_matrices,
)
from ._correlated_profile import (
    CorrelatedProfile as CorrelatedProfile,
    Deviation as Deviation,
)
from ._environment import (
    Summary as Summary,
    Trajectory as Trajectory,
    joint_play as joint_play,
)
from ._game import (
    Game as Game,
    Known as Known,
    bimatrix as bimatrix,
    symmetric as symmetric,
    zero_sum as zero_sum,
)
from ._gaps import (
    cce_dist as cce_dist,
    cce_gap as cce_gap,
    ce_dist as ce_dist,
    ce_gap as ce_gap,
    deviation_gains as deviation_gains,
    joint_gaps as joint_gaps,
    nash_gap as nash_gap,
    running_gaps as running_gaps,
    swap_gap as swap_gap,
)
from ._interop import (
    from_gambit as from_gambit,
    from_nashpy as from_nashpy,
    from_openspiel as from_openspiel,
    from_quantecon as from_quantecon,
    to_gambit as to_gambit,
    to_nashpy as to_nashpy,
    to_openspiel as to_openspiel,
    to_quantecon as to_quantecon,
)
from ._linear_programs import (
    SolverError as SolverError,
)
from ._nash import (
    is_zero_sum as is_zero_sum,
    nash_equilibria as nash_equilibria,
    pure_equilibria as pure_equilibria,
    zero_sum_equilibrium as zero_sum_equilibrium,
)
from ._play import (
    play as play,
    seated_learners as seated_learners,
)
from ._requests import (
    check_rounds as check_rounds,
    check_seats as check_seats,
    start_policies as start_policies,
)
from ._solve import (
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
)
from .zoo import (
    all_pay_auction as all_pay_auction,
    asymmetric_pennies as asymmetric_pennies,
    battle_of_the_sexes as battle_of_the_sexes,
    beauty_contest as beauty_contest,
    bertrand as bertrand,
    braess as braess,
    centipede as centipede,
    chicken as chicken,
    colonel_blotto as colonel_blotto,
    congestion as congestion,
    coordination as coordination,
    cournot as cournot,
    deadlock as deadlock,
    dispersion as dispersion,
    first_price_auction as first_price_auction,
    hawk_dove as hawk_dove,
    hide_and_seek as hide_and_seek,
    hotelling as hotelling,
    inspection as inspection,
    jordan as jordan,
    kuhn_poker as kuhn_poker,
    market_entry as market_entry,
    matching_pennies as matching_pennies,
    minority as minority,
    morra as morra,
    penalty_kick as penalty_kick,
    prisoners_dilemma as prisoners_dilemma,
    public_goods as public_goods,
    random as random,
    random_coordination as random_coordination,
    random_covariant as random_covariant,
    random_potential as random_potential,
    random_symmetric as random_symmetric,
    random_zero_sum as random_zero_sum,
    rock_paper_scissors as rock_paper_scissors,
    second_price_auction as second_price_auction,
    shapley as shapley,
    stag_hunt as stag_hunt,
    travellers_dilemma as travellers_dilemma,
    tullock as tullock,
    ultimatum as ultimatum,
    volunteers_dilemma as volunteers_dilemma,
    war_of_attrition as war_of_attrition,
    weighted_rps as weighted_rps,
)
