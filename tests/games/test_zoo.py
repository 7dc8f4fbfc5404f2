"""The contract of every game of the zoo, with default and other parameters."""

import numpy as np
import pytest

from regrax import games
from regrax.games import CorrelatedProfile, solve
from regrax.specs import draw_games, parse_game, registered

ROUNDING = 1e-9
ZOO = {name.replace("_", "-"): entry for name, entry in registered("game").items()}
NEEDS_SIZES = {
    "random": "(2, 3, 2)",
    "random-coordination": "(2, 3, 2)",
    "random-covariant": "(3, 3, correlation=-0.5)",
    "random-potential": "(2, 3, 2)",
    "random-symmetric": "(3)",
    "random-zero-sum": "(3, 4)",
}
UNKNOWN = {"random", "random-covariant", "random-symmetric", "random-zero-sum"}
OTHERS = {
    "prisoners-dilemma": ["temptation=3, reward=2, punishment=0.5, sucker=-1"],
    "hawk-dove": ["value=6", "value=1.5, cost=3"],
    "coordination": ["actions=3, players=3", "players=1"],
    "inspection": ["wage=5, effort=1, cost=0.5, output=2"],
    "travellers-dilemma": ["low=5, high=9, bonus=3"],
    "ultimatum": ["pie=3"],
    "centipede": ["nodes=2", "nodes=5"],
    "asymmetric-pennies": ["prize=0.25"],
    "rock-paper-scissors": ["actions=5", "actions=1"],
    "morra": ["fingers=3"],
    "hide-and-seek": ["places=5"],
    "colonel-blotto": ["soldiers=5, fields=2"],
    "cournot": ["firms=3, intercept=8", "intercept=10, cost=4", "intercept=11"],
    "bertrand": ["firms=3, highest=4"],
    "hotelling": ["positions=4", "positions=7, firms=1", "firms=3"],
    "first-price-auction": ["first=4, second=3", "first=2", "first=1, second=1"],
    "second-price-auction": ["first=2, second=6"],
    "all-pay-auction": ["prize=4"],
    "war-of-attrition": ["prize=1"],
    "tullock": ["prize=8", "prize=7"],
    "congestion": ["players=5, links=3"],
    "braess": ["players=5"],
    "minority": ["players=5"],
    "dispersion": ["players=3, places=3", "players=3"],
    "volunteers-dilemma": ["players=5, benefit=3, cost=2"],
    "public-goods": ["players=2, tokens=3, factor=2.5"],
    "market-entry": ["players=3, capacity=3", "players=3, capacity=0"],
    "beauty-contest": ["players=2, highest=6, share=0.5"],
    "random-potential": ["4, 5, seed=2"],
    "random-coordination": ["5, 2, seed=9"],
    "random-covariant": ["2, 2, 2, correlation=-0.5, seed=3", "3, 3, correlation=1"],
}
DEFAULTS = [name + NEEDS_SIZES.get(name, "") for name in ZOO]
SPECS = DEFAULTS + [f"{name}({text})" for name, texts in OTHERS.items() for text in texts]


@pytest.mark.parametrize("spec", SPECS)
def test_the_contract_of_a_game(spec):
    """Payoffs are finite, labels different, known equilibria correct, and the name parses to the same game."""
    game = parse_game(spec)
    assert np.isfinite(game.payoffs).all()
    assert not game.payoffs.flags.writeable
    assert len(set(game.players)) == len(game.players) == len(game.sizes)
    assert tuple(len(set(labels)) for labels in game.actions) == game.sizes
    for known in game.equilibria:
        profile = CorrelatedProfile(known.joint(game.sizes), game)
        assert profile.check(known.concept, ROUNDING * max(1.0, float(np.ptp(game.payoffs))))
        assert known.about
    again = parse_game(repr(game))
    assert (again.players, again.actions) == (game.players, game.actions)
    assert again.equilibria == game.equilibria
    np.testing.assert_array_equal(again.payoffs, game.payoffs)
    assert repr(game) == spec
    if spec in DEFAULTS:
        assert bool(game.equilibria) == (spec.split("(")[0] not in UNKNOWN)


