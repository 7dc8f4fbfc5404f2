"""Reports: figures as interactive SVG, and the self-contained HTML page around them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
