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
from regrax.learners import BanditLearner
from regrax.show.plots import animate, plot_gaps, plot_phase, plot_play, plot_tournament, style
from regrax.show.plots.panels import CORNERS
from regrax.specs import parse_learner, registered

TWO = ["hedge(0.1)", "uniform()"]
CURVES = ["Equilibrium gaps", "Regret"]
COSTS = games.Game(-games.chicken().payoffs, name="costs")


def panels(game, learners, rounds, **settings):
    """Return a figure of play and its axes by title."""
    figure = plot_play(game, learners, play(game, learners, rounds, **settings))
    return figure, {axes.get_title(): axes for axes in figure.axes if axes.get_title()}


def labels(axes):
    return [line.get_label() for line in axes.lines]


PANELS = [
    ("weighted-rps", TWO, [*CURVES, "player 1", "player 2", "Joint play"], "1 bound 2"),
    ("chicken", "blum_mansour(hedge(0.3))", [*CURVES, "Joint play"], "1, swap bound 2, swap bound"),
    ("jordan", "uniform()", CURVES, "1 2 3"),
    ("chicken", "exp3(0.1)", [*CURVES, "Joint play"], "1 2"),  # bounds need losses above zero
    (COSTS, "exp3(0.1)", [*CURVES, "Joint play"], "1 bound on mean 2 bound on mean"),
]


@pytest.mark.parametrize(("game", "learners", "titles", "lines"), PANELS)
def test_panels_and_curves_fit_the_game_and_the_learners(x64, game, learners, titles, lines):
    key = jax.random.key(0) if learners == "exp3(0.1)" else None
    _, shown = panels(game, learners, 20, key=key)
    assert list(shown) == titles
    found = " ".join(labels(shown["Regret"])).replace("player ", "")
    assert found == lines


def test_a_figure_of_play_has_labels_equilibria_and_a_bound(x64):
    game = games.weighted_rps()
    figure, shown = panels(game, TWO, 50)
    assert figure.get_suptitle() == "weighted-rps: Hedge, k = 0.1, against Uniform"
    gaps = shown["Equilibrium gaps"]
    assert (gaps.get_xlabel(), gaps.get_ylabel()) == ("round", "gap")
    assert (gaps.get_xscale(), gaps.get_yscale()) == ("log", "log")
    assert set(labels(gaps)) == {"Nash", "CCE", "CE", "Swap"}
    regret, bound = (line.get_ydata() for line in shown["Regret"].lines[:2])
    width = np.ptp(game.own(0).mean(1))  # a uniform opponent gives the same losses every round
    assert bound[-1] == pytest.approx(np.log(3) / 0.1 + width**2 / 8 * 0.1 * 50)
    assert (np.nan_to_num(regret) <= bound).all()
    simplex = shown["player 1"]
    assert [text.get_text() for text in simplex.texts] == ["rock", "paper", "scissors"]
    found = {line.get_label(): line.get_xydata() for line in simplex.lines}
    np.testing.assert_allclose(found["start"][0], CORNERS.mean(0))
    np.testing.assert_allclose(found["Nash"][0], np.array([3, 2, 1]) / 6 @ CORNERS)
    assert len(simplex.collections[0].get_segments()) == 49
    cells = [axes.get_subplotspec() for axes in figure.axes if axes.get_subplotspec()]
    rows, columns = cells[0].get_gridspec().get_geometry()
    assert sum(len(cell.colspan) * len(cell.rowspan) for cell in cells) == rows * columns
    assert figure._repr_png_().startswith(b"\x89PNG")


EXAMPLES = [text for entry in registered("learner").values() for text in entry.examples]
LEARNERS = {text: parse_learner(text) for text in EXAMPLES if "ball" not in text}
BOUNDED = [text for text in LEARNERS if LEARNERS[text].bound(3, 20) is not None]
BANDIT = [text for text in BOUNDED if isinstance(LEARNERS[text], BanditLearner)]
STARTS = ("random(1)", "random(5)", [0.0, 0.001, 0.999])
PRIORS = ("random(1)", [0.001, 0.001, 0.998])
BEGUN = [(text, "start", STARTS) for text in BOUNDED if text not in BANDIT]
BEGUN += [
    (f"{text}(0.5)", "prior", PRIORS) for text in ("hedge", "optimistic_hedge", "euclidean_ftrl")
]


