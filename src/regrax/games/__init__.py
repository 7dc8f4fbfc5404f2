"""Games: normal-form games of any number of players, a zoo, repeated play and equilibrium gaps."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
