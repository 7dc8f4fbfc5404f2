r"""Certificates for two actions that are proofs: $k^*$, losses and every eigenvalue, enclosed in ball arithmetic.

$L'(k) = \sum_n \sqrt{2n}\,E[X g'_n]$ and $L''(k) = \sum_n 2n\,E[X^2 g''_n]$ come from `_trapezoid` with
their errors. On an interval $I$ around $m$ where $L''(I) > 0$, the interval Newton step $m - L'(m)/L''(I)$ inside $I$
proves that $I$ has exactly one root, and encloses it. Around $I$ the sign of $L'$ is proved on pieces $J$ by
$L'(J) \subset L'(\mathrm{mid}) + L''(J)\,(J - \mathrm{mid})$, so that the root is the only one on a wide interval.
"""

import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from regrax import _checks as checks, theory
from regrax.paper.certify._trapezoid import RoundSums, precision, round_sums

ROUGH_DIGITS = 9
"""Of sums that only have to show a sign."""

NEWTON_SHARE = 0.03
"""Half width of the interval of the Newton step, as a share of the step."""

SMALLEST_PIECE = 1e-6
"""A piece of the interval, as a share of the step, that is not cut further: the sign is then left open."""


class Enclosure(NamedTuple):
    """A ball of `flint.arb` that is proved to hold a number."""

    ball: Any

    @property
    def text(self) -> str:
        """Its digits and radius."""
        return self.ball.str(40, radius=True)

    @property
    def width(self) -> float:
        """Twice the radius, rounded up."""
        return float(2 * self.ball.rad())

    def verdict(self, claim: str) -> Literal["proved", "refuted", "undecided"]:
        """What is proved of a claim in decimals: that the number is within one unit of its last digit."""
        from flint import arb

        if not re.fullmatch(r"\d+\.\d+", claim):
            raise ValueError(f"claim must be a number in decimals like 0.4149, got {claim!r}")
        with precision(len(claim) + 20):
            unit = arb(10) ** -len(claim.partition(".")[2])
            away = abs(self.ball - arb(claim))
            if away > unit:
                return "refuted"
            return "proved" if away <= unit else "undecided"


class Certificate(NamedTuple):
    r"""What is proved for two actions and one horizon.

    Attributes:
        horizon: $T$.
        step: encloses $k^\star$.
        only_root_on: the interval on which $L'$ has no other root.
        loss: encloses $L(k^\star)$.
        optimal_loss: encloses $L^*$.
        eigenvalues: five of the Hessian, each with its direction; three more directions are flat.
    """

    horizon: int
    step: Enclosure
    only_root_on: tuple[float, float]
    loss: Enclosure
    optimal_loss: Enclosure
    eigenvalues: tuple[tuple[str, Enclosure], ...]

    @property
    def is_minimum(self) -> bool:
        """Whether every eigenvalue is proved to be above zero."""
        return all(e.ball > 0 for _, e in self.eigenvalues)


class NotProved(ArithmeticError):
    """A certificate that could not be completed: the statement may hold, but this computation does not show it."""


def rigorous_certificate(
    horizon: int, *, digits: int = 30, reach: float = 2.0, widen: float = 1.0
) -> Certificate:
    r"""Enclosures of $k^*(2, T)$, $L(k^*)$, $L^*$ and the five eigenvalues of the Hessian at $k^*$.

    Args:
        horizon: $T$, an integer >= 2.
        digits: decimals that the sums are computed to.
        reach: $k^*$ is proved to be the only root of $L'$ between $k^*$ divided and multiplied by this.
        widen: stretches every strip; above 1 the proof must fail, which is how its condition is tested.

    >>> proved = rigorous_certificate(2, digits=20, reach=1.1)  # doctest: +SKIP
    >>> proved.step.verdict("1.17646907728"), proved.step.verdict("1.17646907729")  # doctest: +SKIP
    ('proved', 'refuted')
    """
    checks.at_least("horizon", horizon, 2)
    checks.at_least("digits", digits, 5)
    with precision(digits):
        step, inner = _stationary(horizon, digits, widen)
        outer = _only_root(horizon, inner, float(step.mid()), reach)
        sums = [round_sums(step, n, horizon, digits, widen) for n in range(1, horizon)]
        best = _optimal_loss(horizon)
        loss = best + sum(s.gap for s in sums)
        values = tuple((name, Enclosure(ball)) for name, ball in _eigenvalues(step, sums))
    return Certificate(horizon, Enclosure(step), outer, Enclosure(loss), Enclosure(best), values)


