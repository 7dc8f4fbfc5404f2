"""A zoo of named games and families, a file per kind. Each function is a name in specs, `_` written as `-`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
