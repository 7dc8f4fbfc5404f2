"""Audit: from a log of what agents did to their regret, their worst mistake, and whether they learn."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
