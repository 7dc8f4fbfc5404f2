"""Tournaments: hand-computed tables, agreement with `play`, intervals, failures, the command."""

import csv
import io
import json

import jax
import numpy as np
import pytest

import regrax as rx
from regrax import games
from regrax.cli import main
from regrax.domains import Ball
from regrax.experiments.tournament import MEASURES, interval, round_robin
from regrax.games import CorrelatedProfile, Game, play, swap_matrices
from regrax.learners import (
    Agent,
    EuclideanFTRL,
    Exp3,
    FollowTheLeader,
    Hedge,
    RegretMatchingPlus,
    Uniform,
    random_start,
)
from regrax.regret import external_regret, swap_regret
from regrax.show.plots import plot_tournament
from regrax.specs import draw_games

ROUNDING = 1e-10
PENNIES = {"pennies": [games.matching_pennies()]}


def test_the_dilemma_by_hand(x64):
    """Scaled to [0, 1] the payoffs are 0.6, 0 / 1, 0.2. The leader defects from round 2 on."""
    game = {"dilemma": [games.prisoners_dilemma()]}
    found = round_robin([Uniform(), FollowTheLeader()], game, 10, start="own")
    first, later = 0.45, 9 * np.array([[0.45, 0.1], [0.6, 0.2]])
    np.testing.assert_allclose(found.values["payoff"][0, :, :, 0], (first + later) / 10)
    # against uniform defecting gains 0.15 per round over uniform; against a defector 0.1
    np.testing.assert_allclose(found.values["regret"][0, 0, :, 0], [0.15, (0.15 + 9 * 0.1) / 10])
    np.testing.assert_allclose(found.values["regret"][0, 1, :, 0], [0.015, 0.015])
    np.testing.assert_allclose(found.values["cce_gap"][0, :, :, 0], [[0.15, 0.105], [0.105, 0.015]])
    # swapping cooperation for defection, half of the rounds, gains all of it
    np.testing.assert_allclose(found.values["ce_gap"][0, 0, 0, 0], 0.15)
    assert found.ranking("regret") == [1, 0]
    assert found.ranking("payoff") == [1, 0]


@pytest.mark.parametrize("sizes", [(3, 3), (3, 2), (2, 3, 2)])
def test_measures_are_those_of_play_in_the_scaled_game(sizes, x64):
    game = games.random(*sizes, seed=2)
    axes = tuple(range(1, len(sizes) + 1))
    low, high = (choose(game.payoffs, axes, keepdims=True) for choose in (np.min, np.max))
    scaled = Game((game.payoffs - high) / (high - low))
    learners = [Hedge(0.2), RegretMatchingPlus()]
    found = round_robin(learners, {"it": game}, 30)
    start = [random_start(size, 0, n) for n, size in enumerate(sizes)]
    for i, j in np.ndindex(2, 2):
        measured = []
        for n in range(len(sizes)):
            seated = [learners[i if player == n else j] for player in range(len(sizes))]
            played = play(scaled, seated, 30, start=start)
            profile = CorrelatedProfile(played.joint, scaled)
            regrets = [
                kind(played.policies[n], played.losses[n]) / 30
                for kind in (external_regret, swap_regret)
            ]
            measured.append(
                [*regrets, 1 + profile.payoffs[n], profile.gap("cce"), profile.gap("ce")]
            )
        scores = [found.values[name][0, i, j, 0] for name in MEASURES]
        np.testing.assert_allclose(scores, np.mean(measured, 0), atol=1e-9)


@pytest.mark.slow
def test_drawn_actions_have_the_means_of_expected_play(x64):
    """Uniform play does not learn, so sampling only adds noise: five standard errors over 4,000 rounds."""
    game, keys = games.random(2, 3, seed=4), jax.random.split(jax.random.key(0), 2)
    payoffs = jax.numpy.stack([jax.numpy.asarray(game.payoffs)] * 2)
    drawn = swap_matrices(payoffs, (Uniform(),), ((0, 0),), 4000, keys)
    mean = swap_matrices(payoffs, (Uniform(),), ((0, 0),), 1)
    for sampled, expected in zip(drawn, mean, strict=True):
        np.testing.assert_allclose(sampled / 4000, expected, atol=5 * 0.5 / 4000**0.5)
        assert not np.array_equal(sampled[0], sampled[1])


