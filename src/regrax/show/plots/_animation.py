"""A play that moves: every player's policy, and the average it leaves behind, round by round."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.animation import FuncAnimation
from matplotlib.axes import Axes

from regrax import _checks as checks
from regrax.games import Game, Trajectory
from regrax.show.plots._panels import CORNERS, draw_triangle, running_mean, thinned
from regrax.show.plots._style import COLORS, Figure, check_suffix, in_math, short
from regrax.specs import as_game

WRITERS = {".gif": "pillow", ".html": None, ".mp4": "ffmpeg"}  # of matplotlib
MAX_PANELS = 4
ICONS = {
    "minus": "-", "fast-backward": "&laquo;", "step-backward": "&lsaquo;", "play fa-flip-horizontal": "◀",
    "pause": "‖", "play": "▶", "step-forward": "&rsaquo;", "fast-forward": "&raquo;", "plus": "+",
}  # fmt: skip
_ICON = re.compile(r'<i class="fa fa-([\w -]+)"></i>')
_LOADED = re.compile(r'<link rel="stylesheet"\s+href="https?:[^>]*>')

Update = Callable[[int], None]


class Animation(NamedTuple):
    """An animation that shows itself in a notebook and saves itself as GIF, MP4 or HTML.

    Attributes:
        figure: that is drawn on.
        draw: updates it to a frame.
        frames: how many.
        frames_per_second: speed.
    """

    figure: Figure
    draw: Update
    frames: int
    frames_per_second: int

    def save(self, file: str | Path) -> None:
        """Write the animation; the ending of the name says how. MP4 needs the program ffmpeg."""
        file = Path(file)
        check_suffix(file, tuple(WRITERS), "an animation")
        if writer := WRITERS[file.suffix.lower()]:
            self._moving().save(file, writer=writer, fps=self.frames_per_second)
        else:
            file.write_text(self._repr_html_(), "utf-8")

    def _repr_html_(self) -> str:
        """matplotlib's page, without the icons that it loads from elsewhere."""
        page = _LOADED.sub("", self._moving().to_jshtml(fps=self.frames_per_second))
        return _ICON.sub(lambda found: ICONS.get(found[1], found[1]), page)

    def _moving(self) -> FuncAnimation:
        # matplotlib wants a list of what was drawn, and draws everything where it is empty
        return FuncAnimation(self.figure, lambda at: self.draw(at) or [], frames=self.frames)


def animate(
    trajectory: Trajectory,
    game: Game | str | None = None,
    *,
    frames: int = 100,
    seconds: float = 6.0,
) -> Animation:
    r"""Every player's policy $\pi_t$ and its average so far, as rounds go by; three actions move in their simplex.

    Args:
        trajectory: what `play` gave.
        game: for the names of players and actions, or its spec; by default they are numbered.
        frames: how many pictures, spread evenly over the rounds.
        seconds: how long the animation lasts.

    >>> from regrax.games import play
    >>> moving = animate(play("weighted-rps", "hedge(0.3)", 20), "weighted-rps", frames=5)
    >>> moving.frames_per_second
    1
    """
    checks.instance("trajectory", trajectory, Trajectory, "what play returns")
    checks.at_least("frames", frames, 1)
    checks.positive("seconds", seconds)
    game = None if game is None else as_game(game)
    rounds = np.unique(np.linspace(1, trajectory.rounds, frames).round().astype(int))
    sides = [np.asarray(side) for side in trajectory.policies[:MAX_PANELS]]
    figure = Figure(figsize=(4.4 * len(sides), 4.2), layout="constrained")
    updates = [
        _panel(figure.add_subplot(1, len(sides), n + 1), side, game, n)
        for n, side in enumerate(sides)
    ]

    def draw(frame: int) -> None:
        for update in updates:
            update(int(rounds[frame]))
        figure.suptitle(f"round {rounds[frame]}")

    draw(0)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # laying out every picture anew takes longer than drawing it
    return Animation(figure, draw, len(rounds), max(round(len(rounds) / seconds), 1))


def _panel(axes: Axes, policies: np.ndarray, game: Game | None, player: int) -> Update:
    name, labels = f"player {player + 1}", [str(a + 1) for a in range(policies.shape[1])]
    if game is not None:
        name, labels = game.players[player], game.actions[player]
    axes.set_title(in_math(short(name, 30)), fontsize="medium")
    make = _simplex if policies.shape[1] == 3 else _bars
    return make(axes, policies, running_mean(policies), list(map(short, labels)))


def _simplex(axes: Axes, policies: np.ndarray, average: np.ndarray, labels: list[str]) -> Update:
    draw_triangle(axes, labels)
    points, averages = policies @ CORNERS, average @ CORNERS
    (path,) = axes.plot([], [], color=COLORS[0], lw=1.1, label="policy")
    (mean,) = axes.plot([], [], color=COLORS[1], lw=1.6, label="average")
    (head,) = axes.plot([], [], marker="o", color="#000000")
    axes.legend(frameon=False, fontsize="small", loc="upper left")

    def update(played: int) -> None:
        path.set_data(*thinned(points[:played]).T)
        mean.set_data(*thinned(averages[:played]).T)
        head.set_data(*points[played - 1 : played].T)

    return update


def _bars(axes: Axes, policies: np.ndarray, average: np.ndarray, labels: list[str]) -> Update:
    places = np.arange(policies.shape[1])
    bars = axes.bar(places, policies[0], color=COLORS[0], label="policy")
    look = {"ms": 18, "mew": 2.5, "color": COLORS[1], "label": "average"}
    (marks,) = axes.plot(places, average[0], "_", **look)
    axes.set(ylim=(0, 1), xticks=places, xticklabels=map(in_math, labels), ylabel="probability")
    axes.legend(frameon=False, fontsize="small")

    def update(played: int) -> None:
        for bar, height in zip(bars, policies[played - 1], strict=True):
            bar.set_height(height)
        marks.set_data(places, average[played - 1])

    return update
