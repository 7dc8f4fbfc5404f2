"""Attention models: linear self-attention, the swap architecture and deep transformers, all learners."""

from regrax.attention.base import Model
from regrax.attention.linear import FullLinearAttention, LinearAttention
from regrax.attention.swap import SwapAttention
from regrax.attention.transformer import Transformer

__all__ = ["FullLinearAttention", "LinearAttention", "Model", "SwapAttention", "Transformer"]
