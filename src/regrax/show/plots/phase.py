r"""Phase portraits: one-round moves from a grid of starts, some orbits with their averages, and equilibria.

A 2x2 game is drawn in the unit square, with the probability of each player's first action on an axis. A 3x3 game is
drawn in the first player's simplex, with both players starting from the same point.
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
from regrax.show.plots.panels import (
    CORNERS,
    draw_nash,
    draw_triangle,
    play_title,
    running_mean,
)
from regrax.show.plots.sheets import (
    COLORS,
    axes_or_new,
    dress,
    is_narrow,
    plain,
    short,
    styled,
    thinned,
)
from regrax.specs import as_game

Start = Sequence[Any]
"""One policy per player."""
STARTS = {
    2: [([0.1, 0.9], [0.2, 0.8]), ([0.85, 0.15], [0.1, 0.9]), ([0.5, 0.5], [0.9, 0.1])],
    3: [(policy, policy) for policy in ([0.8, 0.1, 0.1], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4])],
}
"""Default starting points of the orbits, by number of actions."""
MARGIN = 0.04  # distance between the arrows and the border, where policies cannot move
ARROW = 0.75  # length of an arrow, as a fraction of the distance between arrows


@styled()
def plot_phase(
    game: Game | str,
    learners: Learner | str | Sequence[Learner | str],
    *,
    rounds: int = 300,
    starts: Sequence[Start] | None = None,
    arrows: int = 15,
    ax: Axes | None = None,
) -> AnyFigure:
    r"""Plot the phase portrait of learners in a 2x2 or 3x3 game.

    An arrow points from a start $(\pi_1, \pi_2)$ towards the policies in round 2; its colour shows the length of the
    move. Solid lines are orbits of `rounds` rounds, dashed lines their time averages.

    Args:
        game: Two-player game with two or three actions each, or its spec.
        learners: One learner per player, or one for both, or their specs.
        rounds: Rounds of each orbit.
        starts: For each orbit, one policy per player; by default there are three orbits.
        arrows: Number of arrows along a side.
        ax: Axes to draw in; by default a new figure.

    >>> figure = plot_phase("matching-pennies", "hedge(0.1)", rounds=50, arrows=5)
    >>> figure.axes[0].get_xlabel()
    'player 1 plays heads'
    """
    game = as_game(game)
    checks.at_least("arrows", arrows, 2, 100)
    if game.sizes not in ((2, 2), (3, 3)):
        raise ValueError(
            f"a phase portrait needs two players with 2 or 3 actions each, got sizes {game.sizes}"
        )
    players = seated_learners(game, learners)
    is_square = game.sizes == (2, 2)
    share = 1.0 if is_narrow() else 0.6
    (axes,) = axes_or_new(ax, ["the portrait"], 1, [1.2 if is_square else 1.0], share)
    if is_square:
        ticks = np.linspace(MARGIN, 1 - MARGIN, arrows)
        grid = [np.stack([x.ravel(), 1 - x.ravel()], 1) for x in np.meshgrid(ticks, ticks)]
    else:
        counts = [(i, j, arrows - 1 - i - j) for i in range(arrows) for j in range(arrows - i)]
        grid = 2 * [MARGIN / 3 + (1 - MARGIN) * np.array(counts) / (arrows - 1)]
    tails, heads = _paths(game, players, grid, 2).swapaxes(0, 1)
    moves = heads - tails
    lengths = np.linalg.norm(moves, axis=1, keepdims=True)
    unit = ARROW / (arrows - 1) * moves / np.where(lengths > 0, lengths, 1)
    axes.quiver(
        *tails.T, *unit.T, lengths[:, 0], cmap="Greys", norm="linear", angles="xy",
        scale_units="xy", scale=1, width=0.004, clim=(-lengths.max() / 2, lengths.max() or 1),
    )  # fmt: skip
    chosen = STARTS[game.sizes[0]] if starts is None else starts
    sides = [np.stack(side) for side in zip(*chosen, strict=True)]
    for index, path in enumerate(_paths(game, players, sides, rounds)):
        color = COLORS[index % len(COLORS)]
        hidden = "_" * index  # keeps all orbits except the first out of the legend
        average = running_mean(path)
        axes.plot(*thinned(path).T, color=color, label=f"{hidden}last iterate")
        axes.plot(*thinned(average).T, color=color, ls="--", label=f"{hidden}time average")
        axes.plot(*path[0], "s", color=color, label=f"{hidden}start")
    nash = [_points(profile.marginals) for profile in nash_equilibria(game)]
    draw_nash(axes, nash, color="#000000", clip_on=False, zorder=5)
    pad = 3.4 if is_square else 0.2  # in ems, below the axis label
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0), borderaxespad=pad, ncols=2)
    axes.set_title(play_title(game, players, share))
    if is_square:
        dress(axes)
        pairs = zip(game.players, game.actions, strict=True)
        x, y = (plain(f"{name} plays {short(labels[0])}") for name, labels in pairs)
        axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel=x, ylabel=y)
        axes.set(xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
    else:
        draw_triangle(axes, game.actions[0])
    return axes.figure  # pyright: ignore[reportReturnType]


def _points(policies: Sequence[Float[Any, "... d"]]) -> Float[np.ndarray, "... 2"]:
    """Map the policies of both players to the plane."""
    first, second = map(np.asarray, policies)
    if first.shape[-1] == 2:
        return np.stack([first[..., 0], second[..., 0]], -1)
    return first @ CORNERS


def _paths(
    game: Game,
    players: Sequence[Learner],
    starts: Sequence[Float[np.ndarray, "S d"]],
    rounds: int,
) -> Float[np.ndarray, "S T 2"]:
    """Return the path of play from every start, which is used as a prior if every learner has one."""
    begin = "prior" if all(player.has_prior for player in players) else "start"

    def policies(*start: Any) -> Any:
        settings: dict[str, Any] = {begin: start}
        return play(game, players, rounds, **settings).policies

    return _points(jax.jit(jax.vmap(policies))(*starts))
