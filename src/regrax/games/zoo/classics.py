"""The textbook games of two players: dilemmas and coordination."""

import numpy as np

from regrax import _checks as checks
from regrax.games.game import Game, bimatrix, correlated, mixed, pure, symmetric
from regrax.games.zoo._build import choices, named


@named
def prisoners_dilemma(
    temptation: float = 5, reward: float = 3, punishment: float = 1, sucker: float = 0
) -> Game:
    """Defecting is dominant, yet both would rather both cooperate.

    Both cooperate: `reward` each; both defect: `punishment` each; a lone defector gets `temptation` and leaves
    `sucker`. The only equilibrium, Nash or correlated, is to defect.

    Args:
        temptation: of a lone defector, above the reward.
        reward: of each when both cooperate, above the punishment.
        punishment: of each when both defect, above `sucker`.
        sucker: of a lone cooperator.

    >>> prisoners_dilemma().payoffs[0].tolist()
    [[3.0, 0.0], [5.0, 1.0]]

    Reference: Rapoport, Chammah (1965), Prisoner's Dilemma.
    """
    if not temptation > reward > punishment > sucker:
        raise ValueError(
            "payoffs must fall from temptation to reward, punishment and sucker, "
            f"got {temptation}, {reward}, {punishment}, {sucker}"
        )
    moves = ("cooperate", "defect")
    return symmetric(
        [[reward, sucker], [temptation, punishment]],
        actions=(moves, moves),
        equilibria=(pure("both defect", 1, 1),),
    )


@named
def chicken() -> Game:
    """Nobody wants to swerve alone, and both daring is a crash; correlation beats mixing.

    Both swerve: 6 each; a lone darer gets 7 and leaves 2; both dare: 0.

    >>> chicken().payoffs[0].tolist()
    [[6.0, 2.0], [7.0, 0.0]]

    Reference: Aumann (1974), Subjectivity and correlation in randomized strategies.
    """
    moves = ("swerve", "dare")
    known = (
        pure("the second dares", 0, 1),
        pure("the first dares", 1, 0),
        mixed("dare a third of the time", [2 / 3, 1 / 3], [2 / 3, 1 / 3]),
        correlated("never both dare", {(0, 0): 1 / 3, (0, 1): 1 / 3, (1, 0): 1 / 3}),
        correlated("most welfare", {(0, 0): 1 / 2, (0, 1): 1 / 4, (1, 0): 1 / 4}),
    )
    return symmetric([[6, 2], [7, 0]], actions=(moves, moves), equilibria=known)


@named
def battle_of_the_sexes() -> Game:
    """Meeting matters, where matters a little.

    Apart: 0 each; at the opera 2 and 1, at football 1 and 2.

    >>> battle_of_the_sexes().payoffs[:, 0, 0].tolist()
    [2.0, 1.0]

    Reference: Luce, Raiffa (1957), Games and Decisions.
    """
    places = ("opera", "football")
    known = (
        pure("at the opera", 0, 0),
        pure("at football", 1, 1),
        mixed("each prefers its own place", [2 / 3, 1 / 3], [1 / 3, 2 / 3]),
    )
    return bimatrix([[2, 0], [0, 1]], [[1, 0], [0, 2]], actions=(places, places), equilibria=known)


@named
def stag_hunt() -> Game:
    """Hunting the stag pays most but needs both; a hare is safe.

    Both hunt the stag: 4 each; alone after the stag: 0; a hare: 3.

    >>> stag_hunt().payoffs[0].tolist()
    [[4.0, 0.0], [3.0, 3.0]]

    Reference: Skyrms (2004), The Stag Hunt and the Evolution of Social Structure.
    """
    prey = ("stag", "hare")
    known = (
        pure("payoff dominant", 0, 0),
        pure("risk dominant", 1, 1),
        mixed("stag three times in four", [3 / 4, 1 / 4], [3 / 4, 1 / 4]),
    )
    return symmetric([[4, 0], [3, 3]], actions=(prey, prey), equilibria=known)


@named
def hawk_dove(value: float = 2, cost: float = 4) -> Game:
    """Two animals over a resource: hawks fight, doves share.

    Two hawks get (value - cost) / 2 each, two doves value / 2 each; a hawk takes all from a dove.

    >>> hawk_dove().payoffs[0].tolist()
    [[-1.0, 2.0], [0.0, 1.0]]

    Reference: Maynard Smith, Price (1973), The logic of animal conflict.
    """
    checks.positive("value", value)
    checks.positive("cost", cost)
    if value < cost:
        fight = [value / cost, 1 - value / cost]
        known = (
            pure("the first fights", 0, 1),
            pure("the second fights", 1, 0),
            mixed("evolutionarily stable", fight, fight),
        )
    else:
        known = (pure("both fight", 0, 0),)
    kinds = ("hawk", "dove")
    return symmetric(
        [[(value - cost) / 2, value], [0, value / 2]],
        actions=(kinds, kinds),
        equilibria=known,
    )


@named
def deadlock() -> Game:
    """What is dominant is also best for both: no dilemma.

    Payoffs [[1, 0], [3, 2]] to the row player, symmetric.

    >>> deadlock().payoffs[1].tolist()
    [[1.0, 3.0], [0.0, 2.0]]

    Reference: Rapoport, Guyer (1966), A taxonomy of 2x2 games.
    """
    moves = ("cooperate", "defect")
    return symmetric(
        [[1, 0], [3, 2]],
        actions=(moves, moves),
        equilibria=(pure("both defect", 1, 1),),
    )


@named
def coordination(actions: int = 2, players: int = 2) -> Game:
    """Everyone gets 1 if all choose alike, else nothing.

    Every action chosen by all is an equilibrium, and so is everyone choosing at random.

    >>> coordination(3).payoffs[0].tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]

    Reference: Schelling (1960), The Strategy of Conflict.
    """
    checks.at_least("players", players, 1)
    chosen = choices(*[actions] * players)
    alike = (chosen == chosen[0]).all(0).astype(float)
    known = [pure(f"all choose {a + 1}", *[a] * players) for a in range(actions)]
    even = mixed("all at random", *[[1 / actions] * actions] * players)
    return Game(np.stack([alike] * players), equilibria=(*known, even))


@named
def inspection(wage: float = 4, effort: float = 2, cost: float = 1, output: float = 6) -> Game:
    """A worker may shirk, an employer may pay to look; neither can be sure of the other.

    Working costs `effort` and yields `output`; looking costs `cost`; a worker caught shirking gets no `wage`.

    Args:
        wage: of the worker, above 0.
        effort: cost of working, between 0 and the wage.
        cost: of looking, between 0 and the wage.
        output: what work is worth to the employer.

    >>> inspection().payoffs[:, 0, 0].tolist()
    [2.0, 1.0]

    Reference: Fudenberg, Tirole (1991), Game Theory, section 1.1.2.
    """
    if not 0 < effort < wage or not 0 < cost < wage:
        raise ValueError(
            f"effort and cost must be between 0 and the wage {wage}, got {effort} and {cost}"
        )
    worker = [[wage - effort, wage - effort], [0, wage]]
    employer = [[output - wage - cost, output - wage], [-cost, -wage]]
    often = mixed(
        "shirk and look now and then",
        [1 - cost / wage, cost / wage],
        [effort / wage, 1 - effort / wage],
    )
    return bimatrix(
        worker,
        employer,
        players=("worker", "employer"),
        actions=(("work", "shirk"), ("look", "trust")),
        equilibria=(often,),
    )
