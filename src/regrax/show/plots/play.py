"""Curves over rounds on log axes, and a summary of play: gaps, regret with its bound, simplices and joint play."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure as AnyFigure

from regrax import _checks as checks, regret
from regrax.games import CorrelatedProfile, Game, Trajectory, running_gaps, seated_learners
from regrax.learners import BanditLearner, Bound, HostLearner, Learner
from regrax.show.plots.panels import draw_simplex, draw_table, play_title
from regrax.show.plots.sheets import (
    COLORS,
    LINES,
    axes_or_new,
    dress,
    is_narrow,
    label_ends,
    plain,
    short,
    shown_rounds,
    styled,
)
from regrax.specs import as_game

MAX_SIMPLICES = 4
MAX_NUMBERED_ACTIONS = 8
MAX_DRAWN_ACTIONS = 200  # maximum rows or columns of joint play
ROUNDING = 1e-5  # rounding of a policy in single precision


Values = Float[np.ndarray, "T"]
Rounds = Int[np.ndarray, "T"]

Curve = tuple[str, Values, Bound]
"""A label, values at the rounds shown, and a bound on them or None."""


@styled()
def plot_gaps(gaps: Mapping[str, Values], title: str = "", *, ax: Axes | None = None) -> AnyFigure:
    """Plot equilibrium gaps over rounds on log axes.

    Args:
        gaps: Values after every round for each gap, as returned by `running_gaps`.
        title: Title of the axes.
        ax: Axes to draw in; by default a new figure.

    >>> plot_gaps({"cce_gap": np.array([0.5, 0.25])}).axes[0].get_xlabel()
    'round'
    """
    checks.instance("gaps", gaps, Mapping, "a dictionary of gaps by name")
    (axes,) = axes_or_new(ax, ["gaps"], 1, [0.6])
    rounds = shown_rounds(max(map(len, gaps.values())))
    draw_gaps(axes, rounds, {name: np.asarray(gap)[rounds - 1] for name, gap in gaps.items()})
    axes.set_title(plain(title))
    return axes.figure  # pyright: ignore[reportReturnType]


def draw_gaps(axes: Axes, rounds: Rounds, gaps: Mapping[str, Values]) -> None:
    """Draw one line per gap."""
    labels = {"cce_gap": "CCE", "ce_gap": "CE"}
    curves: list[Curve] = []
    for name, values in gaps.items():
        label = labels.get(name, name.removesuffix("_gap").capitalize())
        curves.append((label, values, None))
    draw_curves(axes, rounds, curves, "gap")


def draw_curves(
    axes: Axes, rounds: Rounds, curves: Sequence[Curve], what: str, bound_label: str = "bound"
) -> None:
    """Draw one line per curve, and its bound as a dotted line of the same colour, each labelled at its end."""
    marker = "o" if len(rounds) == 1 else None
    lines = LINES[: 3 if any(bound is not None for _, _, bound in curves) else 4]
    for index, (label, values, bound) in enumerate(curves):
        color = COLORS[index % len(COLORS)]
        dashes = lines[index % len(lines)]
        positive = np.where(values > 0, values, np.nan)  # NaN leaves a gap on a log axis
        axes.plot(rounds, positive, dashes, color=color, marker=marker, label=plain(label))
        if bound is not None:
            axes.plot(rounds, bound, ":", color=color, label=bound_label)
    axes.set(xscale="log", yscale="log", xlabel="round", ylabel=what)
    dress(axes)
    if not any((values > 0).any() for _, values, _ in curves):
        axes.text(0.5, 0.5, "never above zero", ha="center", transform=axes.transAxes)
    if np.isfinite(axes.dataLim.minposy):  # some number is positive
        label_ends(axes)
    else:
        axes.set_yscale("linear")  # a log axis without positive numbers raises a warning
        axes.set(xlim=(rounds[0], rounds[-1] + 1), yticks=[])


@styled()
def plot_play(
    game: Game | str,
    learners: Learner | str | Sequence[Learner | str],
    trajectory: Trajectory,
    *,
    axes: Any = None,
) -> AnyFigure:
    """Plot gaps and regrets over rounds, simplex plots for three actions, and the joint play of two players.

    Args:
        game: Game that was played, or its spec.
        learners: One learner per player, or one for all, or their specs.
        trajectory: Result of `play`.
        axes: List or array of matplotlib axes, one per panel; by default a new figure.

    >>> from regrax.games import play
    >>> figure = plot_play("chicken", "hedge(0.1)", play("chicken", "hedge(0.1)", 5))
    >>> [axes.get_title() for axes in figure.axes if axes.get_title()]
    ['Equilibrium gaps', 'Regret', 'Joint play']
    """
    game = as_game(game)
    checks.instance("trajectory", trajectory, Trajectory, "the result of play")
    learners = seated_learners(game, learners)
    threes = [n for n, size in enumerate(game.sizes) if size == 3][:MAX_SIMPLICES]
    titles = ["Equilibrium gaps", "Regret", *(game.players[n] for n in threes)]
    if len(game.sizes) == 2 and max(game.sizes) <= MAX_DRAWN_ACTIONS:
        titles.append("Joint play")
    columns = 1 if is_narrow() else 2
    heights = [0.7 / columns] * (2 // columns)
    heights += [0.8 / columns] * -(-(len(titles) - 2) // columns)
    panels = axes_or_new(axes, titles, columns, heights)
    for panel, title in zip(panels, titles, strict=True):
        panel.set_title(plain(title))
    gaps, regrets, *others = panels
    rounds = shown_rounds(trajectory.rounds)
    draw_gaps(gaps, rounds, running_gaps(trajectory, game, rounds))
    curves = [_regret(game, n, learner, trajectory, rounds) for n, learner in enumerate(learners)]
    bound_label = "bound" if trajectory.actions is None else "bound on mean"
    draw_curves(regrets, rounds, curves, "regret so far", bound_label)
    known = [entry.joint(game.sizes) for entry in game.equilibria if entry.concept == "nash"]
    for n, panel in zip(threes, others, strict=False):
        nash = [CorrelatedProfile(joint, game).marginals[n] for joint in known]
        draw_simplex(panel, np.asarray(trajectory.policies[n]), game.actions[n], nash)
    if len(others) > len(threes):
        labels = [[short(label) for label in side] for side in game.actions]
        joint = np.asarray(trajectory.joint)
        digits = None
        if max(game.sizes) <= MAX_NUMBERED_ACTIONS:
            digits = 3 if max(game.sizes) <= 5 else 2
        norm = Normalize(0, joint.max())
        draw_table(others[-1], joint, *labels, label="probability", norm=norm, digits=digits)
        others[-1].set(ylabel=plain(game.players[0]), xlabel=plain(game.players[1]))
    figure = gaps.figure
    if axes is None:
        figure.suptitle(play_title(game, learners))  # pyright: ignore[reportAttributeAccessIssue]
    return figure  # pyright: ignore[reportReturnType]


def _regret(
    game: Game, player: int, learner: Learner, trajectory: Trajectory, rounds: Rounds
) -> Curve:
    """Return the regret that the learner minimises, with its bound on the losses of this play."""
    learner = _as_played(learner, trajectory, player)
    losses = trajectory.losses[player]
    running = getattr(regret, f"running_{learner.regret}_regret")
    values = running(trajectory.played[player], losses, rounds)
    label = game.players[player]
    if learner.regret != "external":
        label += f", {learner.regret}"
    width = float(np.ptp(np.asarray(losses), axis=1).max())
    if isinstance(learner, BanditLearner):
        costs = -np.asarray(game.own(player))  # bounds in expectation cover all losses of a game
        width = float(costs.max())
        if costs.min() < 0:
            return label, values, None
    return label, values, learner.bound(game.sizes[player], rounds, width)


def _as_played(learner: Learner, trajectory: Trajectory, player: int) -> Learner:
    """Return the learner with the start or prior inferred from rounds 1 and 2."""
    if isinstance(learner, HostLearner):
        return learner
    policies = trajectory.policies[player]
    first = np.asarray(policies[0], float)
    own = learner.policy(learner.init(len(first), trajectory.rounds))
    if np.allclose(own, first, atol=ROUNDING):
        return learner
    first = first / first.sum()
    if learner.has_prior and trajectory.rounds > 1:
        candidate = learner.with_prior(first)
        state = candidate.init(len(first), trajectory.rounds)
        action = None if trajectory.actions is None else jnp.asarray(trajectory.actions[player][0])
        seen = candidate.observe(jnp.asarray(trajectory.losses[player][0], float), action)
        second = candidate.policy(candidate.update(state, seen))
        if np.allclose(second, policies[1], atol=ROUNDING):
            return candidate
    return learner.starting_at(first)
