r"""Learning as a flow: from every start the way one round moves, a few orbits with their averages, equilibria.

A 2x2 game is drawn in the unit square, how likely each player is to take its first action. A 3x3 game is drawn in the
simplex of the first player, both players starting from the same point.
"""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure as AnyFigure

from regrax import _checks as checks
from regrax.games import Game, nash_equilibria, play, seated_learners
from regrax.learners import Learner
from regrax.show.plots._panels import (
    CORNERS,
    draw_nash,
    draw_triangle,
    known_nash,
    running_mean,
    thinned,
    title_of,
)
from regrax.show.plots._style import COLORS, axes_of, dress, in_math, short
from regrax.specs import as_game

Start = Sequence[Any]
"""A policy per player."""
STARTS = {
    2: [([0.1, 0.9], [0.2, 0.8]), ([0.85, 0.15], [0.1, 0.9]), ([0.5, 0.5], [0.9, 0.1])],
    3: [(three, three) for three in ([0.8, 0.1, 0.1], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4])],
}
"""Of the orbits, by the number of actions."""
MAX_ARROWS = 100
MARGIN = 0.04  # of the grid of starts from the border, where nothing can move away
ARROW = 0.75  # of the distance between two starts


def plot_phase(
    game: Game | str,
    learners: Learner | str | Sequence[Learner | str],
    *,
    rounds: int = 300,
    starts: Sequence[Start] | None = None,
    arrows: int = 15,
    ax: Axes | None = None,
) -> AnyFigure:
    r"""The phase portrait of learners in a 2x2 or 3x3 game.

    An arrow points from a start $(\pi_1, \pi_2)$ to what is played in round 2 from there; its colour is the length of
    that move. Orbits are the last iterates of `rounds` rounds, dashed lines their time averages.

    Args:
        game: two players with two actions each, or with three; or its spec.
        learners: one per seat, or one for both; or specs of them.
        rounds: how long the orbits are.
        starts: for every orbit a policy per player; by default three orbits from near the border.
        arrows: how many starts of the field stand in a row.
        ax: the matplotlib axes to draw in; by default those of a new figure.

    >>> figure = plot_phase("matching-pennies", "hedge(0.1)", rounds=50, arrows=5)
    >>> figure.axes[0].get_xlabel()
    'player 1: probability of heads'
    """
    game = as_game(game)
    checks.at_least("arrows", arrows, 2, MAX_ARROWS)
    if game.sizes not in ((2, 2), (3, 3)):
        raise ValueError(
            f"a phase portrait is of two players with 2 or 3 actions each, got sizes {game.sizes}"
        )
    learners, axes = seated_learners(game, learners), axes_of(ax, (5.4, 5.0))
    _draw_field(axes, game, learners, arrows)
    chosen = STARTS[game.sizes[0]] if starts is None else starts
    sides = [np.stack(side) for side in zip(*chosen, strict=True)]
    orbits = zip(*_play_from(game, learners, sides, rounds), strict=True)
    for index, policies in enumerate(orbits):
        _draw_orbit(axes, policies, index)
    nash = [profile.marginals for profile in known_nash(game) or nash_equilibria(game)]
    draw_nash(axes, list(map(_points, nash)), color="#000000", clip_on=False, zorder=5)
    _finish(axes, game)
    axes.set_title(title_of(game, learners, 60), fontsize="medium")
    return axes.figure  # pyright: ignore[reportReturnType]


def _points(policies: Sequence[Float[np.ndarray, "... d"]]) -> Float[np.ndarray, "... 2"]:
    """Where the policies of both players are drawn: two coordinates of them."""
    first, second = map(np.asarray, policies)
    square = first.shape[-1] == 2
    return np.stack([first[..., 0], second[..., 0]], -1) if square else first @ CORNERS


def _grid(actions: int, size: int) -> list[Float[np.ndarray, "G d"]]:
    """Starts that cover the plane, `size` in a row: the policies of both players."""
    if actions == 2:
        ticks = np.linspace(MARGIN, 1 - MARGIN, size)
        return [np.stack([x.ravel(), 1 - x.ravel()], 1) for x in np.meshgrid(ticks, ticks)]
    counts = [(i, j, size - 1 - i - j) for i in range(size) for j in range(size - i)]
    return 2 * [MARGIN / 3 + (1 - MARGIN) * np.array(counts) / (size - 1)]


def _play_from(
    game: Game, learners: Any, starts: Sequence[Float[np.ndarray, "S d"]], rounds: int
) -> list[Float[np.ndarray, "S T d"]]:
    """The policies of both players, from many starts at once: priors where every learner has one."""
    players = seated_learners(game, learners)
    has_priors = all(player.has_prior for player in players)

    def one(*start: Any) -> Any:
        if has_priors:
            return play(game, players, rounds, prior=start).policies
        return play(game, players, rounds, start=start).policies

    return [np.asarray(side) for side in jax.jit(jax.vmap(one))(*map(np.asarray, starts))]


def _draw_field(axes: Axes, game: Game, learners: Any, arrows: int) -> None:
    grid = _grid(game.sizes[0], arrows)
    second = [side[:, 1] for side in _play_from(game, learners, grid, 2)]
    here = _points(grid)
    moves = _points(second) - here
    lengths = np.linalg.norm(moves, axis=1, keepdims=True)
    unit = ARROW / (arrows - 1) * moves / np.where(lengths > 0, lengths, 1)
    axes.quiver(
        *here.T, *unit.T, lengths[:, 0], cmap="Greys", norm="linear", angles="xy",
        scale_units="xy", scale=1, width=0.004, clim=(-lengths.max() / 2, lengths.max() or 1),
    )  # fmt: skip


def _draw_orbit(axes: Axes, policies: Sequence[np.ndarray], index: int) -> None:
    color, points = COLORS[index % len(COLORS)], _points(policies)
    hidden = "_" * index  # only the first orbit is in the legend
    axes.plot(*thinned(points).T, color=color, lw=1.3, label=f"{hidden}last iterate")
    averages = thinned(_points([running_mean(side) for side in policies]))
    axes.plot(*averages.T, color=color, lw=1.2, ls="--", label=f"{hidden}time average")
    axes.plot(*points[0], "s", color=color, ms=5, label=f"{hidden}start")


def _finish(axes: Axes, game: Game) -> None:
    square = game.sizes == (2, 2)
    if square:
        dress(axes)
        axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        sides = zip(game.players, game.actions, strict=True)
        x, y = (in_math(f"{name}: probability of {short(labels[0])}") for name, labels in sides)
        axes.set(xlabel=x, ylabel=y)
    else:
        draw_triangle(axes, game.actions[0])
    below = (0.5, -0.11 if square else 0.04)
    look = {"frameon": False, "fontsize": "small", "columnspacing": 1.2, "handlelength": 1.4}
    axes.legend(loc="upper center", bbox_to_anchor=below, ncols=4 if square else 2, **look)
