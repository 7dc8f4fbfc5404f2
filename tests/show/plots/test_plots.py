"""Figures: labelled axes, a line per gap, bounds above regret, simplices, joint play, animations."""

from itertools import combinations, pairwise

import jax
import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.quiver import Quiver
from matplotlib.text import Text
from PIL import Image, ImageSequence

from regrax import games
from regrax.experiments.tournament import round_robin
from regrax.games import play
from regrax.learners import (
    BanditLearner,
    BlumMansour,
    Exp3,
    FollowTheLeader,
    Hedge,
    RegretMatching,
    Uniform,
)
from regrax.show.plots import animate, plot_gaps, plot_phase, plot_play, plot_tournament, style
from regrax.show.plots.panels import CORNERS
from regrax.show.plots.sheets import MAX_CURVE_POINTS, shown_rounds
from regrax.specs import parse_learner, registered


def panels(game, learners, rounds, key=None):
    seats = learners * len(game.sizes) if len(learners) == 1 else learners
    figure = plot_play(game, seats, play(game, seats, rounds, key=key))
    return {axes.get_title(): axes for axes in figure.axes if axes.get_title()}, figure


def test_a_game_of_three_actions_has_every_panel(x64):
    shown, figure = panels(games.weighted_rps(), [Hedge(0.1), Uniform()], 50)
    assert list(shown) == ["Equilibrium gaps", "Regret", "player 1", "player 2", "Joint play"]
    assert figure.get_suptitle() == "weighted-rps: Hedge, k = 0.1, against Uniform"
    gaps = shown["Equilibrium gaps"]
    assert (gaps.get_xlabel(), gaps.get_ylabel()) == ("round", "gap")
    assert (gaps.get_xscale(), gaps.get_yscale()) == ("log", "log")
    assert {line.get_label() for line in gaps.lines} == {"Nash", "CCE", "CE", "Swap"}
    assert shown["Regret"].get_ylabel() == "regret so far"
    assert [line.get_label() for line in shown["Regret"].lines] == [
        "player 1",
        "bound",
        "player 2",
    ]


def test_the_bound_of_the_learner_is_above_its_regret(x64):
    game = games.weighted_rps()
    shown, _ = panels(game, [Hedge(0.1), Uniform()], 50)
    regret, bound = (line.get_ydata() for line in shown["Regret"].lines[:2])
    width = np.ptp(game.own(0).mean(1))  # a uniform opponent gives the same losses every round
    assert bound[-1] == pytest.approx(np.log(3) / 0.1 + width**2 / 8 * 0.1 * 50)
    assert (np.nan_to_num(regret) <= bound).all()


EXAMPLES = [
    text
    for entry in registered("learner").values()
    for text in entry.examples
    if "ball" not in text
]
BOUNDED = [text for text in EXAMPLES if parse_learner(text).bound(3, 20) is not None]
BANDIT = [text for text in BOUNDED if isinstance(parse_learner(text), BanditLearner)]


def drawn_regrets(game, learner, start, key=None, begin="start"):
    """Return the regret and the bound of each player that has one, as they are plotted."""
    played = play(game, learner, 60, key=key, **{begin: [start] * len(game.sizes)})
    titled = {axes.get_title(): axes for axes in plot_play(game, learner, played).axes}
    lines = titled["Regret"].lines
    return [
        [np.nan_to_num(line.get_ydata()), bound.get_ydata()]
        for line, bound in pairwise(lines)
        if "bound" in bound.get_label()
    ]


@pytest.mark.parametrize("text", [text for text in BOUNDED if text not in BANDIT])
def test_regret_is_below_its_bound(x64, text):
    for start in ("random(1)", "random(5)", [0.0, 0.001, 0.999]):
        curves = drawn_regrets(games.shapley(), text, start)
        assert len(curves) == 2
        for regret, bound in curves:
            assert (regret <= bound + 1e-9).all(), start


@pytest.mark.parametrize("text", ["hedge(0.5)", "optimistic_hedge(0.5)", "euclidean_ftrl(0.5)"])
def test_regret_from_a_prior_is_below_its_bound(x64, text):
    for prior in ("random(1)", [0.001, 0.001, 0.998]):
        curves = drawn_regrets(games.shapley(), text, prior, begin="prior")
        assert curves
        for regret, bound in curves:
            assert (regret <= bound + 1e-9).all(), prior


@pytest.mark.slow
@pytest.mark.parametrize("text", BANDIT)
def test_mean_regret_of_bandits_is_below_its_bound(x64, text):
    payoffs = games.shapley().payoffs
    costs = games.Game(payoffs - payoffs.max())
    start = np.random.default_rng(0).dirichlet(np.ones(3))
    keys = jax.random.split(jax.random.key(0), 200)
    curves = np.array([drawn_regrets(costs, text, start, key) for key in keys])
    assert curves.shape[1:3] == (2, 2)
    for regret, bound in curves.mean(0):
        assert (regret <= bound).all()


