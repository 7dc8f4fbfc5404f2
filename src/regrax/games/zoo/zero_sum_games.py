"""Zero-sum games, Kuhn poker among them, and games in which learning dynamics cycle."""

import itertools
from fractions import Fraction
from functools import reduce
from math import comb

import numpy as np

from regrax import _checks as checks
from regrax.games.game import (
    Game,
    bimatrix,
    check_sizes,
    choices,
    mixed,
    named,
    numbers,
    uniform,
    zero_sum,
)


@named
def matching_pennies() -> Game:
    """The first player wins 1 if the pennies match and loses 1 otherwise; the only equilibrium is uniform.

    >>> matching_pennies().sizes
    (2, 2)

    Reference: von Neumann (1928), Zur Theorie der Gesellschaftsspiele.
    """
    return zero_sum(
        [[1, -1], [-1, 1]],
        actions=("heads", "tails"),
        equilibria=[uniform("both toss a coin", 2, 2)],
    )


@named
def asymmetric_pennies(prize: float = 9) -> Game:
    """Matching pennies with a prize for matching heads, which changes only the other player's strategy.

    The first player gets `prize` for heads-heads and 1 for tails-tails; the second gets 1 if the pennies differ. In
    equilibrium the first still tosses a fair coin, and the second plays heads with probability 1 / (1 + prize).

    Args:
        prize: payoff for matching heads, above 0.

    >>> asymmetric_pennies().payoffs[0].tolist()
    [[9.0, 0.0], [0.0, 1.0]]

    Reference: Ochs (1995), Games with unique, mixed strategy equilibria: an experimental study.
    """
    checks.positive("prize", prize)
    heads = 1 / (1 + prize)
    return bimatrix(
        [[prize, 0], [0, 1]],
        [[0, 1], [1, 0]],
        actions=("heads", "tails"),
        equilibria=[mixed("only the second adapts", [0.5, 0.5], [heads, prize * heads])],
    )


@named
def penalty_kick() -> Game:
    """A kicker and a goalkeeper choose left or right; payoffs are the scoring rates of professionals, in per cent.

    The scoring rates are [[58.30, 94.97], [92.91, 69.92]], and the game is zero-sum. In equilibrium the kicker goes
    left 38.54 % and the goalkeeper 41.99 % of the time, which matches what professionals did.

    >>> penalty_kick().payoffs[0].tolist()
    [[58.3, 94.97], [92.91, 69.92]]

    Reference: Palacios-Huerta (2003), Professionals play minimax.
    """
    spread = 58.30 + 69.92 - 94.97 - 92.91
    kick = (69.92 - 92.91) / spread
    dive = (69.92 - 94.97) / spread
    return zero_sum(
        [[58.30, 94.97], [92.91, 69.92]],
        players=["kicker", "goalkeeper"],
        actions=("left", "right"),
        equilibria=[mixed("both sides pay the same", [kick, 1 - kick], [dive, 1 - dive])],
    )


@named
def rock_paper_scissors(actions: int = 3) -> Game:
    """Every action beats half of the others and loses to the rest.

    Action i beats i - 1, i - 2, ... (around the circle) and wins 1; the equilibrium is uniform.

    Args:
        actions: number of actions, odd.

    >>> rock_paper_scissors().payoffs[0].tolist()
    [[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]]

    Reference: Hofbauer, Sigmund (1998), Evolutionary Games and Population Dynamics.
    """
    if actions % 2 == 0:
        raise ValueError(
            f"actions must be odd, so that each beats half of the others, got {actions}"
        )
    own, other = choices(actions, actions)
    half = actions // 2
    row = np.sign((own - other + half) % actions - half)
    labels = numbers(actions, 1)
    if actions == 3:
        labels = ["rock", "paper", "scissors"]
    return zero_sum(row, actions=labels, equilibria=[uniform("uniform", actions, actions)])


@named
def weighted_rps() -> Game:
    """Zero-sum rock-paper-scissors in which wins are worth 1/3, 2/3 and 1; the only equilibrium plays (3, 2, 1)/6.

    >>> weighted_rps()
    weighted-rps

    Reference: Hofbauer, Sigmund (1998), Evolutionary Games and Population Dynamics.
    """
    row = np.array([[0, -1, 2], [1, 0, -3], [-2, 3, 0]], object) * Fraction(1, 3)
    weights = [0.5, 1 / 3, 1 / 6]
    return zero_sum(
        row,
        actions=("rock", "paper", "scissors"),
        equilibria=[mixed("larger wins are played less often", weights, weights)],
    )


@named
def shapley() -> Game:
    """Fictitious play cycles forever in this 3 x 3 game; the only Nash equilibrium is uniform.

    The first player wants to match, and the second wants to be one ahead: success pays 1, failure 0. From almost every
    start away from the equilibrium, fictitious play stays in each cell 1.466 times as long as in the previous one.

    >>> shapley().payoffs[1].tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]

    Reference: Shapley (1964), Some topics in two-person games.
    """
    match = np.eye(3)
    known = uniform("uniform", 3, 3)
    return bimatrix(match, np.roll(match, 1, axis=1), equilibria=[known])


@named
def jordan() -> Game:
    """The first player wants to match the second, the second the third, and the third to differ from the first.

    Success pays 1, failure -1. The only equilibrium is uniform. From most starts fictitious play cycles around it
    forever, staying in each cell 1.618 times as long as in the previous one; from others all three players switch sides
    in every round.

    >>> jordan().payoffs[:, 0, 0, 0].tolist()
    [1.0, 1.0, -1.0]

    Reference: Jordan (1993), Three problems in learning mixed-strategy Nash equilibria.
    """
    first, second, third = choices(2, 2, 2)
    success = np.stack([first == second, second == third, third != first])
    return Game(
        2.0 * success - 1,
        actions=("heads", "tails"),
        equilibria=[uniform("all toss a coin", 2, 2, 2)],
    )