def test_intervals_have_width_only_if_something_is_random(x64):
    assert interval(np.array([1.0, 2.0, 3.0, np.nan])) == pytest.approx(
        (2, 4.30265 / 3**0.5), rel=1e-5
    )
    assert np.isnan(interval(np.array([1.0])).half)
    known = {"fixed": [games.chicken()], "drawn": draw_games("random(2, 2)", 4)}
    for more, game, is_random in (
        ({"start": "own"}, "fixed", False),
        ({"start": "own"}, "drawn", True),
        ({"start": "own", "key": jax.random.key(1)}, "fixed", True),
        ({}, "fixed", True),
    ):
        found = round_robin([Hedge(0.3)], known, 20, seeds=4, **more)
        assert (found.overall("payoff", game)[0].half > 0) == is_random
    with pytest.raises(ValueError, match="measure must be one of regret"):
        found.overall("fame")
    with pytest.raises(ValueError, match="game must be one of fixed, drawn"):
        found.overall("regret", "chess")


def test_bandits_learn_from_what_they_draw(x64):
    """Against uniform play in the dilemma a bandit learns to defect."""
    game = {"dilemma": [games.prisoners_dilemma()]}
    found = round_robin([Exp3(0.1), Uniform()], game, 500, seeds=3, key=jax.random.key(0))
    learned, blind = found.overall("payoff")
    assert learned.mean > blind.mean + 0.05
    with pytest.raises(ValueError, match="needs a key"):
        round_robin([Exp3(0.1)], game, 5)


class Copycat(rx.Learner):
    """A user-defined learner with nothing but the three methods."""

    def init(self, actions, rounds=None, *, key=None):
        return jax.numpy.ones(actions) / actions

    def policy(self, state):
        return state

    def update(self, state, feedback):
        return jax.nn.softmax(-feedback)


class Fails(Copycat):
    def policy(self, state):
        raise ValueError("I cannot\nplay")


def test_failures_are_listed_and_the_rest_is_played(x64):
    def breaks(losses):
        raise RuntimeError("out of tokens\nand more")

    def plays(losses):
        return np.full(losses.shape[1], 1 / losses.shape[1])

    ball, huge = EuclideanFTRL(0.1, Ball()), Hedge(1e308)
    learners = [Uniform(), ball, Agent(breaks), Agent(plays), huge, Fails()]
    found = round_robin(learners, PENNIES, 3)
    reasons = {failure.learners: failure.reason for failure in found.failures}
    assert reasons[(str(ball),)] == "it plays on the ball"
    assert reasons[("uniform()", str(learners[2]))] == "out of tokens"
    assert reasons[("Fails()",)] == "I cannot"
    assert np.isnan(found.values["regret"][0, 1]).all()
    assert np.isnan(found.values["regret"][0, :, 2]).all()
    assert np.isfinite(found.values["payoff"][0, 0, 3, 0])
    assert found.ranking()[-1] in (1, 2, 5)


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], PENNIES, 3), "at least one learner and one game"),
        (([Uniform()], {}, 3), "at least one learner and one game"),
        (([Uniform(), Uniform()], PENNIES, 3), r"got uniform\(\) twice"),
        (([Uniform()], PENNIES, 0), "rounds must be an integer"),
        ((["hedge(1)", "hedge(1)"], ["chicken"], 3), "pass a mapping to name them"),
        (([Uniform()], ["chikcen"], 3), "did you mean chicken"),
        (([Uniform()], ["chicken", "chicken"], 3), "games must have distinct names, got chicken"),
        (([Uniform()], [games.zero_sum([[k, 0], [0, 1]]) for k in (1, 5)], 3), "got game.* twice"),
        (([Uniform()], {"two": [games.chicken()] * 2}, 3), "two must have one game or 1, got 2"),
        (([Uniform()], {"large": [Game(np.zeros((2, 20000, 2)))]}, 3), "need 400,000,004 array entries"),
    ],
)  # fmt: skip
def test_bad_input_raises_an_error(arguments, message):
    with pytest.raises(ValueError, match=message):
        round_robin(*arguments)


