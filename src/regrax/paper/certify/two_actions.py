r"""Proofs for two actions: enclosures of $k^*$, the losses and every eigenvalue of the Hessian, in ball arithmetic.

$L'(k) = \sum_n \sqrt{2n}\,E[X g'_n]$ and $L''(k) = \sum_n 2n\,E[X^2 g''_n]$ come from `balls` with their errors. On an
interval $I$ around $m$ where $L''(I) > 0$, an interval Newton step $m - L'(m)/L''(I)$ that stays inside $I$ proves that
$I$ has exactly one root, and encloses it. Around $I$ the sign of $L'$ is proved on pieces $J$ by
$L'(J) \subset L'(\mathrm{mid}) + L''(J)\,(J - \mathrm{mid})$, so that the root is the only one on a wide interval.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np

from regrax import _checks as checks, theory
from regrax.paper.certify.balls import Ball, RoundSums, precision, round_sums

ROUGH_DIGITS = 9  # for sums of which only the sign matters
NEWTON_SHARE = 0.03  # half-width of the Newton interval, relative to the step
SMALLEST_PIECE = 1e-6  # smallest piece an interval is split into, relative to the step


class Enclosure(NamedTuple):
    """A `flint.arb` ball that provably contains a number."""

    ball: Ball

    @property
    def text(self) -> str:
        """The midpoint's digits and the radius."""
        return self.ball.str(40, radius=True)

    @property
    def width(self) -> float:
        """Twice the radius, rounded up."""
        return float(2 * self.ball.rad())

    def verdict(self, claim: str) -> Literal["proved", "refuted", "undecided"]:
        """Return whether the number is proved to be within one unit of the last digit of `claim`."""
        from flint import arb

        if not re.fullmatch(r"\d+\.\d+", claim):
            raise ValueError(f"claim must be a decimal number like 0.4149, got {claim!r}")
        with precision(len(claim) + 20):
            unit = arb(10) ** -len(claim.partition(".")[2])
            away = abs(self.ball - arb(claim))
            if away > unit:
                return "refuted"
            return "proved" if away <= unit else "undecided"


class Certificate(NamedTuple):
    r"""Proofs for two actions and one horizon.

    Attributes:
        horizon: $T$.
        step: enclosure of $k^\star$.
        only_root_on: interval on which $L'$ has no other root.
        loss: enclosure of $L(k^\star)$.
        optimal_loss: enclosure of $L^*$.
        eigenvalues: the five nonzero eigenvalues of the Hessian, each with its direction; three directions are flat.
    """

    horizon: int
    step: Enclosure
    only_root_on: tuple[float, float]
    loss: Enclosure
    optimal_loss: Enclosure
    eigenvalues: tuple[tuple[str, Enclosure], ...]

    @property
    def is_minimum(self) -> bool:
        """True if every eigenvalue is provably positive."""
        return all(enclosure.ball > 0 for _, enclosure in self.eigenvalues)


class NotProved(ArithmeticError):
    """The certificate is incomplete: the statement may hold, but this computation does not prove it."""


