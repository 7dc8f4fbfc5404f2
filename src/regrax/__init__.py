"""Regret in JAX: learners, games, equilibrium gaps, regret-trained attention, and the exact theory behind them.

    import regrax as rx

    game = rx.games.weighted_rps()
    play = rx.play(game, [rx.Hedge(0.45), rx.BlumMansour(rx.Hedge(1.0))], rounds=1000)
    rx.cce_gap(play.joint, game), rx.ce_gap(play.joint, game), rx.swap_gap(play.joint, game)

The public names are listed in `__init__.pyi`. Each is imported on first use, so `regrax --help` does not load jax.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
