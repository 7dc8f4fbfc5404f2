"""Attention models: linear self-attention, the swap architecture and deep transformers, all learners."""

from regrax.attention.base import Model
from regrax.attention.linear import FullLinearAttention, LinearAttention
from regrax.attention.swap import SwapAttention
from regrax.attention.transformer import Transformer

MODELS: dict[str, type[Model]] = {
    model.name: model
    for model in (LinearAttention, FullLinearAttention, SwapAttention, Transformer)
}
"""Every kind of model by its name."""

__all__ = [
    "MODELS",
    "FullLinearAttention",
    "LinearAttention",
    "Model",
    "SwapAttention",
    "Transformer",
]
