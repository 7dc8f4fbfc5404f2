"""Figures from numbers: each function takes results and gives a matplotlib figure; the caller saves it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
