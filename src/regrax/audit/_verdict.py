r"""Is it learning? A verdict whose false alarms are counted before it is given.

Everything is measured within an episode against that episode's own best action, and then averaged: best actions may
differ between episodes. With $r_t$ the regret of round $t$ and $q_t$ the quality of its play (`regrax.audit._bins`), if
regret is $2 \theta \sqrt t + c t$ then $r_t \approx c + \theta t^{-1/2}$, and the best test of $\theta > 0$ in white
noise is $W(r) = \sum_t w_t r_t$. "Learning" needs

- both $W(r)$ (regret per round falls) and $W(q)$ (play moves to better actions, and not merely the losses towards each
  other) to be larger than chance makes them; the larger p-value counts, which holds its level if either does;
- regret per round of the later half to be below that of the earlier half by a quarter of it at least: an agent that is
  bad in its first round only has linear regret all the same.

Chance is

- with fewer than ten episodes, the same rounds in random order: in any order they are those of an agent with linear
  regret. Rounds move in blocks of $(1 + \rho)/(1 - \rho)$, $\rho$ the correlation of neighbours around the fit;
- from ten episodes on, both the studentised bootstrap over episodes, whatever the dependence within them, and the
  rounds of the mean over episodes in random order: an agent that goes through the actions in a circle, starting at a
  bad one, has $E[W] > 0$ in every episode, but no more than its circle has from elsewhere. The larger p-value counts.

An episode of more than `BINS` rounds is looked at twice, whole, in `BINS` sums of equal length, and its first `BINS`
rounds alone; the smaller p-value counts twofold.

Without that claim, let $\rho_{e,j}$ be the regret per round against $j$ in the later half of episode $e$:

    no regret      mean_e max_j rho_ej + q s < a fiftieth of the losses' spread
    not learning   mean_e rho_{e,b(e)} - q_j s_j > 0 for some b, and play does not move

A mean of maxima is never below the lasting regret, so the first cannot miss any (of estimated losses only if every
action was played often enough). For the second, $b$ is a fixed action or the leader of the episode's earlier half:
chosen on other rounds than it is used on, so that what it saves is unbiased and a lower bound of what the best action
saves; the interval is simultaneous in the $d + 1$ choices. The rest is "cannot tell". On losses that favour no action
every player has the same expected regret, so there nobody can tell.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit

from regrax.audit import _bootstrap as bootstrap
from regrax.audit._bins import Bins, Scores, weights
from regrax.audit._published_tests import all_tests, regression

BINS = 512  # into which a longer episode is summed
MIN_INDEPENDENT_EPISODES = 10  # from here chance is that of episodes, not of the order of rounds
MIN_ROUNDS = 8  # below, nothing is said
DRAWS = 1000  # random orders for the verdict
CURVES = 200  # random orders for the false alarms of the published tests
MIN_BLOCKS = 24  # that a random order is made of
LEVEL = 0.05  # of every test
CLEAR = 0.01  # p-value at which play moves so clearly that regret may yet fall
NEGLIGIBLE = 0.02  # of the spread of a round's losses
FALL = 0.25  # of the earlier half's regret

Verdict = Literal["learning", "not learning", "no regret", "cannot tell"]
Ends = tuple[float, float]  # of an interval


@dataclass(frozen=True, slots=True)
class Published:
    """A published test: its p-value, and how often it calls an agent with linear regret sublinear at 5 %."""

    p_value: float
    false_alarms: float


@dataclass(frozen=True, slots=True)
class Learning:
    """The verdict with what it rests on.

    Attributes:
        verdict: one word.
        words: the same as a sentence.
        p_value: of the verdict "learning".
        regret_falls: p-value that regret per round falls.
        play_moves: p-value that play changes over the rounds.
        early: regret per round in the earlier half of the episodes.
        late: in the later half.
        exponent: $b_0$ of the regression of Park et al.
        left_out: rounds without positive regret, which the regression cannot use.
        tests: the published tests by name.
        null: what chance is taken to be: a bootstrap over episodes, or rounds in random order.
    """

    verdict: Verdict
    words: str
    p_value: float | None = None
    regret_falls: float | None = None
    play_moves: float | None = None
    early: float | None = None
    late: float | None = None
    exponent: float | None = None
    left_out: int = 0
    tests: dict[str, Published] = field(default_factory=dict)
    null: str = "none"


def judge(
    windows: list[Bins], scores: list[Scores], span: float, explored: bool = True, seed: int = 0
) -> Learning:
    """The verdict.

    Args:
        windows: bins of some episodes, whole and of their first rounds.
        scores: those of all episodes.
        span: mean spread of a round's losses.
        explored: whether every action was played often enough to be compared with.
        seed: of the random orders.
    """
    whole = windows[0]
    m = whole.suffered.shape[1]
    if m < MIN_ROUNDS:
        few = f"cannot tell: at least {MIN_ROUNDS} rounds are needed, got {m}"
        return Learning("cannot tell", few)
    independent = len(scores[0].regret) >= MIN_INDEPENDENT_EPISODES
    pairs = [_p_values(b, s, independent, seed) for b, s in zip(windows, scores, strict=True)]
    falls, moves = (min(1.0, len(pairs) * p) for p in min(pairs, key=max))
    early, late = _halves(scores[0], whole.length)
    ends = _late_interval(whole, scores[0], independent)
    verdict, why = _decide(falls, moves, early, late, ends, span, explored)
    curve, rounds = whole.curve()[None], whole.length * np.arange(1.0, m + 1)
    (exponent,), _, (left_out,) = regression(curve, rounds)
    p_values, fit = (max(falls, moves), falls, moves), (float(exponent), int(left_out))
    tests = _published(whole, rounds, seed)
    null = "bootstrap over episodes" if independent else "rounds in random order"
    return Learning(verdict, f"{verdict}: {why}", *p_values, early, late, *fit, tests, null)


def _p_values(bins: Bins, scores: Scores, independent: bool, seed: int) -> list[float]:
    """Of `W(r)` and of `W(q)`."""
    if not independent:
        return [_shuffled(series, seed) for series in bins.series()]
    sums = (scores.regret, scores.regrets), (scores.quality, scores.qualities)
    return [
        max(bootstrap.p_value(each, seed), _shuffled(total.sum(0, keepdims=True), seed))
        for each, total in sums
    ]


def _shuffled(series: Float[np.ndarray, "n m"], seed: int) -> float:
    """How often rounds in random order have a statistic as large as in the order they were played."""
    n, m = series.shape
    drawn = _shuffled_weights(n, m, block_length(series), seed) @ series.ravel()
    tie = 1e-9 * np.abs(series).max(initial=0.0)  # equal up to rounding counts as equal
    return float(1 + np.sum(drawn >= (series @ weights(m)).sum() - tie)) / (1 + DRAWS)


@lru_cache(8)
def _shuffled_weights(n: int, m: int, block: int, seed: int) -> Float[np.ndarray, "draws nm"]:
    """The weights of `n` episodes in random orders."""
    generator, w = np.random.default_rng(seed), weights(m)
    drawn = (orders(n, m, block, generator) for _ in range(DRAWS))
    return np.stack([w[np.argsort(order, 1)].ravel() for order in drawn])


def orders(n: int, m: int, block: int, generator: np.random.Generator) -> np.ndarray:
    """A random order of `m` bins for each of `n` episodes, blocks of neighbours kept together.

    >>> sorted(orders(1, 5, 2, np.random.default_rng(0))[0].tolist())
    [0, 1, 2, 3, 4]
    """
    keys = generator.random((n, -(-m // block)))
    return np.argsort(np.repeat(keys, block, 1)[:, :m], axis=1, kind="stable")


def block_length(series: Float[np.ndarray, "n m"]) -> int:
    r"""$(1 + \rho)/(1 - \rho)$ rounded up, $\rho$ the correlation of neighbours around $c + \theta t^{-1/2}$.

    >>> block_length(np.random.default_rng(0).normal(size=(1, 200)))
    1
    """
    n, m = series.shape
    w = weights(m)
    rest = series - series.mean(1, keepdims=True)
    rest = rest - (rest @ w)[:, None] * w
    power = float((rest**2).sum())
    constant = power <= 1e-18 * float((series**2).sum())
    rho = 0.0 if constant else float((rest[:, 1:] * rest[:, :-1]).sum()) / power
    rho = rho if rho >= 1.64 / (n * m) ** 0.5 else 0.0  # not more than chance makes it
    return int(max(1, min(np.ceil((1 + rho) / max(1 - rho, 1e-3)), m // MIN_BLOCKS)))


def _late_interval(bins: Bins, scores: Scores, independent: bool) -> Ends:
    """Bounds of the later half's regret per round: below and above, each at 95 %; samples are episodes, or batches."""
    low, high = scores.low, scores.high.reshape(1, -1, 1)
    if not independent:
        rates = bins.rates()
        n, m, d = rates.shape
        size = m // 16 * 2 or 1  # eight batches, of even size: in them losses that alternate cancel
        high = rates[:, m % size :].reshape(n, -1, size, d).mean(2)
        leading = np.take_along_axis(high, bins.leaders()[:, None, None], 2)
        low = np.concatenate([high, leading], 2).reshape(-1, d + 1)
    return float(_end(low, -1).max()), float(np.mean([_end(each, 1).max() for each in high]))


