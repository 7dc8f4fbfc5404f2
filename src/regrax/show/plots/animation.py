"""Animations of play: every player's policy and its average, round by round."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.animation import FuncAnimation
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from regrax import _checks as checks
from regrax.games import Game, Trajectory
from regrax.show.plots.panels import CORNERS, draw_triangle, running_mean
from regrax.show.plots.sheets import (
    COLORS,
    axes_or_new,
    plain,
    short,
    styled,
    thinned,
)
from regrax.specs import as_game

WRITERS = {".gif": "pillow", ".html": None, ".mp4": "ffmpeg"}
MAX_PANELS = 4
ICONS = {
    "minus": "-", "fast-backward": "&laquo;", "step-backward": "&lsaquo;", "play fa-flip-horizontal": "◀",
    "pause": "‖", "play": "▶", "step-forward": "&rsaquo;", "fast-forward": "&raquo;", "plus": "+",
}  # fmt: skip
"""Characters that replace the icons that matplotlib's HTML loads from the network."""
_ICON = re.compile(r'<i class="fa fa-([\w -]+)"></i>')
_STYLESHEET = re.compile(r'<link rel="stylesheet"\s+href="https?:[^>]*>')

Update = Callable[[int], None]


class Animation(NamedTuple):
    """An animation that notebooks display and that can be saved as GIF, MP4 or HTML.

    Attributes:
        figure: Figure to draw on.
        draw: Function that draws a frame.
        frames: Number of frames.
        frames_per_second: Frame rate.
    """

    figure: Figure
    draw: Update
    frames: int
    frames_per_second: int

    def save(self, file: str | Path) -> None:
        """Write the animation in the format of the file's suffix; MP4 requires ffmpeg."""
        file = Path(file)
        if file.suffix.lower() not in WRITERS:
            raise ValueError(f"an animation file must end in {', '.join(WRITERS)}, got {file}")
        writer = WRITERS[file.suffix.lower()]
        if writer is None:
            file.write_text(self._repr_html_(), "utf-8")
        else:
            self._matplotlib().save(file, writer=writer, fps=self.frames_per_second)

    def _repr_html_(self) -> str:
        page = self._matplotlib().to_jshtml(fps=self.frames_per_second)
        return _ICON.sub(lambda icon: ICONS.get(icon[1], icon[1]), _STYLESHEET.sub("", page))

    def _matplotlib(self) -> FuncAnimation:
        # an empty list of artists makes matplotlib draw the entire figure
        return FuncAnimation(self.figure, lambda at: self.draw(at) or [], frames=self.frames)


@styled()
def animate(
    trajectory: Trajectory,
    game: Game | str | None = None,
    *,
    frames: int = 100,
    seconds: float = 6.0,
    axes: Any = None,
) -> Animation:
    r"""Animate every player's policy $\pi_t$ and its average so far, in the simplex if there are three actions.

    Args:
        trajectory: Result of `play`.
        game: Game or its spec, which names the players and actions; by default the game that was played.
        frames: Number of frames, spread evenly over the rounds.
        seconds: Length of the animation.
        axes: List or array of matplotlib axes, one per player (at most four); by default a new figure.

    >>> from regrax.games import play
    >>> moving = animate(play("weighted-rps", "hedge(0.3)", 20), "weighted-rps", frames=5)
    >>> moving.frames_per_second
    1
    """
    checks.instance("trajectory", trajectory, Trajectory, "the result of play")
    checks.at_least("frames", frames, 1)
    checks.positive("seconds", seconds)
    if game is None:
        game = trajectory.game
    if game is None:
        game = Game(np.zeros((trajectory.joint.ndim, *trajectory.joint.shape)))
    game = as_game(game)
    rounds = np.unique(np.linspace(1, trajectory.rounds, frames).round().astype(int))
    names = game.players[:MAX_PANELS]
    panels = axes_or_new(axes, names, len(names), [min(1.05 / len(names), 0.6)])
    updates = []
    for panel, name, actions, own in zip(
        panels, names, game.actions, trajectory.policies, strict=False
    ):
        panel.set_title(plain(short(name, 30)))
        draw_panel = _simplex if len(actions) == 3 else _bars
        updates.append(draw_panel(panel, np.asarray(own), list(map(short, actions))))
    figure: Any = panels[0].figure

    def draw(frame: int) -> None:
        for update in updates:
            update(int(rounds[frame]))
        figure.suptitle(f"round {rounds[frame]}")

    draw(0)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # laying out a frame takes longer than drawing it
    return Animation(figure, draw, len(rounds), max(round(len(rounds) / seconds), 1))


def _simplex(axes: Axes, policies: np.ndarray, labels: list[str]) -> Update:
    draw_triangle(axes, labels)
    points = policies @ CORNERS
    averages = running_mean(points)
    (path,) = axes.plot([], [], color=COLORS[0], label="policy")
    (mean,) = axes.plot([], [], color=COLORS[1], label="average")
    (head,) = axes.plot([], [], marker="o", color="#000000")
    axes.legend(loc="upper left")

    def update(played: int) -> None:
        path.set_data(*thinned(points[:played]).T)
        mean.set_data(*thinned(averages[:played]).T)
        head.set_data(*points[played - 1 : played].T)

    return update


def _bars(axes: Axes, policies: np.ndarray, labels: list[str]) -> Update:
    average = running_mean(policies)
    places = np.arange(policies.shape[1])
    bars = axes.bar(places, policies[0], color=COLORS[0], label="policy")
    look = {"ms": 18, "mew": 2.5, "color": COLORS[1], "label": "average"}
    (marks,) = axes.plot(places, average[0], "_", **look)
    axes.set(ylim=(0, 1), xticks=places, xticklabels=map(plain, labels), ylabel="probability")
    axes.legend()

    def update(played: int) -> None:
        for bar, height in zip(bars, policies[played - 1], strict=True):
            bar.set_height(height)
        marks.set_data(places, average[played - 1])

    return update