def rigorous_certificate(
    horizon: int, *, digits: int = 30, reach: float = 2.0, widen: float = 1.0
) -> Certificate:
    r"""Enclose $k^*(2, T)$, $L(k^*)$, $L^*$ and the five eigenvalues of the Hessian at $k^*$.

    Args:
        horizon: number of rounds $T$, an integer >= 2.
        digits: number of decimals in the sums.
        reach: prove that $k^*$ is the only root of $L'$ between $k^*$ divided by this factor and $k^*$ times it.
        widen: factor that stretches every strip; above 1 the proof must fail, which tests its condition.

    >>> proved = rigorous_certificate(2, digits=20, reach=1.1)  # doctest: +SKIP
    >>> proved.step.verdict("1.17646907728"), proved.step.verdict("1.17646907729")  # doctest: +SKIP
    ('proved', 'refuted')
    """
    from flint import arb

    checks.at_least("horizon", horizon, 2)
    checks.at_least("digits", digits, 5)
    with precision(digits):
        middle = arb(theory.step_size(2, horizon))
        for _ in range(2):  # quadruples the number of digits; not a proof yet
            first, second = _derivatives(middle, horizon, digits, widen)
            middle = (middle - first / second).mid()
        inner = middle * arb(1, NEWTON_SHARE)
        first, _ = _derivatives(middle, horizon, digits, widen)
        _, second = _derivatives(inner, horizon, ROUGH_DIGITS, widen)
        step = newton_step(middle, first, second, inner)

        low = float(inner.lower())
        high = float(inner.upper())
        guess = float(step.mid())
        start = min(guess / reach, low)
        end = max(guess * reach, high)
        prove_sign(horizon, start, low * (1 + 1e-12), -1, SMALLEST_PIECE * guess)
        prove_sign(horizon, high * (1 - 1e-12), end, 1, SMALLEST_PIECE * guess)

        sums = _all_rounds(step, horizon, digits, widen)
        angles = sum((arb(n) / horizon).asin() for n in range(1, horizon))
        best = arb(horizon) / 2 - angles / arb.pi()
        loss = best + sums.gap.sum()
        values = tuple((name, Enclosure(ball)) for name, ball in _eigenvalues(step, sums))
    return Certificate(
        horizon, Enclosure(step), (start, end), Enclosure(loss), Enclosure(best), values
    )


def _all_rounds(k: Ball, horizon: int, digits: int, widen: float) -> RoundSums:
    """Enclose the expectations of rounds 2 to T, as arrays."""
    rounds = [round_sums(k, n, horizon, digits, widen) for n in range(1, horizon)]
    return RoundSums(*np.array(rounds).T)


def _derivatives(k: Ball, horizon: int, digits: int, widen: float = 1.0) -> tuple[Ball, Ball]:
    """Enclose L'(k) and L''(k) for a ball of steps."""
    from flint import arb

    sums = _all_rounds(k, horizon, digits, widen)
    n = np.array([arb(n) for n in range(1, horizon)])
    return (np.sqrt(2 * n) * sums.slope).sum(), (2 * n * sums.curvature_2).sum()


def newton_step(middle: Ball, first: Ball, second: Ball, inner: Ball) -> Ball:
    """Enclose the only root in `inner`, from L' at its midpoint and L'' on the entire interval."""
    if not second > 0:
        raise NotProved(f"L'' could not be proved positive near k*: it is in {second}")
    root = middle - first / second
    if not inner.contains_interior(root):
        raise NotProved(f"the Newton step leaves its interval: {root} is not inside {inner}")
    return root


def prove_sign(horizon: int, low: float, high: float, sign: int, smallest: float) -> None:
    """Prove that L' has this sign from low to high, bisecting where balls are too wide."""
    from flint import arb

    width = NEWTON_SHARE * low
    while low < high:
        end = min(low + width, high)
        middle = arb((low + end) / 2)
        half = arb(0, (end - low) / 2 * (1 + 1e-9))
        slope, _ = _derivatives(middle, horizon, ROUGH_DIGITS)
        _, second = _derivatives(middle + half, horizon, ROUGH_DIGITS)
        if sign * (slope + second * half) > 0:
            low = end
            width *= 2
        elif width < smallest:
            raise NotProved(f"the sign of L' could not be proved on [{low:.6g}, {end:.6g}]")
        else:
            width /= 2


def _eigenvalues(k: Ball, sums: RoundSums) -> Iterator[tuple[str, Ball]]:
    """Yield the blocks of `regrax.theory.hessian` for two actions; the sum of slopes is 0 at the root."""
    n = np.arange(1, 1 + sums.gap.size)
    trace = 2 * sums.curvature
    along = 2 * sums.curvature_2
    uu = (n * n * trace).sum()
    ua = -k * (n * (along - trace)).sum()
    aa = k * k * ((2 * n - 1) * trace + 2 * sums.curvature_4 - 2 * along).sum()
    yield "step", (n * along).sum()
    yield "common score", k * k * (along + (n - 1) * trace).sum()
    yield "common loss", (n * trace).sum()
    va = ua - k * uu  # v_c = u + k a
    half = (uu + aa - 2 * k * va - k * k * uu) / 2
    large = half + ((uu - half) ** 2 + va * va).sqrt()
    yield "mixed", (uu * aa - ua * ua) / large
    yield "mixed", large
