"""Conversions to OpenSpiel, Gambit, nashpy and QuantEcon and back, and agreement with their solvers."""

import sys
from fractions import Fraction

import jax
import numpy as np
import pytest

from regrax import games
from regrax.games import Game, from_gambit, from_openspiel, nash_equilibria, solve, to_openspiel

pytestmark = pytest.mark.usefixtures("as_users_run_it")
TWO = [games.chicken(), games.shapley(), games.random(4, 3, seed=1)]
GAMES = [*TWO, games.random(2, 3, 2, seed=5)]
LABELLED = Game(
    [[[Fraction(1, 3), 0], [0, 1]], [[Fraction(1, 3), 2], [3, Fraction(1, 3)]]],
    name='a "title"',
    players=["row", "column"],
    actions=[["up", "down"], ["left", "right"]],
    comment="why",
)
CONVERTED = {
    "nashpy": (TWO, ()),
    "quantecon": (GAMES, ()),
    "openspiel": (GAMES, ("name", "actions")),
    "gambit": ([*GAMES, LABELLED], ("name", "players", "actions", "comment")),
}
MODULES = {"openspiel": "pyspiel", "gambit": "pygambit"}


@pytest.fixture
def pyspiel():
    return pytest.importorskip("pyspiel", reason="OpenSpiel is not installed: regrax[openspiel]")


@pytest.fixture
def gambit():
    return pytest.importorskip("pygambit", reason="pygambit is not installed: regrax[gambit]")


@pytest.mark.extras
@pytest.mark.parametrize("package", CONVERTED)
@pytest.mark.filterwarnings("ignore")
def test_conversions_give_the_same_game_back(package):
    pytest.importorskip(MODULES.get(package, package), reason=f"{package} is not installed")
    originals, fields = CONVERTED[package]
    for game in originals:
        theirs = getattr(games, f"to_{package}")(game)
        back = getattr(games, f"from_{package}")(theirs)
        np.testing.assert_array_equal(back.payoffs, game.payoffs)
        for field in fields:
            assert getattr(back, field) == getattr(game, field)


@pytest.mark.extras
@pytest.mark.filterwarnings("ignore")
def test_quantecon_indexes_payoffs_by_joint_action():
    pytest.importorskip("quantecon", reason="QuantEcon is not installed")
    game = GAMES[-1]
    theirs = games.to_quantecon(game)
    for joint in np.ndindex(*game.sizes):
        np.testing.assert_array_equal(np.ravel(theirs[joint]), game.payoffs[(slice(None), *joint)])


@pytest.mark.extras
def test_gambits_own_games_and_fractions_can_be_converted(gambit):
    game = from_gambit(gambit.StrategicGame.from_arrays([[1, 0], [0, 2]], [[3, 0], [0, 1]]))
    assert game.payoffs.tolist() == [[[1, 0], [0, 2]], [[3, 0], [0, 1]]]
    assert from_gambit(games.to_gambit(LABELLED)).exact == LABELLED.exact
    with pytest.raises(ValueError, match="must be a Gambit game, got a list"):
        from_gambit([1])


@pytest.mark.extras
def test_openspiels_own_games_can_be_converted(pyspiel):
    rps = from_openspiel(pyspiel.load_game("matrix_rps"))
    assert rps.actions[0] == ("Rock", "Paper", "Scissors")
    np.testing.assert_allclose(solve(rps, "nash").joint, np.full((3, 3), 1 / 9), atol=1e-9)
    kuhn = from_openspiel(pyspiel.extensive_to_matrix_game(pyspiel.load_game("kuhn_poker")))
    assert solve(kuhn, "nash").payoffs[0] == pytest.approx(-1 / 18)
    with pytest.raises(ValueError, match="must be an OpenSpiel matrix or tensor game"):
        from_openspiel(pyspiel.load_game("kuhn_poker"))


@pytest.mark.extras
@pytest.mark.parametrize("game", GAMES, ids=str)
@pytest.mark.parametrize("concept", [None, "ce", "cce"])
def test_gaps_agree_with_openspiel(x64, pyspiel, game, concept):
    """OpenSpiel adds up the positive CCE gaps of the players, and their swap gaps."""
    size = int(np.prod(game.sizes))
    joint = np.random.default_rng(0).dirichlet(np.ones(size)).reshape(game.sizes)
    if concept is not None:
        joint = solve(game, concept, "entropy").joint
    in_turns = pyspiel.convert_to_turn_based(to_openspiel(game))
    device = correlation_device(pyspiel, in_turns, game, np.asarray(joint))
    joint = jax.numpy.asarray(joint)
    cce = pyspiel.cce_dist(in_turns, device).dist_value
    assert cce == pytest.approx(float(games.cce_dist(joint, game)), abs=1e-8)
    swap = pyspiel.ce_dist(in_turns, device).dist_value
    assert swap == pytest.approx(float(games.ce_dist(joint, game)), abs=1e-8)


def correlation_device(pyspiel, in_turns, game, joint):
    state, keys = in_turns.new_initial_state(), []
    for _ in game.sizes:
        keys.append(state.information_state_string())
        state.apply_action(0)

    def policy(actions):
        table = {
            key: [(a, float(a == chosen)) for a in range(size)]
            for key, chosen, size in zip(keys, actions, game.sizes, strict=True)
        }
        return pyspiel.TabularPolicy(table)

    return [(float(joint[a]), policy(a)) for a in np.ndindex(*game.sizes) if joint[a] > 0]


@pytest.mark.extras
@pytest.mark.parametrize("concept", ["ce", "cce"])
@pytest.mark.parametrize("game", GAMES, ids=str)
def test_welfare_agrees_with_openspiel(pyspiel, game, concept):
    for module in ("cvxpy", "ecos", "networkx"):
        pytest.importorskip(module, reason=f"OpenSpiel's joint solvers need {module}")
    from open_spiel.python.algorithms import jpsro

    maximise = getattr(jpsro, f"_mw{concept}")
    joint, _ = maximise(np.array(game.payoffs), [np.ones(d, int) for d in game.sizes])
    welfare = float((joint * game.payoffs.sum(0)).sum())
    assert solve(game, concept, "welfare").welfare == pytest.approx(welfare, abs=1e-6)


@pytest.mark.extras
@pytest.mark.parametrize("game", [*TWO, *(games.random(3, 3, seed=s) for s in range(4))], ids=str)
def test_nash_equilibria_agree_with_gambit(gambit, game):
    theirs = gambit.nash.enummixed_solve(games.to_gambit(game), rational=False).equilibria
    ours = [np.concatenate(profile.marginals) for profile in nash_equilibria(game)]
    assert len(theirs) == len(ours)
    for profile in theirs:
        mixed = [
            float(profile[player][action])
            for player, labels in zip(game.players, game.actions, strict=True)
            for action in labels
        ]
        assert min(np.abs(np.array(mixed) - profile).max() for profile in ours) < 1e-6


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: games.to_nashpy(games.jordan()), "nashpy requires two players, but jordan has 3"),
        (lambda: games.from_nashpy(games.chicken()), "must be a nashpy game, got a Game"),
        (lambda: games.from_quantecon(games.chicken()), "must be a QuantEcon game, got a Game"),
    ],
)
def test_objects_that_cannot_be_converted_are_reported(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("function", ["to_openspiel", "from_openspiel", "to_gambit", "from_gambit"])
def test_a_missing_package_is_reported_with_the_command(monkeypatch, function):
    module = MODULES[function.split("_")[1]]
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=f"{module} is not installed; run pip install 'regrax"):
        getattr(games, function)(games.chicken())
