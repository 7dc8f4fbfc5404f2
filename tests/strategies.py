"""What property-based tests draw: arrays of one shape each, so that a program is compiled once for all examples.

Small integers make ties, where rules that pick one of several go wrong; other numbers make everything else. A library
that flushes subnormal numbers to zero may run in the same process, so none is drawn.
"""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays


def numbers(*shape, largest=100.0):
    """Arrays of small integers, or of any numbers up to `largest`."""
    integers = arrays(float, shape, elements=st.integers(-2, 2).map(float))
    return integers | arrays(
        float, shape, elements=st.floats(-largest, largest, allow_subnormal=False)
    )


def distributions(*shape):
    """Arrays whose last axis holds probability distributions, with zeros and certain outcomes among them."""
    return arrays(np.int64, shape, elements=st.integers(0, 4)).map(_normalised)


def _normalised(weights):
    weights = np.where(weights.sum(-1, keepdims=True) == 0, 1, weights)
    return weights / weights.sum(-1, keepdims=True)