def _end(samples: Float[np.ndarray, "k c"], sign: int) -> Float[np.ndarray, "c"]:
    """The ends of one-sided intervals of the means, simultaneous in the columns."""
    count, columns = samples.shape
    error = samples.std(0, ddof=1) / count**0.5
    return samples.mean(0) + sign * stdtrit(count - 1, 1 - LEVEL / columns) * error


def _halves(scores: Scores, length: int) -> tuple[float, float]:
    """Mean regret per round in the earlier and in the later half of the bins."""
    rates = scores.regrets.sum(0) / len(scores.regret) / length
    half = len(rates) // 2
    return float(rates[:half].mean()), float(rates[half:].mean())


def _decide(
    falls: float, moves: float, early: float, late: float, ends: Ends, span: float, explored: bool
) -> tuple[Verdict, str]:
    """The verdict by the rules above, and why; `ends` are the bounds of the later half's regret."""
    rates = f"{early:.3g} per round in the first half, {late:.3g} in the second"
    fell, moved = f"{rates} (p = {falls:.2g})", f"(p = {moves:.2g})"
    if max(falls, moves) <= LEVEL and early - late >= FALL * abs(early):
        return "learning", f"regret falls, {rates} (p = {max(falls, moves):.2g})"
    if ends[1] <= NEGLIGIBLE * span and explored:
        return "no regret", f"next to nothing is left to learn, {rates}"
    if ends[0] > 1e-12 * span and moves > CLEAR:
        return "not learning", f"regret does not fall, {fell}, and play does not improve {moved}"
    why = f"neither a fall of regret (p = {falls:.2g}) nor lasting regret is clear, {rates}"
    if moves <= CLEAR:
        why = f"play moves towards better actions {moved}, but regret does not clearly fall, {fell}"
    elif not explored:
        why = f"some actions were played too rarely to be compared with, {rates}"
    return "cannot tell", why


def _published(bins: Bins, rounds: Float[np.ndarray, "m"], seed: int) -> dict[str, Published]:
    """The published tests on the mean curve, and their false alarms on the same rounds in random order."""
    n, m = bins.suffered.shape
    generator, block = np.random.default_rng(seed), block_length(bins.series()[0])
    curves = np.stack([bins.curve(orders(n, m, block, generator)) for _ in range(CURVES)])
    found, null = all_tests(bins.curve()[None], rounds), all_tests(curves, rounds)
    alarms = {name: float(np.mean(p <= LEVEL)) for name, p in null.items()}
    return {name: Published(float(p[0]), alarms[name]) for name, p in found.items()}
