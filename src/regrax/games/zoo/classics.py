"""Textbook two-player games: dilemmas, coordination, and bargaining with claims, offers and alternating moves."""

import numpy as np

from regrax import _checks as checks
from regrax.games.game import (
    Game,
    Known,
    bimatrix,
    choices,
    mixed,
    named,
    numbers,
    pure,
    same_choices,
    symmetric,
    uniform,
)


@named
def prisoners_dilemma(
    temptation: float = 5, reward: float = 3, punishment: float = 1, sucker: float = 0
) -> Game:
    """Defecting is dominant, yet both players prefer mutual cooperation.

    If both cooperate, each gets `reward`; if both defect, each gets `punishment`; a lone defector gets `temptation` and
    the other player `sucker`. The only equilibrium, Nash or correlated, is mutual defection.

    Args:
        temptation: payoff of a lone defector, above `reward`.
        reward: payoff of mutual cooperation, above `punishment`.
        punishment: payoff of mutual defection, above `sucker`.
        sucker: payoff of a lone cooperator.

    >>> prisoners_dilemma().payoffs[0].tolist()
    [[3.0, 0.0], [5.0, 1.0]]

    Reference: Rapoport, Chammah (1965), Prisoner's Dilemma.
    """
    if not temptation > reward > punishment > sucker:
        raise ValueError(
            "payoffs must satisfy temptation > reward > punishment > sucker, "
            f"got {temptation}, {reward}, {punishment}, {sucker}"
        )
    return symmetric(
        [[reward, sucker], [temptation, punishment]],
        actions=("cooperate", "defect"),
        equilibria=[pure("both defect", 1, 1)],
    )


@named
def chicken() -> Game:
    """Nobody wants to be the only one to swerve, but if both dare they crash; correlation beats mixing.

    If both swerve, each gets 6; a lone darer gets 7 and the other player 2; if both dare, each gets 0.

    >>> chicken().payoffs[0].tolist()
    [[6.0, 2.0], [7.0, 0.0]]

    Reference: Aumann (1974), Subjectivity and correlation in randomized strategies.
    """
    return symmetric(
        [[6, 2], [7, 0]],
        actions=("swerve", "dare"),
        equilibria=[
            pure("the second dares", 0, 1),
            pure("the first dares", 1, 0),
            mixed("each dares with probability 1/3", [2 / 3, 1 / 3], [2 / 3, 1 / 3]),
            Known("ce", "never both dare", {(0, 0): 1 / 3, (0, 1): 1 / 3, (1, 0): 1 / 3}),
            Known("ce", "maximum welfare", {(0, 0): 0.5, (0, 1): 0.25, (1, 0): 0.25}),
        ],
    )


@named
def battle_of_the_sexes() -> Game:
    """Both players want to meet, but each prefers a different place.

    At the opera they get 2 and 1, at football 1 and 2, and apart 0 each.

    >>> battle_of_the_sexes().payoffs[:, 0, 0].tolist()
    [2.0, 1.0]

    Reference: Luce, Raiffa (1957), Games and Decisions.
    """
    return bimatrix(
        [[2, 0], [0, 1]],
        [[1, 0], [0, 2]],
        actions=("opera", "football"),
        equilibria=[
            pure("at the opera", 0, 0),
            pure("at football", 1, 1),
            mixed("each favours its own place", [2 / 3, 1 / 3], [1 / 3, 2 / 3]),
        ],
    )


@named
def stag_hunt() -> Game:
    """Hunting the stag pays most but needs both players; hunting a hare is safe.

    If both hunt the stag, each gets 4; a lone stag hunter gets 0; a hare is worth 3.

    >>> stag_hunt().payoffs[0].tolist()
    [[4.0, 0.0], [3.0, 3.0]]

    Reference: Skyrms (2004), The Stag Hunt and the Evolution of Social Structure.
    """
    return symmetric(
        [[4, 0], [3, 3]],
        actions=("stag", "hare"),
        equilibria=[
            pure("payoff dominant", 0, 0),
            pure("risk dominant", 1, 1),
            mixed("stag three times in four", [0.75, 0.25], [0.75, 0.25]),
        ],
    )


@named
def hawk_dove(value: float = 2, cost: float = 4) -> Game:
    """Two animals contest a resource: hawks fight, doves share.

    Two hawks get (value - cost) / 2 each, and two doves value / 2 each; a hawk takes everything from a dove.

    Args:
        value: value of the resource, above 0.
        cost: cost of losing a fight, above 0.

    >>> hawk_dove().payoffs[0].tolist()
    [[-1.0, 2.0], [0.0, 1.0]]

    Reference: Maynard Smith, Price (1973), The logic of animal conflict.
    """
    checks.positive("value", value)
    checks.positive("cost", cost)
    known = [pure("both fight", 0, 0)]
    if value < cost:
        fight = [value / cost, 1 - value / cost]
        known = [
            pure("the first fights", 0, 1),
            pure("the second fights", 1, 0),
            mixed("evolutionarily stable", fight, fight),
        ]
    return symmetric(
        [[(value - cost) / 2, value], [0, value / 2]],
        actions=("hawk", "dove"),
        equilibria=known,
    )


@named
def deadlock() -> Game:
    """The dominant action is also best for both players, so there is no dilemma.

    The row player's payoffs are [[1, 0], [3, 2]]; the game is symmetric.

    >>> deadlock().payoffs[1].tolist()
    [[1.0, 3.0], [0.0, 2.0]]

    Reference: Rapoport, Guyer (1966), A taxonomy of 2x2 games.
    """
    return symmetric(
        [[1, 0], [3, 2]],
        actions=("cooperate", "defect"),
        equilibria=[pure("both defect", 1, 1)],
    )


