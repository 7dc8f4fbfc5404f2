"""Conversions to OpenSpiel, Gambit, nashpy and QuantEcon and back, and agreement with their solvers."""

import sys
from fractions import Fraction

import jax
import numpy as np
import pytest

from regrax import games
from regrax.games import (
    CorrelatedProfile,
    Game,
    from_gambit,
    from_openspiel,
    nash_equilibria,
    pure_equilibria,
    solve,
    to_gambit,
    to_openspiel,
)
from regrax.specs import parse_game

pytestmark = pytest.mark.usefixtures("as_users_run_it")
TWO = [games.chicken(), games.shapley(), games.random(4, 3, seed=1)]
ALL = [*TWO, games.random(2, 3, 2, seed=5), games.random(3, seed=1)]


@pytest.fixture
def pyspiel():
    return pytest.importorskip("pyspiel", reason="OpenSpiel is not installed: regrax[openspiel]")


@pytest.fixture
def gambit():
    return pytest.importorskip("pygambit", reason="pygambit is not installed: regrax[gambit]")


@pytest.mark.extras
@pytest.mark.parametrize("game", TWO, ids=str)
def test_nashpy_round_trip_and_equilibria(game):
    pytest.importorskip("nashpy", reason="nashpy is not installed")
    theirs = games.to_nashpy(game)
    np.testing.assert_array_equal(games.from_nashpy(theirs).payoffs, game.payoffs)
    expected = [np.concatenate(pair) for pair in theirs.support_enumeration()]
    ours = [np.concatenate(profile.marginals) for profile in nash_equilibria(game)]
    np.testing.assert_allclose(sorted(map(tuple, ours)), sorted(map(tuple, expected)), atol=1e-9)


@pytest.mark.extras
@pytest.mark.parametrize("game", ALL[:-1], ids=str)
@pytest.mark.filterwarnings("ignore")
def test_quantecon_round_trip(game):
    pytest.importorskip("quantecon", reason="QuantEcon is not installed")
    theirs = games.to_quantecon(game)
    np.testing.assert_array_equal(games.from_quantecon(theirs).payoffs, game.payoffs)
    for joint in np.ndindex(*game.sizes):
        np.testing.assert_array_equal(np.ravel(theirs[joint]), game.payoffs[(slice(None), *joint)])


def test_objects_that_cannot_be_converted_are_reported():
    with pytest.raises(ValueError, match="nashpy requires two players, but jordan has 3"):
        games.to_nashpy(games.jordan())
    with pytest.raises(ValueError, match="must be a nashpy game, got a Game"):
        games.from_nashpy(games.chicken())
    with pytest.raises(ValueError, match="must be a QuantEcon game, got a Game"):
        games.from_quantecon(games.chicken())


@pytest.mark.extras
@pytest.mark.parametrize("game", ALL[:-1], ids=str)
def test_openspiel_round_trip(pyspiel, game):
    back = from_openspiel(to_openspiel(game))
    np.testing.assert_array_equal(back.payoffs, game.payoffs)
    assert (back.name, back.actions) == (game.name, game.actions)


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
@pytest.mark.parametrize("game", ALL[:-1], ids=str)
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
    cce = np.maximum(games.cce_gap(joint, game, "none"), 0).sum()
    assert pyspiel.cce_dist(in_turns, device).dist_value == pytest.approx(cce, abs=1e-8)
    swap = float(games.swap_gap(joint, game, "sum"))
    assert pyspiel.ce_dist(in_turns, device).dist_value == pytest.approx(swap, abs=1e-8)


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
@pytest.mark.parametrize("game", ALL[:-1], ids=str)
def test_welfare_agrees_with_openspiel(pyspiel, game, concept):
    for module in ("cvxpy", "ecos", "networkx"):
        pytest.importorskip(module, reason=f"OpenSpiel's joint solvers need {module}")
    from open_spiel.python.algorithms import jpsro

    maximise = getattr(jpsro, f"_mw{concept}")
    joint, _ = maximise(np.array(game.payoffs), [np.ones(d, int) for d in game.sizes])
    welfare = float((joint * game.payoffs.sum(0)).sum())
    assert solve(game, concept, "welfare").welfare == pytest.approx(welfare, abs=1e-6)


