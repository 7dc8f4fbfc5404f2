"""Attention models, all of them learners: linear self-attention, the swap architecture and deep transformers."""

from .base import Recipe as Recipe, TrainableLearner as TrainableLearner
from .linear import FullLinearAttention as FullLinearAttention, LinearAttention as LinearAttention
from .swap import SwapAttention as SwapAttention
from .transformer import Transformer as Transformer

MODELS: dict[str, type[TrainableLearner]] = {
    LinearAttention.name: LinearAttention,
    FullLinearAttention.name: FullLinearAttention,
    SwapAttention.name: SwapAttention,
    Transformer.name: Transformer,
}
"""Model classes by name, as checkpoints store them."""
