"""A summary figure of play: gaps, regret with its bound, simplex plots for three actions, and joint play."""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from matplotlib.colors import Normalize
from matplotlib.figure import Figure as AnyFigure

from regrax import _checks as checks, regret
from regrax.games import Game, Trajectory, running_gaps, seated_learners
from regrax.learners import BanditLearner, HostLearner, Learner
from regrax.show.plots.curves import Curve, Rounds, draw_curves, draw_gaps
from regrax.show.plots.panels import draw_simplex, draw_table, known_nash, play_title
from regrax.show.plots.sheets import (
    across,
    axes_or_new,
    balanced,
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


@styled
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
    curves = balanced(2, min(2, across()))
    rest = balanced(len(titles) - 2, min(2, across()))
    heights = [0.7 / across() for _ in curves] + [0.8 / across() for _ in rest]
    panels = axes_or_new(axes, titles, curves + rest, heights)
    for panel, title in zip(panels, titles, strict=True):
        panel.set_title(plain(title))
    gaps, regrets, *others = panels
    rounds = shown_rounds(trajectory.rounds)
    draw_gaps(gaps, rounds, running_gaps(trajectory, game, rounds))
    curves = [_regret(game, n, learner, trajectory, rounds) for n, learner in enumerate(learners)]
    draw_curves(regrets, rounds, curves, "regret so far")
    for n, panel in zip(threes, others, strict=False):
        nash = [profile.marginals[n] for profile in known_nash(game)]
        draw_simplex(panel, np.asarray(trajectory.policies[n]), game.actions[n], nash)
    if len(others) > len(threes):
        labels = [[short(label) for label in side] for side in game.actions]
        joint = np.asarray(trajectory.joint)
        look: Any = {"digits": 3 if max(game.sizes) <= 5 else 2, "norm": Normalize(0, joint.max())}
        numbered = max(game.sizes) <= MAX_NUMBERED_ACTIONS
        draw_table(others[-1], joint, *labels, what="probability", numbered=numbered, **look)
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
    kind = "" if learner.regret == "external" else f", {learner.regret}"
    width = _width(game, player, learner, losses)
    bound = None if width is None else learner.bound(game.sizes[player], rounds, width)
    sampled = trajectory.actions is not None
    return Curve(f"{game.players[player]}{kind}", values, bound, sampled)


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


def _width(
    game: Game, player: int, learner: Learner, losses: Float[np.ndarray, "T d"]
) -> float | None:
    """Return the largest loss range in a round; for bandits the largest loss, or None if any is negative."""
    if isinstance(learner, BanditLearner):
        costs = -np.asarray(game.own(player))  # bounds in expectation cover all losses of a game
        return float(costs.max()) if costs.min() >= 0 else None
    return float(np.ptp(np.asarray(losses), axis=1).max())