def _derivatives(k: Any, horizon: int, digits: int, widen: float = 1.0) -> tuple[Any, Any]:
    """L'(k) and L''(k) for a ball of steps."""
    from flint import arb

    sums = [(n, round_sums(k, n, horizon, digits, widen)) for n in range(1, horizon)]
    first = sum(arb(2 * n).sqrt() * of.slope for n, of in sums)
    return first, sum(2 * n * of.curvature_2 for n, of in sums)


def _stationary(horizon: int, digits: int, widen: float) -> tuple[Any, Any]:
    """The enclosure of the root, and the interval on which one Newton step proves that it is the only one."""
    from flint import arb

    middle = arb(theory.step_size(2, horizon))
    for _ in range(2):  # from rounding to four times its digits; nothing is proved yet
        first, second = _derivatives(middle, horizon, digits, widen)
        middle = (middle - first / second).mid()
    inner = middle * arb(1, NEWTON_SHARE)
    first = _derivatives(middle, horizon, digits, widen)[0]
    second = _derivatives(inner, horizon, ROUGH_DIGITS, widen)[1]
    return newton_step(middle, first, second, inner), inner


def newton_step(middle: Any, first: Any, second: Any, inner: Any) -> Any:
    """The only root in `inner`, enclosed: from L' at its middle, and L'' on all of it."""
    if not second > 0:
        raise NotProved(f"L'' could not be shown to be above 0 near k*: it is in {second}")
    root = middle - first / second
    if not inner.contains_interior(root):
        raise NotProved(f"the Newton step leaves its interval: {root} is not inside {inner}")
    return root


def _only_root(horizon: int, inner: Any, step: float, reach: float) -> tuple[float, float]:
    """The interval on which the sign of L' is proved on both sides of the inner one."""
    low, high = float(inner.lower()), float(inner.upper())
    start, end = min(step / reach, low), max(step * reach, high)
    for a, b, sign in ((start, low * (1 + 1e-12), -1), (high * (1 - 1e-12), end, 1)):
        _prove_sign(horizon, a, b, sign, SMALLEST_PIECE * step)
    return start, end


def _prove_sign(horizon: int, low: float, high: float, sign: int, smallest: float) -> None:
    """Show that L' has one sign from low to high, cutting in half where balls are too wide."""
    from flint import arb

    width = NEWTON_SHARE * low
    while low < high:
        end = min(low + width, high)
        middle = arb((low + end) / 2)
        half = arb(0, (end - low) / 2 * (1 + 1e-9))
        slope, _ = _derivatives(middle, horizon, ROUGH_DIGITS)
        _, second = _derivatives(middle + half, horizon, ROUGH_DIGITS)
        if sign * (slope + second * half) > 0:
            low, width = end, 2 * width
        elif width < smallest:
            raise NotProved(f"the sign of L' could not be shown on [{low:.6g}, {end:.6g}]")
        else:
            width /= 2


def _optimal_loss(horizon: int) -> Any:
    r"""$L^* = T/2 - \frac1\pi \sum_n \arcsin(n/T)$."""
    from flint import arb

    angles = sum((arb(n) / horizon).asin() for n in range(1, horizon))
    return arb(horizon) / 2 - angles / arb.pi()


def _eigenvalues(k: Any, sums: list[RoundSums]) -> Iterator[tuple[str, Any]]:
    """The blocks of `regrax.theory.hessian` for two actions; the sum of slopes is 0 at the root itself."""
    # below i is n, and t, a, f are the trace, along and along the square
    rows = [
        (i, 2 * s.curvature, 2 * s.curvature_2, 2 * s.curvature_4) for i, s in enumerate(sums, 1)
    ]
    yield "step", sum(i * a for i, _, a, _ in rows)
    yield "common score", k * k * sum(a + (i - 1) * t for i, t, a, _ in rows)
    yield "common loss", sum(i * t for i, t, _, _ in rows)
    uu = sum(i * i * t for i, t, _, _ in rows)
    ua = -k * sum(i * (a - t) for i, t, a, _ in rows)
    aa = k * k * sum((2 * i - 1) * t + f - 2 * a for i, t, a, f in rows)
    va = ua - k * uu  # v_c = u + k a
    half = (uu + aa - 2 * k * va - k * k * uu) / 2
    large = half + ((uu - half) ** 2 + va * va).sqrt()
    yield "mixed", (uu * aa - ua * ua) / large
    yield "mixed", large