@pytest.mark.extras
@pytest.mark.parametrize("game", ALL, ids=str)
def test_gambit_round_trip(gambit, game):
    named = Game(game.payoffs, name="title", players=[f"p{n}" for n in range(len(game.sizes))])
    back = from_gambit(to_gambit(named))
    np.testing.assert_array_equal(back.payoffs, named.payoffs)
    assert (back.name, back.players, back.actions) == (named.name, named.players, named.actions)


@pytest.mark.extras
def test_gambit_preserves_fractions_labels_and_comments(gambit):
    third = Fraction(1, 3)
    game = Game(
        [[[third, 0], [0, 1]], [[third, 2], [3, third]]],
        name='a "title"',
        players=["row", "column"],
        actions=[["up", "down"], ["left", "right"]],
        comment="why",
    )
    there = to_gambit(game)
    assert (there.title, there.description) == (game.name, "why")
    back = from_gambit(there)
    assert back.exact == game.exact
    assert (back.players, back.actions, back.comment) == (game.players, game.actions, "why")


@pytest.mark.extras
def test_gambits_own_games_can_be_converted(gambit):
    game = from_gambit(gambit.StrategicGame.from_arrays([[1, 0], [0, 2]], [[3, 0], [0, 1]]))
    assert game.payoffs.tolist() == [[[1, 0], [0, 2]], [[3, 0], [0, 1]]]
    with pytest.raises(ValueError, match="must be a Gambit game, got a list"):
        from_gambit([1])


@pytest.mark.extras
@pytest.mark.parametrize("game", [*TWO, *(games.random(3, 3, seed=s) for s in range(4))], ids=str)
def test_nash_equilibria_agree_with_gambit(gambit, game):
    theirs = gambit.nash.enummixed_solve(to_gambit(game), rational=False).equilibria
    ours = [np.concatenate(profile.marginals) for profile in nash_equilibria(game)]
    assert len(theirs) == len(ours)
    for profile in theirs:
        mixed = [
            float(profile[player][action])
            for player, labels in zip(game.players, game.actions, strict=True)
            for action in labels
        ]
        assert min(np.abs(np.array(mixed) - profile).max() for profile in ours) < 1e-6


ZERO_SUM = (
    "weighted-rps",
    "kuhn-poker",
    "morra",
    "colonel-blotto",
    "random-zero-sum(7, 5, seed=3)",
)


@pytest.mark.extras
@pytest.mark.parametrize("spec", ZERO_SUM)
def test_values_agree_with_gambit(gambit, spec):
    game = parse_game(spec)
    theirs = gambit.nash.lp_solve(to_gambit(game), rational=False).equilibrium
    first = next(iter(game.players))
    assert solve(game, "nash").payoffs[0] == pytest.approx(float(theirs.payoffs[first]), abs=1e-9)


@pytest.mark.extras
@pytest.mark.parametrize("spec", ["chicken", "shapley", "jordan", *ZERO_SUM[:2], "random(2, 3, 2)"])
def test_pure_and_known_equilibria_agree_with_gambit(gambit, spec):
    game = parse_game(spec)
    there = to_gambit(game)
    pure = {
        tuple(
            labels.index(next(a for a in labels if profile[player][a] == 1))
            for player, labels in named(game)
        )
        for profile in gambit.nash.enumpure_solve(there).equilibria
    }
    assert pure == set(pure_equilibria(game))
    for known in (k for k in game.equilibria if k.concept == "nash"):
        mixed = CorrelatedProfile(known.joint(game.sizes), game).marginals
        profile = there.mixed_strategy_profile([list(map(float, side)) for side in mixed])
        assert float(profile.max_regret()) < 1e-9


def named(game):
    return list(zip(game.players, game.actions, strict=True))


@pytest.mark.parametrize(
    ("module", "call"),
    [
        ("pyspiel", lambda: to_openspiel(games.chicken())),
        ("pyspiel", lambda: from_openspiel(None)),
        ("pygambit", lambda: to_gambit(games.chicken())),
        ("pygambit", lambda: from_gambit(None)),
    ],
)
def test_a_missing_package_is_reported_with_the_command(monkeypatch, module, call):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=f"{module} is not installed; run pip install 'regrax"):
        call()