@pytest.mark.parametrize("name", NEEDS_SIZES)
def test_seeds_give_different_games(name):
    assert "seed=" in ZOO[name].parameters
    spec = name + NEEDS_SIZES[name]
    zeroth, first, second = draw_games(spec, 3)
    np.testing.assert_array_equal(zeroth.payoffs, parse_game(spec).payoffs)
    np.testing.assert_array_equal(second.payoffs, parse_game(repr(second)).payoffs)
    assert (first.payoffs != zeroth.payoffs).any()
    assert (first.payoffs != second.payoffs).any()


@pytest.mark.parametrize(
    ("spec", "value"),
    [
        ("kuhn-poker", -1 / 18),
        ("morra", 0),
        ("colonel-blotto", 0),
        ("penalty-kick", (94.97 * 92.91 - 58.30 * 69.92) / 59.66),
        ("hide-and-seek(places=4)", 1 / 4),
    ],
)
def test_values_of_zero_sum_games(spec, value):
    game = parse_game(spec)
    known = CorrelatedProfile(game.equilibria[0].joint(game.sizes), game)
    for profile in (known, solve(game, "nash")):
        assert profile.payoffs[0] == pytest.approx(value, abs=1e-9)


def test_potential_games_have_a_potential():
    """Changes of the deviating player's payoff add up to zero around any square of deviations."""
    row, column = games.random_potential(3, 4, seed=1).payoffs
    around = np.diff(np.diff(row, axis=0)) - np.diff(np.diff(column), axis=0)
    np.testing.assert_allclose(around, 0, atol=1e-12)


@pytest.mark.parametrize(
    ("correlation", "players", "error"), [(-1.0, 2, 1e-9), (1.0, 3, 1e-9), (-0.3, 3, 0.03)]
)
def test_covariant_games_range_from_zero_sum_to_shared(correlation, players, error):
    game = games.random_covariant(*[30] * players, correlation=correlation, seed=2)
    expected = np.full((players, players), correlation) + (1 - correlation) * np.eye(players)
    actual = np.corrcoef(game.payoffs.reshape(players, -1))
    np.testing.assert_allclose(actual, expected, atol=error)


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("random(1000000, 1000000)", "at most 26 players and 50,000,000 payoffs"),
        ("congestion(players=40)", "got 40 players with 2 actions"),
        ("colonel-blotto(soldiers=1000, fields=10)", "actions must be at most"),
        ("rock-paper-scissors(actions=4)", "actions must be odd"),
        ("minority(players=4)", "players must be odd"),
        ("prisoners-dilemma(reward=9)", "payoffs must satisfy temptation > reward"),
        ("hawk-dove(value=-1)", "value must be above 0"),
        ("inspection(wage=1)", "effort and cost must be between 0 and the wage 1"),
        ("volunteers-dilemma(cost=9)", "cost must be between 0 and the benefit 4"),
        ("travellers-dilemma(high=1)", "high must be an integer >= 2"),
        ("centipede(nodes=1)", "nodes must be an integer >= 2"),
        ("centipede(nodes=60)", "nodes must be at most 50, got 60"),
        ("beauty-contest(share=1.5)", "share must be between 0 and 1"),
        ("random-covariant(2, 2, 2, correlation=-0.9)", "must be between -0.5 and 1, got -0.9"),
        ("market-entry(players=2, capacity=5)", "players must be an integer >= 5"),
        ("random-potential", "needs a number of actions for each player"),
        ("random(2, 2, seed=-1)", "seed must be an integer >= 0"),
        ("cournot(firms=1.5)", "firms must be an integer"),
    ],
)
def test_bad_parameters_are_reported_in_one_line(spec, message):
    with pytest.raises(ValueError, match=message) as caught:
        parse_game(spec)
    assert "\n" not in str(caught.value)