def test_the_plot_has_a_map_per_measure():
    found = round_robin([Uniform(), Hedge(0.1), EuclideanFTRL(0.1, Ball())], PENNIES, 2)
    maps = [axes for axes in plot_tournament(found, "ce_gap").axes if axes.images]
    titles = [axes.get_title() for axes in maps]
    assert titles == ["CE gap", "Regret", "Swap regret", "Payoff"]
    texts = [text.get_text() for text in maps[0].texts]
    assert (len(texts), texts.count("-")) == (9, 5)
    low, high = maps[1].images[0].get_clim()
    assert low == -high  # white is zero


def test_specs_names_and_user_defined_learners(x64):
    found = round_robin([Copycat(), "hedge(0.3)"], ["shapley", games.chicken(), "random(2, 2)"], 9)
    assert found.learners == ("Copycat()", "hedge(0.3)")
    assert found.games == ("shapley", "chicken", "random(2, 2)")
    assert not found.failures
    named = round_robin({"mine": Copycat(), "other": Copycat()}, {"it": "shapley"}, 9)
    np.testing.assert_allclose(
        named.values["regret"], found.values["regret"][0, 0, 0, 0], atol=1e-9
    )


def test_random_starts_leave_the_equilibrium(x64):
    """Learners that start at uniform never leave the equilibrium of Shapley's and Jordan's games."""
    learners = ["hedge(0.3)", "fictitious_play()"]
    still = round_robin(learners, ["shapley", "jordan"], 30, start="own")
    moved = round_robin(learners, ["shapley", "jordan"], 30, seeds=2)
    again = round_robin(learners[::-1], ["jordan"], 30, seeds=2)
    assert np.abs(still.values["regret"]).max() < ROUNDING
    assert (np.abs(moved.values["regret"]) > 1e-4).all()
    np.testing.assert_allclose(
        moved.values["payoff"][1], again.values["payoff"][0, ::-1, ::-1], atol=1e-9
    )


def test_tables_hold_every_match(tmp_path):
    found = round_robin(["uniform()", "hedge(0.3)"], ["chicken"], 4, seeds=2)
    rows = list(csv.DictReader(io.StringIO(found.to_csv(tmp_path / "it.csv"))))
    assert (tmp_path / "it.csv").read_text() == found.to_csv()
    assert len(rows) == 8
    assert rows[2]["opponent"] == "hedge(0.3)"
    assert float(rows[3]["payoff"]) == found.values["payoff"][0, 0, 1, 1]
    assert found.to_latex().count(r" \\") == 3


@pytest.mark.usefixtures("as_users_run_it")
def test_the_command_prints_and_plots(capsys, tmp_path, monkeypatch):
    picture = tmp_path / "map.svg"
    command = ["tournament", "--learners", "uniform", "exp3(0.1)", "--games", "chicken"]
    command += ["--rounds", "20", "--seeds", "1", "--plot", str(picture)]
    main([*command, "--json"])
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert err == ""
    assert np.shape(result["pairings"]["payoff"]) == (2, 2)
    assert set(result["by_game"]["chicken"]["overall"]) == set(MEASURES)
    assert b"<svg" in picture.read_bytes()
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    main(command)
    out, err = capsys.readouterr()
    assert "2 learners, 1 game, 20 rounds, 1 seed, random starts, sampled actions;" in out
    assert "games played" in err
