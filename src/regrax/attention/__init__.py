"""Attention models: linear self-attention, the swap architecture and deep transformers, all learners."""

from regrax.attention._base import TrainableLearner
from regrax.attention._linear import FullLinearAttention, LinearAttention
from regrax.attention._swap import SwapAttention
from regrax.attention._transformer import Transformer

MODELS: dict[str, type[TrainableLearner]] = {
    LinearAttention.name: LinearAttention,
    FullLinearAttention.name: FullLinearAttention,
    SwapAttention.name: SwapAttention,
    Transformer.name: Transformer,
}
"""Every kind of model by its name."""

__all__ = [
    "MODELS",
    "FullLinearAttention",
    "LinearAttention",
    "SwapAttention",
    "TrainableLearner",
    "Transformer",
]
