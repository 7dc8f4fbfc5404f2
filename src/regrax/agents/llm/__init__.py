"""No-regret language models: transcripts, differentiable policies, training, and play as learners.

Requires the `llm` extra (PyTorch and transformers); `rmft`, `grpo` and LoRA require `llm-train`. `Task`, `scenario` and
`draw_losses` require neither. `__init__.pyi` lists the names, each of which is loaded on first use.
"""

from regrax._extras import attach_extra

_NEEDS = ("torch", "transformers", "tokenizers", "huggingface_hub")
__getattr__, __dir__, __all__ = attach_extra(__name__, __file__, "llm", _NEEDS)
