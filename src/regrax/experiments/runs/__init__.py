"""Trainings: plain settings, a folder in which they run and can be continued, and their results."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
