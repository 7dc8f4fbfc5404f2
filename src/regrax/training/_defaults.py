"""How each kind of model is trained unless told otherwise: the settings that reach the exact optimum."""

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from regrax.attention import Transformer
from regrax.learners import Learner

if TYPE_CHECKING:
    import optax


class Recipe(NamedTuple):
    """Adam with a rate that rises over the first twentieth of the steps and falls to zero as a cosine.

    Args:
        steps: of Adam.
        batch: sequences per step.
        chunk: sequences at a time, so that they stay in the processor's cache.
        rate: the highest learning rate.
        tail: fraction of the last steps whose models are averaged.
    """

    steps: int
    batch: int
    chunk: int
    rate: float
    tail: float


LINEAR = Recipe(steps=300, batch=2048, chunk=1024, rate=0.03, tail=0.5)
DEEP = Recipe(steps=3000, batch=256, chunk=64, rate=0.003, tail=0.1)


def recipe(model: Learner) -> Recipe:
    """The recipe for a model.

    >>> from regrax.learners import Hedge
    >>> recipe(Hedge(0.1)).batch
    2048
    """
    return DEEP if isinstance(model, Transformer) else LINEAR


@cache
def adam(rate: float, steps: int) -> "optax.GradientTransformation":
    """Clipped Adam on a warm-up and cosine schedule; one object per setting, so that it compiles once."""
    import optax

    schedule = optax.warmup_cosine_decay_schedule(0.0, rate, steps // 20, steps)
    return optax.chain(optax.clip_by_global_norm(CLIP), optax.adam(schedule, b2=0.99))


CLIP = 1.0
