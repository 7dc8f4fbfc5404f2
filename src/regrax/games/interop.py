"""Games from and to OpenSpiel, Gambit, nashpy and QuantEcon, which the user installs; the first two are extras."""

import io
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from regrax.games.formats import game_from_nfg, game_to_nfg
from regrax.games.game import Game
from regrax.specs import as_game


def to_openspiel(game: Game | str) -> Any:
    """An OpenSpiel matrix game for two players, a tensor game for another number of them.

    With OpenSpiel installed, `to_openspiel(chicken()).row_utilities()` is the first player's matrix. OpenSpiel names
    actions, not players, and holds doubles.
    """
    pyspiel, game = _optional("pyspiel", "'regrax[openspiel]'"), as_game(game)
    payoffs, names = np.asarray(game.payoffs, float), [list(labels) for labels in game.actions]
    if len(payoffs) == 2:
        return pyspiel.create_matrix_game(game.name, game.name, *names, *payoffs.tolist())
    tables = payoffs.reshape(len(payoffs), -1).tolist()
    return pyspiel.create_tensor_game(game.name, game.name, names, tables)


def from_openspiel(game: Any) -> Game:
    """The game that an OpenSpiel matrix or tensor game is; other games go through `pyspiel.load_matrix_game` first."""
    pyspiel = _optional("pyspiel", "'regrax[openspiel]'")
    if isinstance(game, pyspiel.MatrixGame):
        sizes = game.num_rows(), game.num_cols()
        names = [game.row_action_name, game.col_action_name]
    elif isinstance(game, pyspiel.TensorGame):
        sizes = tuple(game.shape())
        names = [partial(game.action_name, n) for n in range(len(sizes))]
    else:
        raise ValueError(
            f"an OpenSpiel matrix or tensor game was expected, got a {type(game).__name__}; "
            "pyspiel.extensive_to_matrix_game and extensive_to_tensor_game make one of it"
        )
    payoffs = np.stack([game.player_utilities(n) for n in range(len(sizes))])
    actions = [list(map(name, range(size))) for name, size in zip(names, sizes, strict=True)]
    return Game(payoffs, name=game.get_type().short_name, actions=actions)


def to_gambit(game: Game | str) -> Any:
    """A Gambit game with the same names and exact payoffs (Gambit makes names that repeat different)."""
    return _optional("pygambit", "'regrax[gambit]'").read_nfg(
        io.BytesIO(game_to_nfg(as_game(game)))
    )


def from_gambit(game: Any) -> Game:
    """The strategic form of a Gambit game: names kept, rational payoffs exact."""
    _optional("pygambit", "'regrax[gambit]'")
    if not hasattr(game, "to_nfg"):
        raise ValueError(f"a Gambit game was expected, got a {type(game).__name__}")
    return game_from_nfg(game.to_nfg().encode())


def to_nashpy(game: Game | str) -> Any:
    """A nashpy game of two players; it holds doubles and no names."""
    game = as_game(game)
    if len(game.sizes) != 2:
        raise ValueError(f"nashpy's games are of two players, but {game} has {len(game.sizes)}")
    return _optional("nashpy").Game(*np.asarray(game.payoffs, float))


def from_nashpy(game: Any) -> Game:
    """The game that a nashpy game is."""
    if not hasattr(game, "payoff_matrices"):
        raise ValueError(f"a nashpy game was expected, got a {type(game).__name__}")
    return Game(np.stack(game.payoff_matrices))


def to_quantecon(game: Game | str) -> Any:
    """A QuantEcon `NormalFormGame`; it holds doubles and no names."""
    profiles = np.moveaxis(np.asarray(as_game(game).payoffs, float), 0, -1)
    return _optional("quantecon.game_theory", "quantecon").NormalFormGame(profiles)


def from_quantecon(game: Any) -> Game:
    """The game that a QuantEcon `NormalFormGame` is, whose players each count their own action first."""
    if not hasattr(game, "payoff_profile_array"):
        raise ValueError(f"a QuantEcon game was expected, got a {type(game).__name__}")
    return Game(np.moveaxis(game.payoff_profile_array, -1, 0))


def _optional(module: str, install: str = "") -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(
            f"{module} is not installed; pip install {install or module} installs it"
        ) from None