def drawn_regrets(game, learner, **settings):
    """Return the regret and the bound of each player that has one, as they are plotted."""
    _, shown = panels(game, learner, 60, **settings)
    return [
        [np.nan_to_num(line.get_ydata()), bound.get_ydata()]
        for line, bound in pairwise(shown["Regret"].lines)
        if "bound" in bound.get_label()
    ]


@pytest.mark.parametrize(("text", "begin", "values"), BEGUN)
def test_regret_is_below_its_bound(x64, text, begin, values):
    for value in values:
        curves = drawn_regrets(games.shapley(), text, **{begin: [value, value]})
        assert len(curves) == 2
        for regret, bound in curves:
            assert (regret <= bound + 1e-9).all(), value


@pytest.mark.slow
@pytest.mark.parametrize("text", BANDIT)
def test_mean_regret_of_bandits_is_below_its_bound(x64, text):
    payoffs = games.shapley().payoffs
    costs = games.Game(payoffs - payoffs.max())
    start = [np.random.default_rng(0).dirichlet(np.ones(3))] * 2
    keys = jax.random.split(jax.random.key(0), 200)
    curves = np.array([drawn_regrets(costs, text, start=start, key=key) for key in keys])
    assert curves.shape[1:3] == (2, 2)
    for regret, bound in curves.mean(0):
        assert (regret <= bound).all()


def test_joint_play_of_two_players_shows_numbers(x64):
    axes = panels("chicken", "uniform()", 3)[1]["Joint play"]
    assert [text.get_text() for text in axes.texts] == ["0.250"] * 4
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("player 1", "player 2")
    np.testing.assert_allclose(axes.images[0].get_array(), 0.25)


def test_hard_data_and_names_are_drawn_without_a_warning(x64, tmp_path):
    names = {"name": "$x", "players": ["$", "a$b"], "actions": [["$", "_"]] * 2}
    dollars = games.Game(games.chicken().payoffs, **names)
    for game, rounds in (("matching-pennies", 1), (games.coordination(1), 5), (dollars, 2)):
        figure, shown = panels(game, "uniform()", rounds)
        figure.savefig(tmp_path / "play.png")
        is_zero = shown["Equilibrium gaps"].texts[0].get_text() == "never above zero"
        assert is_zero == (game is not dollars)


def test_long_curves_are_thinned_but_whole():
    (axes,) = plot_gaps({"ce_gap": np.ones(100_000)}).axes
    rounds = axes.lines[0].get_xdata()
    assert len(rounds) <= 1500
    assert [rounds[0], rounds[-1]] == [1, 100_000]


def test_hedge_circles_the_equilibrium_of_matching_pennies(x64):
    """Hedge moves clockwise, at right angles to the direction of the equilibrium."""
    (axes,) = plot_phase("matching-pennies", "hedge(0.1)", rounds=20, arrows=5).axes
    (field,) = [drawn for drawn in axes.collections if isinstance(drawn, Quiver)]
    away = np.stack([field.X, field.Y], 1) - 0.5
    turned = away[:, 0] * field.V - away[:, 1] * field.U
    middle = np.abs(away).max(1) < 0.01
    assert (turned[~middle] < 0).all()
    assert axes.get_xlabel() == "player 1 plays heads"
    assert axes.get_ylabel() == "player 2 plays heads"


@pytest.mark.parametrize("learner", ["hedge(0.2)", "regret_matching()"])
def test_orbits_start_as_given_and_follow_play(x64, learner):
    start = [[0.2, 0.3, 0.5], [0.2, 0.3, 0.5]]
    figure = plot_phase("weighted-rps", learner, rounds=30, starts=[start], arrows=4)
    lines = {line.get_label(): line.get_xydata() for line in figure.axes[0].lines}
    policies = np.asarray(play("weighted-rps", learner, 30, prior=start).policies[0])
    ends = policies[[0, -1]] @ CORNERS
    np.testing.assert_allclose(lines["last iterate"][[0, -1]], ends, atol=1e-6)
    np.testing.assert_allclose(lines["time average"][-1], policies.mean(0) @ CORNERS)


