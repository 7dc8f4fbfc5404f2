"""Language models without regret: transcripts, differentiable policies, training, and play as a learner.

Needs the extra `llm` (PyTorch and transformers); `rmft`, `grpo` and LoRA need `llm-train`. `Task`, `scenario` and
`draw_losses` need neither. `__init__.pyi` lists the names; each loads on first use.
"""

from regrax._extras import attach_extra

_NEEDS = ("torch", "transformers", "tokenizers", "huggingface_hub")
__getattr__, __dir__, __all__ = attach_extra(__name__, __file__, "llm", _NEEDS)
