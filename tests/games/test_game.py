"""Games: construction, labels, immutability, exact payoffs and tables."""

from fractions import Fraction

import jax
import numpy as np
import pytest

from regrax import games
from regrax.games import Game, game_from_nfg, game_to_nfg

pytestmark = pytest.mark.usefixtures("as_users_run_it")
PENNIES = games.matching_pennies()


def test_a_game_copies_its_payoffs_and_is_immutable():
    table = np.ones((2, 2, 2))
    game = Game(table)
    table[:] = 5
    assert game.payoffs.max() == 1
    with pytest.raises(ValueError, match="read-only"):
        game.payoffs[0, 0, 0] = 2
    with pytest.raises(AttributeError, match="a game is immutable: name cannot be set"):
        game.name = "other"


def test_labels_have_defaults_also_after_a_transformation():
    for game in (Game(np.ones((2, 2, 3))), jax.tree.map(lambda x: 2 * x, games.random(2, 3))):
        assert repr(game) == "game(2, 3)"
        assert game.players == ("player 1", "player 2")
        assert game.actions == (("1", "2"), ("1", "2", "3"))
        assert (game.comment, game.equilibria, game.exact) == ("", (), None)


def test_one_list_of_action_labels_is_for_all_players():
    assert Game(PENNIES.payoffs, actions=["h", "t"]).actions == (("h", "t"), ("h", "t"))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"players": ["a"]}, "players must have 2 entries, got 1"),
        ({"players": "ab"}, "players must be a list, got 'ab'"),
        ({"players": ["a", 1]}, "players must be text, got 1"),
        ({"players": ["a", "a"]}, "players must have different names, got 'a' 2 times"),
        ({"actions": [["a", "b"]]}, "actions must have 2 entries, got 1"),
        ({"actions": [["a", "b"], ["a"]]}, "actions of player 2 must have 2 entries, got 1"),
        ({"actions": ["a", "b", "c"]}, "actions of player 1 must have 2 entries, got 3"),
        ({"name": 3}, "name must be text, got 3"),
    ],
)
def test_bad_labels_are_reported(labels, message):
    with pytest.raises(ValueError, match=message):
        Game(PENNIES.payoffs, **labels)


def test_fractions_are_stored_only_if_doubles_round_them():
    game = Game([[Fraction(1, 3), 1, Fraction(1, 2)]])
    assert game.payoffs.tolist() == [[1 / 3, 1.0, 0.5]]
    assert game.exact == (Fraction(1, 3), 1, Fraction(1, 2))
    assert Game([[Fraction(1, 2), 1]]).exact is None
    assert games.weighted_rps().exact[1] == Fraction(-1, 3)
    assert Game([[2**70 + 1, 1]]).payoffs[0, 0] == 2.0**70
    doubled = jax.tree.map(lambda x: 2 * x, game)
    assert game_from_nfg(game_to_nfg(doubled)).payoffs.tolist() == [[2 / 3, 2.0, 1.0]]
