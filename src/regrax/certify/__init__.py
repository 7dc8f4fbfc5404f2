"""Certificates: checks of the paper's theorems and lemmas, and Monte Carlo estimators of the stationary step."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
