"""Convert games to and from OpenSpiel, Gambit, nashpy and QuantEcon, which must be installed separately.

The extras `regrax[openspiel]` and `regrax[gambit]` install the first two.
"""

import io
from importlib import import_module
from typing import Any

import numpy as np

from regrax.games.formats import game_from_nfg, game_to_nfg
from regrax.games.game import Game
from regrax.specs import as_game


def to_openspiel(game: Game | str) -> Any:
    """Convert a game to an OpenSpiel matrix game (two players) or tensor game (any other number).

    With OpenSpiel installed, `to_openspiel(chicken()).row_utilities()` is the first player's matrix. OpenSpiel labels
    actions but not players, and stores doubles.
    """
    pyspiel = _import("pyspiel", "'regrax[openspiel]'")
    game = as_game(game)
    payoffs = np.asarray(game.payoffs, float)
    actions = [list(labels) for labels in game.actions]
    if len(payoffs) == 2:
        return pyspiel.create_matrix_game(game.name, game.name, *actions, *payoffs.tolist())
    tables = payoffs.reshape(len(payoffs), -1).tolist()
    return pyspiel.create_tensor_game(game.name, game.name, actions, tables)


def from_openspiel(game: Any) -> Game:
    """Convert an OpenSpiel matrix or tensor game; convert other OpenSpiel games to one of these first."""
    pyspiel = _import("pyspiel", "'regrax[openspiel]'")
    if not isinstance(game, pyspiel.MatrixGame | pyspiel.TensorGame):
        raise ValueError(
            f"game must be an OpenSpiel matrix or tensor game, got a {type(game).__name__}; convert it with "
            "pyspiel.extensive_to_matrix_game or extensive_to_tensor_game"
        )
    state = game.new_initial_state()
    payoffs = []
    actions = []
    for n in range(game.num_players()):
        payoffs.append(game.player_utilities(n))
        actions.append([state.action_to_string(n, a) for a in state.legal_actions(n)])
    return Game(payoffs, name=game.get_type().short_name, actions=actions)


def to_gambit(game: Game | str) -> Any:
    """Convert a game to a Gambit game with the same labels and exact payoffs (Gambit renames repeated labels)."""
    pygambit = _import("pygambit", "'regrax[gambit]'")
    return pygambit.read_nfg(io.BytesIO(game_to_nfg(as_game(game))))


def from_gambit(game: Any) -> Game:
    """Convert the strategic form of a Gambit game, with its labels and exact payoffs."""
    _import("pygambit", "'regrax[gambit]'")
    _check_type(game, "to_nfg", "a Gambit game")
    return game_from_nfg(game.to_nfg().encode())


def to_nashpy(game: Game | str) -> Any:
    """Convert a two-player game to a nashpy game, which stores doubles and no labels."""
    game = as_game(game)
    if len(game.sizes) != 2:
        raise ValueError(f"nashpy requires two players, but {game.name} has {len(game.sizes)}")
    return _import("nashpy").Game(*np.asarray(game.payoffs, float))


def from_nashpy(game: Any) -> Game:
    """Convert a nashpy game."""
    _check_type(game, "payoff_matrices", "a nashpy game")
    return Game(np.stack(game.payoff_matrices))


def to_quantecon(game: Game | str) -> Any:
    """Convert a game to a QuantEcon `NormalFormGame`, which stores doubles and no labels."""
    profiles = np.moveaxis(np.asarray(as_game(game).payoffs, float), 0, -1)
    return _import("quantecon.game_theory", "quantecon").NormalFormGame(profiles)


def from_quantecon(game: Any) -> Game:
    """Convert a QuantEcon `NormalFormGame`."""
    _check_type(game, "payoff_profile_array", "a QuantEcon game")
    return Game(np.moveaxis(game.payoff_profile_array, -1, 0))


def _check_type(game: Any, attribute: str, expected: str) -> None:
    if not hasattr(game, attribute):
        raise ValueError(f"game must be {expected}, got a {type(game).__name__}")


def _import(module: str, package: str = "") -> Any:
    try:
        return import_module(module)
    except ImportError:
        package = package or module
        raise ImportError(f"{module} is not installed; run pip install {package}") from None
