"""Named games and families of games. In a spec, write a function's name with `-` instead of `_`."""

from .classics import (
    battle_of_the_sexes as battle_of_the_sexes,
    centipede as centipede,
    chicken as chicken,
    coordination as coordination,
    deadlock as deadlock,
    hawk_dove as hawk_dove,
    inspection as inspection,
    prisoners_dilemma as prisoners_dilemma,
    stag_hunt as stag_hunt,
    travellers_dilemma as travellers_dilemma,
    ultimatum as ultimatum,
)
from .markets import (
    all_pay_auction as all_pay_auction,
    bertrand as bertrand,
    cournot as cournot,
    first_price_auction as first_price_auction,
    hotelling as hotelling,
    second_price_auction as second_price_auction,
    tullock as tullock,
    war_of_attrition as war_of_attrition,
)
from .n_player import (
    beauty_contest as beauty_contest,
    braess as braess,
    congestion as congestion,
    dispersion as dispersion,
    market_entry as market_entry,
    minority as minority,
    public_goods as public_goods,
    volunteers_dilemma as volunteers_dilemma,
)
from .random_games import (
    random as random,
    random_coordination as random_coordination,
    random_covariant as random_covariant,
    random_potential as random_potential,
    random_symmetric as random_symmetric,
    random_zero_sum as random_zero_sum,
)
from .zero_sum_games import (
    asymmetric_pennies as asymmetric_pennies,
    colonel_blotto as colonel_blotto,
    hide_and_seek as hide_and_seek,
    jordan as jordan,
    kuhn_poker as kuhn_poker,
    matching_pennies as matching_pennies,
    morra as morra,
    penalty_kick as penalty_kick,
    rock_paper_scissors as rock_paper_scissors,
    shapley as shapley,
    weighted_rps as weighted_rps,
)
