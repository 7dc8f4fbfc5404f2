"""Zero-sum games and games that go round in circles."""

import itertools
from fractions import Fraction
from math import comb

import numpy as np

from regrax import _checks as checks
from regrax.games.game import Game, bimatrix, mixed, zero_sum
from regrax.games.zoo._build import check_sizes, choices, named, numbers


@named
def matching_pennies() -> Game:
    """The first player wins 1 if the pennies match, else loses 1; the only equilibrium is uniform.

    >>> matching_pennies().sizes
    (2, 2)

    Reference: von Neumann (1928), Zur Theorie der Gesellschaftsspiele.
    """
    sides = ("heads", "tails")
    coins = mixed("both toss", [1 / 2, 1 / 2], [1 / 2, 1 / 2])
    return zero_sum([[1, -1], [-1, 1]], actions=(sides, sides), equilibria=(coins,))


@named
def asymmetric_pennies(prize: float = 9) -> Game:
    """Matching pennies where matching heads pays the first player a `prize`; only the other's play changes.

    The first player gets `prize` at heads-heads and 1 at tails-tails, the second gets 1 if they differ. In equilibrium
    the first still tosses a coin, and the second plays heads 1 / (1 + prize) of the time.

    >>> asymmetric_pennies().payoffs[0].tolist()
    [[9.0, 0.0], [0.0, 1.0]]

    Reference: Ochs (1995), Games with unique, mixed strategy equilibria: an experimental study.
    """
    checks.positive("prize", prize)
    sides = ("heads", "tails")
    known = mixed(
        "the prize moves the other", [1 / 2, 1 / 2], [1 / (1 + prize), prize / (1 + prize)]
    )
    return bimatrix(
        [[prize, 0], [0, 1]],
        [[0, 1], [1, 0]],
        actions=(sides, sides),
        equilibria=(known,),
    )


@named
def penalty_kick() -> Game:
    """Kicker against goalkeeper, left or right: how often professionals scored, in per cent.

    Scoring rates [[58.30, 94.97], [92.91, 69.92]], zero-sum; in equilibrium the kicker goes left 38.54 % and the
    goalkeeper 41.99 % of the time, as they did.

    >>> penalty_kick().payoffs[0].tolist()
    [[58.3, 94.97], [92.91, 69.92]]

    Reference: Palacios-Huerta (2003), Professionals play minimax.
    """
    row = np.array([[58.30, 94.97], [92.91, 69.92]])
    spread = row[0, 0] + row[1, 1] - row[0, 1] - row[1, 0]
    kick, dive = (row[1, 1] - row[1, 0]) / spread, (row[1, 1] - row[0, 1]) / spread
    sides = ("left", "right")
    return zero_sum(
        row,
        players=("kicker", "goalkeeper"),
        actions=(sides, sides),
        equilibria=(mixed("neither side pays more", [kick, 1 - kick], [dive, 1 - dive]),),
    )


