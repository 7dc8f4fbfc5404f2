"""Means over random samples compared with exact values."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

DOUBT = 1e-4  # a comparison fails if its largest score is less likely; a single score may be 3.9 errors away


class Comparison(NamedTuple):
    """Sampled means and the values that theory gives for them.

    Attributes:
        name: quantity, such as the gradient of `V`, or the identity that is tested.
        mean: sampled means.
        error: standard errors of the means.
        expected: exact values.
        degrees: degrees of freedom of Student's t distribution, if the standard errors come from few samples.
    """

    name: str
    mean: Float[np.ndarray, "n"]
    error: Float[np.ndarray, "n"]
    expected: Float[np.ndarray, "n"]
    degrees: float = np.inf

    @classmethod
    def of(cls, name: str, samples: Any, expected: Any, degrees: float = np.inf) -> "Comparison":
        """Compare the means over the first axis of samples, flattened, with the expected values."""
        rows = np.asarray(samples).reshape(len(samples), -1)
        error = rows.std(0, ddof=1) / len(rows) ** 0.5
        return cls(name, rows.mean(0), error, np.resize(expected, rows.shape[1]), degrees)

    @property
    def scores(self) -> Float[np.ndarray, "n"]:
        """Differences over standard errors; zero where every sample has the exact value."""
        scale = np.maximum(self.error, 1e-12 + 1e-9 * np.abs(self.expected))
        return (self.mean - self.expected) / scale

    @property
    def largest_score(self) -> float:
        """The largest absolute score."""
        return float(np.abs(self.scores).max())

    @property
    def p_value(self) -> float:
        """Probability that the largest of this many independent scores is at least the measured one."""
        from scipy.special import stdtr  # scipy.stats takes as long to import as jax

        tail = min(2 * stdtr(self.degrees, -self.largest_score), 1 - 1e-15)
        return float(-np.expm1(len(self.mean) * np.log1p(-tail)))

    @property
    def holds(self) -> bool:
        """True if the samples are consistent with theory."""
        return self.p_value > DOUBT
