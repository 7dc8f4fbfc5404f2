"""Learners: the interface, the classical algorithms, and `rollout`, which plays one on a loss sequence."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
