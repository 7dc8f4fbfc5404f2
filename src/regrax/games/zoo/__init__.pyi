"""The names of `regrax.games.zoo`, each loaded on first use."""

from ._bargaining import (
    centipede as centipede,
)
from ._bargaining import (
    travellers_dilemma as travellers_dilemma,
)
from ._bargaining import (
    ultimatum as ultimatum,
)
from ._classics import (
    battle_of_the_sexes as battle_of_the_sexes,
)
from ._classics import (
    chicken as chicken,
)
from ._classics import (
    coordination as coordination,
)
from ._classics import (
    deadlock as deadlock,
)
from ._classics import (
    hawk_dove as hawk_dove,
)
from ._classics import (
    inspection as inspection,
)
from ._classics import (
    prisoners_dilemma as prisoners_dilemma,
)
from ._classics import (
    stag_hunt as stag_hunt,
)
from ._markets import (
    all_pay_auction as all_pay_auction,
)
from ._markets import (
    bertrand as bertrand,
)
from ._markets import (
    cournot as cournot,
)
from ._markets import (
    first_price_auction as first_price_auction,
)
from ._markets import (
    hotelling as hotelling,
)
from ._markets import (
    second_price_auction as second_price_auction,
)
from ._markets import (
    tullock as tullock,
)
from ._markets import (
    war_of_attrition as war_of_attrition,
)
from ._n_player import (
    beauty_contest as beauty_contest,
)
from ._n_player import (
    braess as braess,
)
from ._n_player import (
    congestion as congestion,
)
from ._n_player import (
    dispersion as dispersion,
)
from ._n_player import (
    market_entry as market_entry,
)
from ._n_player import (
    minority as minority,
)
from ._n_player import (
    public_goods as public_goods,
)
from ._n_player import (
    volunteers_dilemma as volunteers_dilemma,
)
from ._poker import (
    kuhn_poker as kuhn_poker,
)
from ._random_games import (
    random as random,
)
from ._random_games import (
    random_coordination as random_coordination,
)
from ._random_games import (
    random_covariant as random_covariant,
)
from ._random_games import (
    random_potential as random_potential,
)
from ._random_games import (
    random_symmetric as random_symmetric,
)
from ._random_games import (
    random_zero_sum as random_zero_sum,
)
from ._zero_sum import (
    asymmetric_pennies as asymmetric_pennies,
)
from ._zero_sum import (
    colonel_blotto as colonel_blotto,
)
from ._zero_sum import (
    hide_and_seek as hide_and_seek,
)
from ._zero_sum import (
    jordan as jordan,
)
from ._zero_sum import (
    matching_pennies as matching_pennies,
)
from ._zero_sum import (
    morra as morra,
)
from ._zero_sum import (
    penalty_kick as penalty_kick,
)
from ._zero_sum import (
    rock_paper_scissors as rock_paper_scissors,
)
from ._zero_sum import (
    shapley as shapley,
)
from ._zero_sum import (
    weighted_rps as weighted_rps,
)
