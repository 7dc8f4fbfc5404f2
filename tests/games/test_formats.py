"""Game files: round trips, exact fractions, errors with line and column, and hostile input."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

from regrax import games
from regrax.games import Game, game_from_json, game_from_nfg, game_to_json, game_to_nfg, load

pytestmark = pytest.mark.usefixtures("as_users_run_it")
PAYOFF_FORM = b"""NFG 1 R "Two by three" { "Ann" "Bob" }
{ 2 3 }
"made by hand"
1 0.5 -1/3 2 3 4 .25 1e-3 5. 6 7 8
"""
OUTCOME_FORM = b"""NFG 1 R "Selten (\\"horse\\")" { "Alice" "Bob" "Carol" }
{ { "up" "down" }
{ "left" "right" }
{ "in" "out" } }
""
{
{ "first" 1, 2/3, 3 }
{ "second" -4.5 5 6 }
}
1 2 0 1 2 0 1 1
"""


def test_the_payoff_form_by_hand():
    game = game_from_nfg(PAYOFF_FORM)
    assert (game.name, game.players) == ("Two by three", ("Ann", "Bob"))
    assert game.comment == "made by hand"
    assert game.actions == (("1", "2"), ("1", "2", "3"))
    np.testing.assert_array_equal(game.payoffs[0], [[1, 3, 5], [-1 / 3, 0.25, 7]])
    np.testing.assert_array_equal(game.payoffs[1], [[0.5, 4, 6], [2, 0.001, 8]])
    assert game.exact[3] == Fraction(-1, 3)
    assert game.exact[10] == Fraction(1, 1000)


def test_the_outcome_form_by_hand():
    game = game_from_nfg(OUTCOME_FORM)
    assert game.name == 'Selten ("horse")'
    assert game.actions == (("up", "down"), ("left", "right"), ("in", "out"))
    first, second, none = [1, 2 / 3, 3], [-4.5, 5, 6], [0, 0, 0]
    outcomes = [first, second, none, first, second, none, first, first]
    # the first player's action changes fastest
    assert [
        list(row) for row in zip(*(u.ravel("F") for u in game.payoffs), strict=True)
    ] == outcomes


def assert_same(game, other):
    np.testing.assert_array_equal(game.payoffs, other.payoffs)
    for field in ("name", "players", "actions", "comment"):
        assert getattr(game, field) == getattr(other, field)


GAMES = [
    games.weighted_rps(),
    games.battle_of_the_sexes(),
    games.random(2, 3, 4, seed=1),
    Game([[1.0, 2.0]]),
    Game([[1e300, 5e-324, -1e-17, 2.5]]),
    Game([[1, 2]], players=['"q"'], actions=[["back\\slash\\", "two\nlines"]], comment='\\"'),
    Game([[1, 2]], players=[""], actions=[["ünï", ""]], name="日本"),
]


@pytest.mark.parametrize("game", GAMES, ids=range(len(GAMES)))
def test_files_give_the_same_game_back(game, tmp_path):
    for suffix in games.FORMATS:
        game.save(tmp_path / f"game{suffix}")
        assert_same(load(tmp_path / f"game{suffix}"), game)
    assert_same(game_from_nfg(game_to_nfg(game, "outcome")), game)


COPIES = {
    "payoff": lambda game: game_from_nfg(game_to_nfg(game)),
    "outcome": lambda game: game_from_nfg(game_to_nfg(game, "outcome")),
    "json": lambda game: game_from_json(game_to_json(game)),
}
EXACT = [
    game_from_nfg(PAYOFF_FORM),
    game_from_nfg(OUTCOME_FORM),
    Game([[Fraction(1, 3), Fraction(-7, 10), 10**17 + 1, Fraction(2**70 + 1, 3), 0, 0.5]]),
]


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("game", EXACT, ids=repr)
def test_fractions_stay_exact_through_copies(game, copy):
    assert copy(game).exact == game.exact
    np.testing.assert_array_equal(copy(game).payoffs, game.payoffs)


def test_doubles_are_the_nearest_to_the_fraction():
    """For a ratio of two large integers, dividing two doubles would round twice."""
    top, bottom = 10**40 + 1, 3 * 10**39 + 7
    game = game_from_nfg(f'NFG 1 D "" {{ "a" }} {{ 2 }} {top}/{bottom} 0.1'.encode())
    assert game.name == "game(2)"
    assert game.payoffs.tolist() == [[top / bottom, 0.1]]
    assert game.exact == (Fraction(top, bottom), Fraction(1, 10))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "expected NFG at line 1, column 1, got the end"),
        (b"NFG 1 Q", "expected R or D at line 1, column 7, got 'Q'"),
        (b'NFG 1 R "title', "expected a closing quote at line 1, column 9"),
        (b'NFG 1 R "t"\n  "x"', "expected '{' at line 2, column 3, got '\"x\"'"),
        (b'NFG 1 R "t" { } { }', "between 1 and 26 players at line 1, column 17, got 0"),
        (b'NFG 1 R "t" { "a" } { 0 }', "expected at least 1 action for every player .* got 0"),
        (b'NFG 1 R "t" { "a" } { 2 2 }', "expected '}' at line 1, column 25, got '2 }'"),
        (b'NFG 1 R "t" { "a" } { 999999999 }', "at most 2,000,000 payoffs .* got 999,999,999"),
        (b'NFG 1 R "t" { "a" } { 2 } 1 \n', "expected a number at line 2, column 1, got the end"),
        (b'NFG 1 R "t" { "a" } { 2 } 1 1/0', "expected a number at line 1, column 29, got '1/0'"),
        (b'NFG 1 R "t" { "a" } { 2 } 1 nan', "expected a number .* got 'nan'"),
        (b'NFG 1 R "t" { "a" } { 2 } 1 1e999999999', "expected a number .* got '1e999999999'"),
        (b'NFG 1 R "t" { "a" } { 2 } 1 1e309', "a number that fits in a double .* got '1e309'"),
        (b'NFG 1 R "t" { "a" } { 2 } 1 ' + b"9" * 1001, "expected a number at line 1, column 29"),
        (b'NFG 1 R "t" { "a" } { 2 } 1 2 3', "expected the end of the file at line 1, column 31"),
        (b'NFG 1 R "t" { "a" } { 2 } "" { { 1 } } 1 1', "name of an outcome in quotes at .* 34"),
        (
            b'NFG 1 R "t" { "a" } { 2 } "" { { "o" 1 } } 1 2',
            "number of an outcome, at most 1, at .* 46, got '2'",
        ),
        (
            b'NFG 1 R "t" { "a" } { 2 } "" { { "o" 1 } } 1 -1',
            "an outcome, at most 1, at .* got '-1'",
        ),
        (b'NFG 1 R "t"\n{ "\xc3\xa9\xff" }', "must be UTF-8 text, but line 2, column 5 is not"),
    ],
)
def test_mistakes_are_reported_with_line_and_column(data, message):
    with pytest.raises(ValueError, match=message) as caught:
        game_from_nfg(data)
    assert "\n" not in str(caught.value)


def test_an_unknown_form_is_an_error():
    with pytest.raises(ValueError, match='form must be "payoff" or "outcome", got \'tree\''):
        game_to_nfg(games.chicken(), "tree")


@pytest.mark.parametrize(
    "data",
    [
        b'NFG 1 R "t" {' + b' "a"' * 30 + b" } {" + b" 999999999" * 30 + b" } 1",
        b'NFG 1 R "t" { "a" "b" } { 1400 1400 } "" { { "o" 1 1 } } ' + b"1 " * 100,
        b'NFG 1 R "t" ' + b"{" * 1_000_000,
        b'NFG 1 R "' + b"\\a" * 500_000,
        b'NFG 1 R "' + b"a" * 1_000_000,
        b" " * 1_000_000,
        b'NFG 1 R "t" { "a" } { 2 } 1 ' + b"9" * 1_000_000,
        b'NFG 1 R "t" { "a" } { 2 } 1 1e-' + b"9" * 1000,
    ],
    ids=range(8),
)
def test_large_nonsense_raises_in_little_memory(data):
    tracemalloc.start()
    with pytest.raises(ValueError, match="at line 1, column"):
        game_from_nfg(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30 * len(data) + 1e6
