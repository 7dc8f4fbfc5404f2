r"""Learning as a flow: from every start the way one round moves, a few orbits with their averages, equilibria.

A 2x2 game is drawn in the unit square, how likely each player is to take its first action. A 3x3 game is drawn in the
simplex of the first player, both players starting from the same point.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure as AnyFigure

from regrax.games import CorrelatedProfile, Game, nash_equilibria, play, seated_learners
from regrax.learners import Learner, spec
from regrax.show.plots._panels import CORNERS, draw_path, name_corners
from regrax.show.plots._style import COLORS, axes_of, dress, in_math, short
from regrax.specs import as_game

Start = Sequence[Any]
"""A policy per player."""
MARGIN = 0.04  # of the grid of starts from the border, where nothing can move away
ARROW = 0.75  # of the distance between two starts


class Plane(NamedTuple):
    """Where joint policies are drawn: two coordinates of the players' policies."""

    square: bool

    def points(self, policies: Sequence[Float[np.ndarray, "... d"]]) -> Float[np.ndarray, "... 2"]:
        """The points of the policies of both players."""
        if self.square:
            return np.stack([np.asarray(policies[0])[..., 0], np.asarray(policies[1])[..., 0]], -1)
        return np.asarray(policies[0]) @ CORNERS

    def grid(self, size: int) -> list[Float[np.ndarray, "G d"]]:
        """Starts that cover the plane, `size` in a row: the policies of both players."""
        ticks = np.linspace(MARGIN, 1 - MARGIN, size)
        if self.square:
            x, y = (side.ravel() for side in np.meshgrid(ticks, ticks))
            return [np.stack([x, 1 - x], 1), np.stack([y, 1 - y], 1)]
        counts = [(i, j, size - 1 - i - j) for i in range(size) for j in range(size - i)]
        inside = MARGIN / 3 + (1 - MARGIN) * np.array(counts) / (size - 1)
        return [inside, inside]


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
    learners, plane = seated_learners(game, learners), _plane(game)
    axes = axes_of(ax, (5.4, 5.0))
    _draw_field(axes, game, learners, plane, arrows)
    chosen = _default_starts(plane) if starts is None else starts
    orbits = _play_from(
        game, learners, [np.stack(side) for side in zip(*chosen, strict=True)], rounds
    )
    for index in range(len(chosen)):
        _draw_orbit(axes, plane, [side[index] for side in orbits], index)
    _draw_equilibria(axes, game, plane)
    _finish(axes, game, plane)
    names = dict.fromkeys(map(spec, learners))
    axes.set_title(in_math(f"{game}: {short(' against '.join(names), 60)}"), fontsize="medium")
    return axes.figure  # pyright: ignore[reportReturnType]


def _plane(game: Game) -> Plane:
    if game.sizes not in ((2, 2), (3, 3)):
        raise ValueError(
            f"a phase portrait is of two players with 2 or 3 actions each, got sizes {game.sizes}"
        )
    return Plane(game.sizes == (2, 2))


def _default_starts(plane: Plane) -> list[Start]:
    if plane.square:
        pairs = [(0.1, 0.2), (0.85, 0.1), (0.5, 0.9)]
        return [([x, 1 - x], [y, 1 - y]) for x, y in pairs]
    threes = [[0.8, 0.1, 0.1], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]]
    return [(np.array(three), np.array(three)) for three in threes]


def _play_from(
    game: Game, learners: Any, starts: Sequence[Float[np.ndarray, "S d"]], rounds: int
) -> list[Float[np.ndarray, "S T d"]]:
    """The policies of both players, from many starts at once."""

    def one(*start: Any) -> Any:
        return play(game, learners, rounds, start=start).policies

    return [np.asarray(side) for side in jax.jit(jax.vmap(one))(*map(np.asarray, starts))]


def _draw_field(axes: Axes, game: Game, learners: Any, plane: Plane, arrows: int) -> None:
    grid = plane.grid(arrows)
    second = [side[:, 1] for side in _play_from(game, learners, grid, 2)]
    here, there = plane.points(grid), plane.points(second)
    moves = there - here
    lengths = np.linalg.norm(moves, axis=1, keepdims=True)
    unit = ARROW / (arrows - 1) * moves / np.where(lengths > 0, lengths, 1)
    axes.quiver(
        *here.T, *unit.T, lengths[:, 0], cmap="Greys", norm="linear", angles="xy",
        scale_units="xy", scale=1, width=0.004, clim=(-lengths.max() / 2, lengths.max() or 1),
    )  # fmt: skip


def _draw_orbit(axes: Axes, plane: Plane, policies: Sequence[np.ndarray], index: int) -> None:
    color = COLORS[index % len(COLORS)]
    averages = [side.cumsum(0) / np.arange(1, len(side) + 1)[:, None] for side in policies]
    points = plane.points(policies)
    first = index == 0
    draw_path(axes, points, color=color, linewidth=1.3, label="last iterate" if first else "_")
    draw_path(
        axes, plane.points(averages), color=color, linewidth=1.2, linestyle="--",
        label="time average" if first else "_",
    )  # fmt: skip
    axes.plot(*points[0], marker="s", color=color, ls="", ms=5, label="start" if first else "_")


def _draw_equilibria(axes: Axes, game: Game, plane: Plane) -> None:
    known = [one.joint(game.sizes) for one in game.equilibria if one.concept == "nash"]
    profiles = [CorrelatedProfile(joint, game) for joint in known] or nash_equilibria(game)
    for index, profile in enumerate(profiles):
        point = plane.points([np.asarray(side) for side in profile.marginals])
        label = "Nash" if index == 0 else "_"
        look = {"marker": "*", "ms": 13, "mec": "white", "clip_on": False, "zorder": 5}
        axes.plot(*point, color="#000000", ls="", label=label, **look)


def _finish(axes: Axes, game: Game, plane: Plane) -> None:
    if plane.square:
        dress(axes)
        axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        for name, player, set_label in zip(
            game.players, game.actions, (axes.set_xlabel, axes.set_ylabel), strict=True
        ):
            set_label(in_math(f"{name}: probability of {short(player[0])}"))
    else:
        axes.plot(*np.vstack([CORNERS, CORNERS[:1]]).T, color="#888888", linewidth=1.0)
        name_corners(axes, game.actions[0])
    below = (0.5, -0.11 if plane.square else 0.04)
    look = {"frameon": False, "fontsize": "small", "columnspacing": 1.2, "handlelength": 1.4}
    axes.legend(loc="upper center", bbox_to_anchor=below, ncols=4 if plane.square else 2, **look)
