"""Outside agents: chat models and Python functions, each in the seat of a learner, and episodes played and logged.

They run on the host and do input and output.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