def test_swap_learners_show_swap_regret(x64):
    shown, _ = panels(games.chicken(), [BlumMansour(Hedge(0.3))], 20)
    assert shown["Regret"].lines[0].get_label() == "player 1, swap"
    assert "player 1" not in shown


def test_bandit_bounds_need_losses_above_zero(x64):
    key = jax.random.key(0)
    shown, _ = panels(games.chicken(), [Exp3(0.1)], 20, key)
    assert [line.get_label() for line in shown["Regret"].lines] == ["player 1", "player 2"]
    costs = games.Game(-games.chicken().payoffs, actions=games.chicken().actions, name="chicken")
    shown, _ = panels(costs, [Exp3(0.1)], 20, key)
    assert len(shown["Regret"].lines) == 4


def test_the_simplex_has_corners_and_the_equilibrium(x64):
    shown, _ = panels(games.weighted_rps(), [Hedge(0.1), Uniform()], 50)
    axes = shown["player 1"]
    assert [text.get_text() for text in axes.texts] == ["rock", "paper", "scissors"]
    found = {line.get_label(): line.get_xydata() for line in axes.lines}
    np.testing.assert_allclose(found["start"][0], CORNERS.mean(0))
    np.testing.assert_allclose(found["Nash"][0], np.array([3, 2, 1]) / 6 @ CORNERS)
    assert len(axes.collections[0].get_segments()) == 49


def test_joint_play_of_two_players_shows_numbers(x64):
    shown, _ = panels(games.chicken(), [Uniform()], 3)
    axes = shown["Joint play"]
    assert [text.get_text() for text in axes.texts] == ["0.250"] * 4
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("player 1", "player 2")
    np.testing.assert_allclose(axes.images[0].get_array(), 0.25)


def test_three_players_have_no_panel_of_joint_play(x64):
    shown, _ = panels(games.jordan(), [Uniform()], 3)
    assert list(shown) == ["Equilibrium gaps", "Regret"]


def test_one_round_and_zero_gaps_give_no_warning(x64, tmp_path):
    _, figure = panels(games.matching_pennies(), [Uniform()], 1)
    figure.savefig(tmp_path / "one.png")
    shown, figure = panels(games.coordination(1), [Uniform()], 5)
    figure.savefig(tmp_path / "none.png")
    assert shown["Equilibrium gaps"].texts[0].get_text() == "never above zero"


def test_names_may_have_dollar_signs(x64, tmp_path):
    game = games.Game(
        games.chicken().payoffs, name="$x", players=["$", "a$b"], actions=[["$", "_"]] * 2
    )
    panels(game, [Uniform()], 2)[1].savefig(tmp_path / "it.png")


def test_long_curves_are_thinned():
    assert (
        len(plot_gaps({"ce_gap": np.ones(100_000)}).axes[0].lines[0].get_xdata())
        <= MAX_CURVE_POINTS
    )
    assert shown_rounds(100_000)[[0, -1]].tolist() == [1, 100_000]


def test_hedge_circles_the_equilibrium_of_matching_pennies(x64):
    """Hedge moves clockwise, at right angles to the direction of the equilibrium."""
    figure = plot_phase(games.matching_pennies(), Hedge(0.1), rounds=20, arrows=5)
    (axes,) = figure.axes
    (field,) = [drawn for drawn in axes.collections if isinstance(drawn, Quiver)]
    away = np.stack([field.X, field.Y], 1) - 0.5
    turned = away[:, 0] * field.V - away[:, 1] * field.U
    middle = np.abs(away).max(1) < 0.01
    assert (turned[~middle] < 0).all()
    assert (axes.get_xlabel(), axes.get_ylabel()) == (
        "player 1 plays heads",
        "player 2 plays heads",
    )


@pytest.mark.parametrize("learner", [Hedge(0.2), RegretMatching()], ids=str)
def test_orbits_start_as_given_and_follow_play(x64, learner):
    start = [[0.2, 0.3, 0.5], [0.2, 0.3, 0.5]]
    game = games.weighted_rps()
    figure = plot_phase(game, learner, rounds=30, starts=[start], arrows=4)
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    played = play(game, learner, 30, prior=start)
    points = np.asarray(played.policies[0]) @ CORNERS
    drawn = np.stack(lines["last iterate"].get_data(), 1)
    np.testing.assert_allclose(drawn[[0, -1]], points[[0, -1]], atol=1e-6)
    average = np.asarray(played.policies[0]).mean(0) @ CORNERS
    np.testing.assert_allclose([axis[-1] for axis in lines["time average"].get_data()], average)


