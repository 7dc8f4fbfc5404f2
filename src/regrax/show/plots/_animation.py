"""A play that moves: every player's policy, and the average it leaves behind, round by round."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int
from matplotlib.animation import FuncAnimation
from matplotlib.axes import Axes

from regrax.games import Game, Trajectory
from regrax.show.plots._panels import CORNERS, name_corners
from regrax.show.plots._style import COLORS, Figure, in_math, short
from regrax.specs import as_game

SUFFIXES = (".gif", ".html", ".mp4")
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
        if file.suffix.lower() not in SUFFIXES:
            raise ValueError(f"an animation file must end in {', '.join(SUFFIXES)}, got {file}")
        if file.suffix.lower() == ".html":
            file.write_text(self._repr_html_(), "utf-8")
            return
        writer = "pillow" if file.suffix.lower() == ".gif" else "ffmpeg"
        self._moving().save(file, writer=writer, fps=self.frames_per_second)

    def _repr_html_(self) -> str:
        """matplotlib's page, without the icons that it loads from elsewhere."""
        page = _LOADED.sub("", self._moving().to_jshtml(fps=self.frames_per_second))
        return _ICON.sub(lambda found: ICONS.get(found[1], found[1]), page)

    def _moving(self) -> FuncAnimation:
        def draw(frame: int) -> list[Any]:
            self.draw(frame)
            return []

        return FuncAnimation(self.figure, draw, frames=self.frames)


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
    name = f"player {player + 1}" if game is None else game.players[player]
    labels = (
        [str(a + 1) for a in range(policies.shape[1])] if game is None else game.actions[player]
    )
    axes.set_title(in_math(short(name, 30)), fontsize="medium")
    average = policies.cumsum(0) / np.arange(1, len(policies) + 1)[:, None]
    make = _simplex if policies.shape[1] == 3 else _bars
    return make(axes, policies, average, [in_math(short(label)) for label in labels])


def _simplex(axes: Axes, policies: np.ndarray, average: np.ndarray, labels: list[str]) -> Update:
    axes.plot(*np.vstack([CORNERS, CORNERS[:1]]).T, color="#888888", linewidth=1.0)
    name_corners(axes, labels)
    lines = [
        (axes.plot([], [], color=color, linewidth=width, label=label)[0], rows @ CORNERS)
        for rows, color, width, label in (
            (policies, COLORS[0], 1.1, "policy"),
            (average, COLORS[1], 1.6, "average"),
        )
    ]
    (head,) = axes.plot([], [], marker="o", color="#000000")
    axes.legend(frameon=False, fontsize="small", loc="upper left")

    def update(played: int) -> None:
        shown = _shown(played)
        for line, points in lines:
            line.set_data(*points[shown].T)
        head.set_data(*lines[0][1][played - 1 : played].T)

    return update


def _bars(axes: Axes, policies: np.ndarray, average: np.ndarray, labels: list[str]) -> Update:
    places = np.arange(policies.shape[1])
    bars = axes.bar(places, policies[0], color=COLORS[0], label="policy")
    (marks,) = axes.plot(
        places, average[0], marker="_", ms=18, mew=2.5, ls="", color=COLORS[1], label="average"
    )
    axes.set(ylim=(0, 1), xticks=places, xticklabels=labels, ylabel="probability")
    axes.legend(frameon=False, fontsize="small")

    def update(played: int) -> None:
        for bar, height in zip(bars, policies[played - 1], strict=True):
            bar.set_height(height)
        marks.set_data(places, average[played - 1])

    return update


def _shown(played: int, most: int = 1500) -> Int[np.ndarray, "P"]:
    return np.unique(np.linspace(0, played - 1, most).round().astype(int))