@named
def coordination(actions: int = 2, players: int = 2) -> Game:
    """Every player gets 1 if all choose the same action, else 0.

    All players choosing the same action is an equilibrium, and so is uniform play by everyone.

    Args:
        actions: number of actions of each player.
        players: number of players.

    >>> coordination(3).payoffs[0].tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]

    Reference: Schelling (1960), The Strategy of Conflict.
    """
    chosen = same_choices("players", players, actions)
    agree = (chosen == chosen[0]).all(0).astype(float)
    known = [pure(f"all choose {a + 1}", *[a] * players) for a in range(actions)]
    known.append(uniform("all play uniformly", *[actions] * players))
    return Game(np.stack([agree] * players), equilibria=known)


@named
def inspection(wage: float = 4, effort: float = 2, cost: float = 1, output: float = 6) -> Game:
    """A worker may shirk, and an employer may pay to look; neither can predict the other.

    Working costs `effort` and yields `output`; looking costs `cost`; a worker caught shirking gets no `wage`.

    Args:
        wage: payment to the worker, above 0.
        effort: cost of working, between 0 and the wage.
        cost: cost of looking, between 0 and the wage.
        output: value of the work to the employer.

    >>> inspection().payoffs[:, 0, 0].tolist()
    [2.0, 1.0]

    Reference: Fudenberg, Tirole (1991), Game Theory, section 1.1.2.
    """
    if not 0 < effort < wage or not 0 < cost < wage:
        raise ValueError(
            f"effort and cost must be between 0 and the wage {wage}, got {effort} and {cost}"
        )
    shirk = cost / wage
    look = effort / wage
    return bimatrix(
        [[wage - effort, wage - effort], [0, wage]],
        [[output - wage - cost, output - wage], [-cost, -wage]],
        players=["worker", "employer"],
        actions=[("work", "shirk"), ("look", "trust")],
        equilibria=[mixed("both randomise", [1 - shirk, shirk], [look, 1 - look])],
    )


@named
def travellers_dilemma(low: int = 2, high: int = 100, bonus: int = 2) -> Game:
    """Two travellers claim for identical lost suitcases; both are paid the lower claim, with a bonus for making it.

    Claims x and y pay min(x, y), plus `bonus` to the lower claim and minus `bonus` to the higher.

    Args:
        low: lowest claim.
        high: highest claim.
        bonus: reward for the lower claim, at least 2.

    >>> travellers_dilemma(high=4).payoffs[0].tolist()
    [[2.0, 4.0, 4.0], [0.0, 3.0, 5.0], [0.0, 1.0, 4.0]]

    Reference: Basu (1994), The traveler's dilemma: paradoxes of rationality in game theory.
    """
    checks.at_least("bonus", bonus, 2)
    checks.at_least("high", high, low)
    size = high - low + 1
    claim, other = low + choices(size, size)
    return symmetric(
        np.minimum(claim, other) + bonus * np.sign(other - claim),
        actions=numbers(high, low),
        equilibria=[pure("both make the lowest claim", 0, 0)],
    )


@named
def ultimatum(pie: int = 10) -> Game:
    """The proposer offers a share of a pie; below the responder's threshold, both get nothing.

    An offer x against a threshold y pays pie - x and x if x >= y, else 0 each. Every offer equal to the threshold is an
    equilibrium.

    Args:
        pie: amount to share, in units that can be offered.

    >>> ultimatum(2).payoffs[0].tolist()
    [[2.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]

    Reference: Güth, Schmittberger, Schwarze (1982), An experimental analysis of ultimatum bargaining.
    """
    checks.at_least("pie", pie, 1)
    offer, threshold = choices(pie + 1, pie + 1)
    accepted = offer >= threshold
    return bimatrix(
        (pie - offer) * accepted,
        offer * accepted,
        players=["proposer", "responder"],
        actions=numbers(pie),
        equilibria=[pure(f"offer and threshold {x}", x, x) for x in range(pie + 1)],
    )


@named
def centipede(nodes: int = 6) -> Game:
    """Two players alternate between taking the larger pile and passing, which doubles both piles.

    Taking at node t = 0, 1, ... pays the taker 4 * 2^t and the other player 2^t. If everyone passes, the payoffs are as
    if the next player had taken. A strategy is the turn at which a player takes. By backward induction the first
    player takes immediately.

    Args:
        nodes: number of decisions, from 2 to 50.

    >>> centipede(2).payoffs[0].tolist()
    [[4.0, 4.0], [2.0, 16.0]]

    Reference: Rosenthal (1981), Games of perfect information; McKelvey, Palfrey (1992).
    """
    checks.at_least("nodes", nodes, 2, 50)
    first, second = choices((nodes + 1) // 2 + 1, nodes // 2 + 1)
    ended = np.minimum(np.minimum(2 * first, 2 * second + 1), nodes)
    taker = 4 * 2.0**ended
    other = 2.0**ended
    first_took = ended % 2 == 0
    return bimatrix(
        np.where(first_took, taker, other),
        np.where(first_took, other, taker),
        actions=[[*numbers(size - 1, 1), "never"] for size in first.shape],
        equilibria=[pure("take immediately", 0, 0)],
    )
