"""Numbers in, pictures and pages out."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submodules=["explorer", "plots", "report"]
)