@named
def rock_paper_scissors(actions: int = 3) -> Game:
    """Every action beats half of the others and loses to the rest; an odd number of actions.

    Action i beats i - 1, i - 2, ... (around the circle) and wins 1; the equilibrium is uniform.

    >>> rock_paper_scissors().payoffs[0].tolist()
    [[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]]

    Reference: Hofbauer, Sigmund (1998), Evolutionary Games and Population Dynamics.
    """
    if actions % 2 == 0:
        raise ValueError(
            f"actions must be odd, for every one to beat half of the others, got {actions}"
        )
    ahead = np.subtract(*choices(actions, actions)) % actions
    row = np.where(ahead == 0, 0, np.where(ahead <= actions // 2, 1, -1))
    labels = ("rock", "paper", "scissors") if actions == 3 else numbers(actions, 1)
    even = [1 / actions] * actions
    return zero_sum(row, actions=(labels, labels), equilibria=(mixed("all alike", even, even),))


@named
def weighted_rps() -> Game:
    """Zero-sum rock-paper-scissors where wins weigh 1, 2 and 3 thirds; the only equilibrium plays (3, 2, 1)/6.

    >>> weighted_rps()
    weighted-rps

    Reference: Hofbauer, Sigmund (1998), Evolutionary Games and Population Dynamics.
    """
    thirds = [[Fraction(w, 3) for w in row] for row in ([0, -1, 2], [1, 0, -3], [-2, 3, 0])]
    moves = ("rock", "paper", "scissors")
    weights = [1 / 2, 1 / 3, 1 / 6]
    return zero_sum(
        thirds,
        actions=(moves, moves),
        equilibria=(mixed("the heavier win less often", weights, weights),),
    )


@named
def shapley() -> Game:
    """Fictitious play goes round for ever in this 3 x 3 game; the only Nash equilibrium is uniform.

    The first player wants to match, the second to be one ahead: payoffs 1 where they succeed, else 0. From almost every
    start off the equilibrium it stays in each cell 1.466 times as long as in the one before.

    >>> shapley().payoffs[1].tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]

    Reference: Shapley (1964), Some topics in two-person games.
    """
    match = np.eye(3)
    even = mixed("all alike", [1 / 3] * 3, [1 / 3] * 3)
    return bimatrix(match, np.roll(match, 1, axis=1), equilibria=(even,))


@named
def jordan() -> Game:
    """Three players: the first wants to match the second, the second the third, the third to differ from the first.

    Success pays 1, failure -1. The only equilibrium is three coins. From most starts fictitious play goes round it for
    ever, in each cell 1.618 times as long as in the one before; from others all three change sides in every round.

    >>> jordan().payoffs[:, 0, 0, 0].tolist()
    [1.0, 1.0, -1.0]

    Reference: Jordan (1993), Three problems in learning mixed-strategy Nash equilibria.
    """
    first, second, third = choices(2, 2, 2)
    happy = np.stack([first == second, second == third, third != first])
    sides = ("heads", "tails")
    coins = mixed("all toss", *[[1 / 2, 1 / 2]] * 3)
    return Game(2.0 * happy - 1, actions=(sides,) * 3, equilibria=(coins,))


@named
def morra(fingers: int = 2) -> Game:
    """Show fingers and guess the other's; whoever alone guesses right wins the number shown by both.

    Actions are (shown, guessed). With two fingers, optimal play shows 1 and guesses 2 between 4/7 and 3/5 of the time
    and shows 2 and guesses 1 otherwise.

    >>> morra().payoffs[0].tolist()
    [[0.0, 2.0, -3.0, 0.0], [-2.0, 0.0, 0.0, 3.0], [3.0, 0.0, 0.0, -4.0], [0.0, -3.0, 4.0, 0.0]]

    Reference: Chvátal (1983), Linear Programming, chapter 15.
    """
    checks.at_least("fingers", fingers, 1)
    size = fingers**2
    one, two = choices(size, size)
    shown, guessed = one // fingers, one % fingers
    theirs, their_guess = two // fingers, two % fingers
    right = (guessed == theirs).astype(int) - (their_guess == shown)
    labels = [f"show {s + 1}, say {g + 1}" for s in range(fingers) for g in range(fingers)]
    extremes = ([0, 3 / 5, 2 / 5, 0], [0, 4 / 7, 3 / 7, 0])
    known = tuple(mixed("optimal", *pair) for pair in itertools.product(extremes, repeat=2))
    return zero_sum(
        right * (shown + theirs + 2),
        actions=(labels, labels),
        equilibria=known if fingers == 2 else (),
    )


@named
def hide_and_seek(places: int = 3) -> Game:
    """The seeker looks in one place and wins 1 if the hider is there; both choose evenly.

    >>> hide_and_seek(2).payoffs[0].tolist()
    [[1.0, 0.0], [0.0, 1.0]]

    Reference: von Neumann (1953), A certain zero-sum two-person game equivalent to the optimal assignment problem.
    """
    check_sizes(places, places)
    even = mixed("anywhere", [1 / places] * places, [1 / places] * places)
    return zero_sum(np.eye(places), players=("seeker", "hider"), equilibria=(even,))


@named
def colonel_blotto(soldiers: int = 3, fields: int = 3) -> Game:
    """Two colonels spread their soldiers over battlefields; the larger force takes a field.

    Actions are the ways to write `soldiers` as a sum over `fields`; payoff is fields won minus fields lost. With three
    of each, every order of (0, 1, 2) alike is optimal.

    >>> colonel_blotto(2, 2).actions[0]
    ('0 2', '1 1', '2 0')

    Reference: Borel (1921); Hart (2008), Discrete Colonel Blotto and General Lotto games.
    """
    checks.at_least("soldiers", soldiers, 1)
    checks.at_least("fields", fields, 1)
    places = soldiers + fields - 1  # each has a soldier, or a bar between two fields
    check_sizes(*[comb(places, soldiers)] * 2)
    bars = itertools.combinations(range(places), fields - 1)
    spreads = np.diff([(-1, *at, places) for at in bars]) - 1
    row = sum(np.sign(np.subtract.outer(held, held)) for held in spreads.T)
    labels = [" ".join(map(str, spread)) for spread in spreads.tolist()]
    orders = [(sorted(spread) == [0, 1, 2]) / 6 for spread in spreads.tolist()]
    known = (mixed("0, 1 and 2 in any order", orders, orders),) if soldiers == fields == 3 else ()
    return zero_sum(row, actions=(labels, labels), equilibria=known)