@named
def morra(fingers: int = 2) -> Game:
    """Both players show fingers and guess the other's; a player who alone guesses right wins the total shown.

    Actions are (shown, guessed). With two fingers, optimal play shows 1 and guesses 2 with probability between 4/7 and
    3/5, and otherwise shows 2 and guesses 1.

    Args:
        fingers: largest number of fingers.

    >>> morra().payoffs[0].tolist()
    [[0.0, 2.0, -3.0, 0.0], [-2.0, 0.0, 0.0, 3.0], [3.0, 0.0, 0.0, -4.0], [0.0, -3.0, 4.0, 0.0]]

    Reference: Chvátal (1983), Linear Programming, chapter 15.
    """
    checks.at_least("fingers", fingers, 1)
    shown, guess = np.divmod(choices(fingers**2, fingers**2), fingers)
    right = guess == shown[::-1]
    labels = []
    for show, say in itertools.product(numbers(fingers, 1), repeat=2):
        labels.append(f"show {show}, say {say}")
    known = []
    if fingers == 2:
        extremes = ([0, 3 / 5, 2 / 5, 0], [0, 4 / 7, 3 / 7, 0])
        known = [mixed("optimal", *pair) for pair in itertools.product(extremes, repeat=2)]
    return zero_sum(
        (right[0].astype(int) - right[1]) * (shown.sum(0) + 2),
        actions=labels,
        equilibria=known,
    )


@named
def hide_and_seek(places: int = 3) -> Game:
    """The seeker looks in one place and wins 1 if the hider is there; the equilibrium is uniform.

    Args:
        places: number of places.

    >>> hide_and_seek(2).payoffs[0].tolist()
    [[1.0, 0.0], [0.0, 1.0]]

    Reference: von Neumann (1953), A certain zero-sum two-person game equivalent to the optimal assignment problem.
    """
    check_sizes(places, places)
    known = uniform("uniform", places, places)
    return zero_sum(np.eye(places), players=["seeker", "hider"], equilibria=[known])


@named
def colonel_blotto(soldiers: int = 3, fields: int = 3) -> Game:
    """Two colonels divide their soldiers among battlefields, and the larger force wins a field.

    Actions are the ways to write `soldiers` as a sum over `fields`; the payoff is fields won minus fields lost. With
    three of each, the uniform mixture of all orders of (0, 1, 2) is optimal.

    Args:
        soldiers: soldiers of each colonel.
        fields: number of battlefields.

    >>> colonel_blotto(2, 2).actions[0]
    ('0 2', '1 1', '2 0')

    Reference: Borel (1921); Hart (2008), Discrete Colonel Blotto and General Lotto games.
    """
    checks.at_least("soldiers", soldiers, 1)
    checks.at_least("fields", fields, 1)
    places = soldiers + fields - 1  # each holds a soldier, or a bar between two fields
    size = comb(places, soldiers)
    check_sizes(size, size)
    bars = itertools.combinations(range(places), fields - 1)
    forces = np.diff([(-1, *bar, places) for bar in bars]) - 1
    row = sum(np.sign(np.subtract.outer(force, force)) for force in forces.T)
    known = []
    if soldiers == fields == 3:
        orders = (forces.max(1) == 2) / 6
        known = [mixed("0, 1 and 2 in any order", orders, orders)]
    labels = [" ".join(map(str, force)) for force in forces.tolist()]
    return zero_sum(row, actions=labels, equilibria=known)


@named
def kuhn_poker() -> Game:
    """Poker with three cards, one bet and two players; its value is -1/18 for the first player.

    The ante and the bet are 1. An action is a plan for jack, queen and king: the first player bets, or checks and then
    folds or calls; the second player has a reply to a bet and a reply to a check. The first player need not bluff.

    >>> kuhn_poker().sizes
    (27, 64)

    Reference: Kuhn (1950), A simplified two-person poker.
    """
    firsts = list(itertools.product(("bet", "fold", "call"), repeat=3))
    replies = itertools.product(("fold", "call"), ("check", "bet"))
    seconds = list(itertools.product(replies, repeat=3))
    row = [[_kuhn(first, second) for second in seconds] for first in firsts]
    # probabilities of bet, fold and call with a jack, queen and king: call with the queen a third of the time
    own = ([0, 1, 0], [0, 2 / 3, 1 / 3], [0, 0, 1])
    # of fold/check, fold/bet, call/check and call/bet: the jack bets, and the queen calls, a third of the time
    other = ([2 / 3, 1 / 3, 0, 0], [2 / 3, 0, 1 / 3, 0], [0, 0, 0, 1])
    plans = [np.ravel(reduce(np.multiply.outer, by_card)) for by_card in (own, other)]
    labels = [" ".join("/".join(reply) for reply in plan) for plan in seconds]
    return zero_sum(
        row,
        actions=[[" ".join(plan) for plan in firsts], labels],
        equilibria=[mixed("no bluff", *plans)],
    )


def _kuhn(first: tuple, second: tuple) -> Fraction:
    """Average the first player's payoff over the deals."""
    total = 0
    for card, other in itertools.permutations(range(3), 2):
        showdown = 1 if card > other else -1
        to_bet, to_check = second[other]
        if first[card] == "bet":
            total += 2 * showdown if to_bet == "call" else 1
        elif to_check == "check":
            total += showdown
        else:
            total += 2 * showdown if first[card] == "call" else -1
    return Fraction(total, 6)