def test_figures_use_given_axes(x64):
    figure = Figure()
    left, right, *axes = figure.subplots(1, 12)
    assert plot_phase("chicken", "hedge(0.1)", rounds=5, arrows=3, ax=left) is figure
    assert plot_gaps({"cce_gap": np.array([0.5, 0.25])}, ax=right) is figure
    played = play("weighted-rps", TWO, 5)
    assert plot_play("weighted-rps", TWO, played, axes=axes[:5]) is figure
    assert animate(played, frames=2, axes=axes[5:7]).figure is figure
    assert plot_tournament(round_robin(TWO, ["chicken"], 3), axes=axes[7:]) is figure
    with pytest.raises(ValueError, match="5 matplotlib axes, for Equilibrium gaps, Regret, player"):
        plot_play("weighted-rps", TWO, played, axes=axes[:2])


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
    learners = ["hedge(0.3)", "regret_matching()"]
    found = round_robin(["blum_mansour(hedge(0.3))", "uniform()"], ["chicken"], 3)
    drawn = [
        panels("weighted-rps", learners, 1000)[0],
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


def test_maps_of_a_tournament_are_square_and_do_not_overlap(x64):
    learners = [
        "hedge(0.1)",
        "blum_mansour(hedge(0.3))",
        *(f"hedge({k / 9:.2f})" for k in range(4, 9)),
    ]
    figure = plot_tournament(round_robin(learners, ["chicken"], 3), "cce_gap")
    texts(figure)
    boxes = [axes.get_window_extent() for axes in figure.axes]
    assert len(boxes) == 4
    for box in boxes:
        assert box.width == pytest.approx(box.height)
    for box, other in combinations([axes.get_tightbbox() for axes in figure.axes], 2):
        assert not box.overlaps(other)


def test_labels_at_the_ends_of_lines_do_not_overlap(x64, printed):
    figure, axes = panels("chicken", "hedge(0.1)", 100)
    shown = [text for text in texts(figure) if text in axes["Regret"].texts]
    assert sorted(text.get_text() for text in shown) == ["bound", "bound", "player 1", "player 2"]
    assert all(text.get_position()[1] < 1.001 for text in shown), "a label is above the axes"
    for text, other in combinations(shown, 2):
        assert not text.get_window_extent().overlaps(other.get_window_extent())


def test_a_style_sets_width_and_type_for_all_figures():
    gaps = {"cce_gap": np.array([0.5, 0.25])}
    with matplotlib.rc_context():
        style("paper", width=6.75)
        assert matplotlib.rcParams["font.size"] == 8
        assert plot_gaps(gaps).get_figwidth() == 6.75
    assert plot_gaps(gaps).get_figwidth() == 8
    with pytest.raises(ValueError, match="one of paper, slides, screen, got 'poster'"):
        style("poster")


def test_corners_and_axes_are_those_of_the_explorer():
    """The explorer puts actions 1, 2, 3 at the left, the right and the top."""
    left, right, top = CORNERS
    assert left[0] < top[0] < right[0]
    assert left[1] == right[1] < top[1]


def test_phase_portraits_need_small_games():
    with pytest.raises(ValueError, match=r"2 or 3 actions each, got sizes \(2, 3\)"):
        plot_phase("random(2, 3)", "hedge(0.1)")


def test_an_animation_moves_and_is_saved(tmp_path):
    start = [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]]
    moving = animate(play("shapley", "fictitious_play()", 40, start=start), frames=4, seconds=1)
    for name in ("play.gif", "play.html"):
        moving.save(tmp_path / name)
    with Image.open(tmp_path / "play.gif") as picture:
        frames = [frame.convert("RGB").tobytes() for frame in ImageSequence.Iterator(picture)]
    assert len(frames) == len(set(frames)) == 4
    page = (tmp_path / "play.html").read_text()
    assert "<img" in page
    assert "http" not in page  # the page loads nothing
    assert "fa-" not in page
    with pytest.raises(ValueError, match=r"must end in .gif, .html, .mp4, got"):
        moving.save(tmp_path / "play.avi")


@pytest.mark.parametrize("known", [True, False])
def test_an_animation_of_other_sizes_has_bars_with_the_names_of_the_game(known):
    game = games.Game(np.zeros((2, 2, 4)), players=("row", "column"))
    played = play(game, "hedge(0.1)", 10)
    moving = animate(played if known else jax.tree.map(np.asarray, played), frames=2)
    titles = [axes.get_title() for axes in moving.figure.axes]
    assert titles == (["row", "column"] if known else ["player 1", "player 2"])
