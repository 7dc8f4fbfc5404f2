"""Language models that have no regret: transcripts, policies with gradient, training, and a seat among learners.

Needs the extra `llm` (PyTorch and transformers); `rmft` and `grpo` need `llm-train`. `Task`, `scenario` and
`draw_losses` need neither. `__init__.pyi` lists the names; each loads on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
