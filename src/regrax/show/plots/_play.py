"""One figure of a play: gaps, regret with its bound, every player of three actions in its simplex, joint play."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.colors import Normalize

from regrax import regret
from regrax.games import CorrelatedProfile, Game, Trajectory, running_gaps, seated_learners
from regrax.learners import BanditLearner, Learner
from regrax.show.plots._curves import Regret, draw_gaps, draw_regrets
from regrax.show.plots._panels import draw_simplex, draw_table
from regrax.show.plots._style import Figure, in_math, short, shown_rounds
from regrax.specs import as_game

PANELS_PER_ROW = 3
MAX_SIMPLICES = 4
MAX_DRAWN_ACTIONS = 200  # rows or columns of joint play that is drawn

Panel = Callable[[Axes], None]


def plot_play(
    game: Game | str, learners: Learner | str | Sequence[Learner | str], trajectory: Trajectory
) -> Figure:
    """Gaps and regrets over rounds; a simplex for each of the first players with three actions; joint play of two.

    >>> from regrax.games import play
    >>> figure = plot_play("chicken", "hedge(0.1)", play("chicken", "hedge(0.1)", 5))
    >>> [axes.get_title() for axes in figure.axes if axes.get_title()]
    ['equilibrium gaps', 'regret', 'joint play']
    """
    game = as_game(game)
    learners = seated_learners(game, learners)
    panels = _panels(game, learners, trajectory)
    across = 2 if len(panels) == 4 else min(PANELS_PER_ROW, len(panels))
    down = -(-len(panels) // across)
    figure = Figure(figsize=(4.6 * across, 3.9 * down + 0.5), layout="constrained")
    for index, (title, draw) in enumerate(panels):
        axes = figure.add_subplot(down, across, index + 1)
        draw(axes)
        axes.set_title(in_math(title), fontsize="medium")
    names = [str(learner) for learner in dict.fromkeys(map(str, learners))]
    figure.suptitle(
        in_math(f"{game}: {short(' against '.join(names), 40 * across)}"), fontsize="large"
    )
    return figure


def _panels(
    game: Game, learners: Sequence[Learner], trajectory: Trajectory
) -> list[tuple[str, Panel]]:
    gaps = {name: np.asarray(rows) for name, rows in running_gaps(trajectory, game).items()}
    regrets = [_regret(game, n, learner, trajectory) for n, learner in enumerate(learners)]
    panels: list[tuple[str, Panel]] = [
        ("equilibrium gaps", lambda axes: draw_gaps(axes, gaps)),
        ("regret", lambda axes: draw_regrets(axes, regrets)),
    ]
    threes = [n for n, size in enumerate(game.sizes) if size == 3]
    for n in threes[:MAX_SIMPLICES]:
        panels.append((game.players[n], partial(_simplex, game, trajectory, n)))
    if len(game.sizes) == 2 and max(game.sizes) <= MAX_DRAWN_ACTIONS:
        panels.append(("joint play", partial(_joint, game, np.asarray(trajectory.joint))))
    return panels


def _regret(game: Game, player: int, learner: Learner, trajectory: Trajectory) -> Regret:
    """The kind of regret that the learner is made for, and its bound for this game's payoffs."""
    running = getattr(regret, f"running_{learner.regret}_regret")
    values = np.asarray(running(trajectory.played[player], trajectory.losses[player]))
    kind = "" if learner.regret == "external" else f", {learner.regret}"
    rounds, width = shown_rounds(trajectory.rounds), _width(game, player, learner)
    bound = None if width is None else learner.bound(game.sizes[player], rounds, width)
    return Regret(f"{game.players[player]}{kind}", values, bound)


def _width(game: Game, player: int, learner: Learner) -> float | None:
    """What losses of a round span at most; for bandits, whose bounds ask for losses from 0 up, the largest loss."""
    losses = -np.moveaxis(np.asarray(game.payoffs[player], float), player, 0)
    if isinstance(learner, BanditLearner):
        return float(losses.max()) if losses.min() >= 0 else None
    return float(np.ptp(losses, axis=0).max())


def _simplex(game: Game, trajectory: Trajectory, player: int, axes: Axes) -> None:
    nash = [
        CorrelatedProfile(known.joint(game.sizes), game).marginals[player]
        for known in game.equilibria
        if known.concept == "nash"
    ]
    draw_simplex(axes, np.asarray(trajectory.policies[player]), game.actions[player], nash)


def _joint(game: Game, joint: Float[np.ndarray, "n m"], axes: Axes) -> None:
    rows, columns = ([short(label) for label in labels] for labels in game.actions)
    draw_table(axes, joint, rows, columns, what="probability", norm=Normalize(0, joint.max()))
    axes.set(ylabel=in_math(game.players[0]), xlabel=in_math(game.players[1]))
