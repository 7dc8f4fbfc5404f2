"""Experiments: trainings, sweeps of them, tournaments, and the paper; each kept in a folder and continued."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
