"""Attention models, all of them learners: linear self-attention, the swap architecture and deep transformers."""

from .base import MODELS as MODELS, Recipe as Recipe, TrainableLearner as TrainableLearner
from .linear import FullLinearAttention as FullLinearAttention, LinearAttention as LinearAttention
from .swap import SwapAttention as SwapAttention
from .transformer import Transformer as Transformer
