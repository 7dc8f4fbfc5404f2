"""Language models that have no regret: transcripts, policies with gradient, training, and a seat among learners.

Needs the extra `llm` (PyTorch and transformers); `rmft` and `grpo` need `llm-train`. `Task`, `scenario` and
`draw_losses` need neither. `__init__.pyi` lists the names; each loads on first use.
"""

from typing import Any

import lazy_loader

_attribute, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    try:
        return _attribute(name)
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "transformers", "tokenizers"):
            raise
        text = f"regrax.llm needs {error.name}, but it is not installed: pip install 'regrax[llm]'"
        raise ModuleNotFoundError(text, name=error.name) from None
