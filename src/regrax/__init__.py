"""Regret in JAX: learners, games, equilibrium gaps, regret-trained attention, and the exact theory behind them.

    import regrax as rx

    game = rx.games.weighted_rps()
    play = rx.play(game, [rx.Hedge(0.45), rx.BlumMansour(rx.Hedge(1.0))], rounds=1000)
    rx.cce_gap(play.joint, game), rx.ce_gap(play.joint, game), rx.swap_gap(play.joint, game)

Names load on first use, so that the command line can answer `--help` without importing jax.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regrax import agents as agents
    from regrax import attention as attention
    from regrax import audit as audit
    from regrax import checkpoints as checkpoints
    from regrax import devices as devices
    from regrax import games as games
    from regrax import learners as learners
    from regrax import processes as processes
    from regrax import regret as regret
    from regrax import runs as runs
    from regrax import simplex as simplex
    from regrax import specs as specs
    from regrax import sweep as sweep
    from regrax import theory as theory
    from regrax import tournament as tournament
    from regrax import training as training
    from regrax.agents import *
    from regrax.attention import *
    from regrax.audit import audit_log as audit_log
    from regrax.checkpoints import *
    from regrax.games import *
    from regrax.learners import *
    from regrax.regret import *
    from regrax.runs import *
    from regrax.simplex import *
    from regrax.theory import Optimal as Optimal
    from regrax.tournament import Tournament as Tournament
    from regrax.tournament import round_robin as round_robin
    from regrax.training import *

_ROOMS = (
    "agents",
    "attention",
    "checkpoints",
    "audit",
    "devices",
    "games",
    "learners",
    "processes",
    "regret",
    "runs",
    "simplex",
    "specs",
    "sweep",
    "theory",
    "tournament",
    "training",
)

_EXPORTS = {
    "agents": ("ChatAgent", "outside_agent"),
    "attention": (
        "FullLinearAttention",
        "LinearAttention",
        "Model",
        "SwapAttention",
        "Transformer",
    ),
    "checkpoints": ("Checkpoint", "load_model", "save_model"),
    "audit": ("audit_log",),
    "games": (
        "Correlated",
        "Game",
        "Trajectory",
        "cce_gap",
        "ce_gap",
        "deviation_gains",
        "joint_gaps",
        "joint_play",
        "nash_equilibria",
        "nash_gap",
        "nearest",
        "play",
        "pure_equilibria",
        "running_gaps",
        "solve",
        "swap_gap",
    ),
    "learners": (
        "AdaHedge",
        "Agent",
        "BestResponse",
        "BlumMansour",
        "Delayed",
        "DiscountedRegretMatching",
        "DoublingHedge",
        "EuclideanFTRL",
        "Exp3",
        "Exp3IX",
        "FollowTheLeader",
        "FollowThePerturbedLeader",
        "Hedge",
        "ImportanceWeighted",
        "InternalRegretMatching",
        "InverseSqrt",
        "Learner",
        "OnlineGradientDescent",
        "OptimisticHedge",
        "PerRound",
        "PredictiveRegretMatchingPlus",
        "RegretMatching",
        "RegretMatchingPlus",
        "StoltzLugosi",
        "TreeSwap",
        "TsallisINF",
        "Uniform",
        "rollout",
    ),
    "regret": (
        "best_action",
        "best_pair",
        "best_swap",
        "external_regret",
        "internal_regret",
        "running_external_regret",
        "running_internal_regret",
        "running_swap_regret",
        "swap_matrix",
        "swap_regret",
    ),
    "runs": ("Training", "train"),
    "training": (
        "ClosedLoopSwapObjective",
        "HindsightObjective",
        "RegretObjective",
        "SwapRegretObjective",
        "evaluate",
        "fit",
        "fit_step_size",
    ),
    "show.explorer": ("explore",),
    "simplex": ("power_iteration", "project_ball", "project_simplex", "stationary"),
    "theory": ("Optimal",),
    "tournament": ("Tournament", "round_robin"),
}
_HOME = {name: room for room, names in _EXPORTS.items() for name in names}

__version__ = "0.1.0"
__all__ = [*_ROOMS, *_HOME]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"regrax.{name}")
    if name in _HOME:
        return getattr(import_module(f"regrax.{_HOME[name]}"), name)
    raise AttributeError(f"module 'regrax' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