def test_figures_use_given_axes_and_display_in_notebooks(x64):
    figure = Figure()
    left, right, *axes = figure.subplots(1, 12)
    assert plot_phase(games.chicken(), Hedge(0.1), rounds=5, arrows=3, ax=left) is figure
    assert plot_gaps({"cce_gap": np.array([0.5, 0.25])}, ax=right) is figure
    game = games.weighted_rps()
    played = play(game, Hedge(0.1), 5)
    assert plot_play(game, Hedge(0.1), played, axes=axes[:5]) is figure
    assert animate(played, game, frames=2, axes=axes[5:7]).figure is figure
    found = round_robin([Uniform(), Hedge(0.1)], ["chicken"], 3)
    assert plot_tournament(found, axes=axes[7:]) is figure
    with pytest.raises(ValueError, match="5 matplotlib axes, for Equilibrium gaps, Regret, player"):
        plot_play(game, Hedge(0.1), played, axes=axes[:2])
    assert plot_play(game, Hedge(0.1), played)._repr_png_().startswith(b"\x89PNG")


@pytest.fixture
def printed():
    """Matplotlib's settings for a column of a paper."""
    with matplotlib.rc_context():
        style("paper")
        yield


def texts(figure):
    """Return the visible texts of a figure after layout."""
    figure.draw_without_rendering()
    return [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]


def test_paper_figures_fit_a_column_in_8_point_type(x64, printed):
    game = games.weighted_rps()
    learners = [Hedge(0.3), RegretMatching()]
    found = round_robin([BlumMansour(Hedge(0.3)), Uniform()], ["chicken"], 3)
    drawn = [
        plot_play(game, learners, play(game, learners, 1000)),
        plot_phase("matching-pennies", "optimistic_hedge(0.3)", rounds=20, arrows=4),
        plot_tournament(found),
    ]
    for figure in drawn:
        assert figure.get_figwidth() == 3.25
        assert all(6.5 < text.get_size() <= 8 for text in texts(figure))
        box = figure.get_tightbbox()
        assert box.x0 > -0.02
        assert box.x1 < 3.27
    names = [label.get_text() for label in drawn[2].axes[0].get_yticklabels()]
    assert "Blum-Mansour with\nHedge, k = 0.3" in names


def test_labels_at_the_ends_of_lines_do_not_overlap(x64, printed):
    game = games.chicken()
    figure = plot_play(game, Hedge(0.1), play(game, Hedge(0.1), 100))
    regret = figure.axes[1]
    shown = [text for text in texts(figure) if text in regret.texts]
    assert sorted(text.get_text() for text in shown) == ["bound", "bound", "player 1", "player 2"]
    assert all(text.get_position()[1] < 1.001 for text in shown), "a label is above the axes"
    for one, other in combinations(shown, 2):
        assert not one.get_window_extent().overlaps(other.get_window_extent())


def test_a_style_sets_width_and_type_for_all_figures():
    with matplotlib.rc_context():
        style("paper", width=6.75)
        assert matplotlib.rcParams["font.size"] == 8
        figure = plot_gaps({"cce_gap": np.array([0.5, 0.25])})
        assert figure.get_figwidth() == 6.75
    assert plot_gaps({"cce_gap": np.array([0.5, 0.25])}).get_figwidth() == 8
    with pytest.raises(
        ValueError, match="style must be one of paper, slides, screen, got 'poster'"
    ):
        style("poster")


def test_rows_of_panels_have_no_empty_slot(x64):
    figure = plot_play("weighted-rps", "hedge(0.1)", play("weighted-rps", "hedge(0.1)", 5))
    cells = [axes.get_subplotspec() for axes in figure.axes if axes.get_subplotspec()]
    rows, columns = cells[0].get_gridspec().get_geometry()
    assert sum(len(cell.colspan) * len(cell.rowspan) for cell in cells) == rows * columns


def test_corners_and_axes_are_those_of_the_explorer():
    """The explorer puts actions 1, 2, 3 at the left, the right and the top."""
    left, right, top = CORNERS
    assert left[0] < top[0] < right[0]
    assert left[1] == right[1] < top[1]


def test_phase_portraits_need_small_games():
    with pytest.raises(ValueError, match=r"2 or 3 actions each, got sizes \(2, 3\)"):
        plot_phase(games.random(2, 3), Hedge(0.1))


def test_an_animation_moves_and_is_saved(tmp_path):
    game = games.shapley()
    played = play(game, FollowTheLeader(), 40, start=[[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]])
    moving = animate(played, game, frames=4, seconds=1)
    for name in ("play.gif", "play.html"):
        moving.save(tmp_path / name)
    with Image.open(tmp_path / "play.gif") as picture:
        assert picture.n_frames == 4
        pictures = {frame.convert("RGB").tobytes() for frame in ImageSequence.Iterator(picture)}
    assert len(pictures) == 4
    page = (tmp_path / "play.html").read_text()
    assert "<img" in page
    assert "http" not in page  # the page loads nothing
    assert "fa-" not in page
    with pytest.raises(ValueError, match=r"must end in .gif, .html, .mp4, got"):
        moving.save(tmp_path / "play.avi")


def test_an_animation_of_other_sizes_has_bars():
    moving = animate(play(games.random(2, 4), Hedge(0.1), 10), frames=2)
    titles = [axes.get_title() for axes in moving.figure.axes]
    assert titles == ["player 1", "player 2"]
