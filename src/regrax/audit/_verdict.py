r"""Is it learning? A verdict whose false alarms are counted before it is given.

Let $j^*$ be the action that is best in hindsight, $r_t = c_t - \ell_{t,j^*}$ the regret of round $t$ against it, and
$q_t = \langle \bar\ell, \pi_t \rangle$ what round $t$'s play loses on the episode's average losses. If regret is
$2 \theta \sqrt t + c t$ then $r_t \approx c + \theta t^{-1/2}$, and the best test of $\theta > 0$ in white noise is

    W(x) = sum_t w_t x_t,        w_t = t^{-1/2} - mean_s s^{-1/2}

Learning is claimed only if both $W(r)$ (regret a round falls) and $W(q)$ (play moves to better actions, and not merely
the losses towards each other) are larger than chance makes them. The p-value is the larger of the two, which holds its
level if either does. Chance is

- with fewer than ten episodes, the same rounds in random order: in any order they are those of an agent with linear
  regret. Rounds move in blocks of $(1 + \rho)/(1 - \rho)$, $\rho$ the correlation of neighbours around the fit;
- from ten episodes on, the studentised bootstrap over episodes, whatever the dependence within them.

An episode of more than `BINS` rounds is looked at twice, whole, in `BINS` sums of equal length, and its first `BINS`
rounds alone; the smaller p-value counts twofold.

Without that claim: regret of the later half surely below a fiftieth of the losses' spread (a simultaneous interval over
the actions) is "no regret"; surely above 0 while play does not move, "not learning"; the rest "cannot tell". On losses
that favour no action every player has the same expected regret, so there nobody can tell.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit

from regrax.audit import _bootstrap as bootstrap
from regrax.audit._published_tests import TESTS, all_tests, regression

BINS = 512
MANY = 10  # episodes from which they, and not the order of rounds, are the source of chance
LEAST_ROUNDS = 8
DRAWS = 1000  # random orders for the verdict
CURVES = 200  # random orders for the false alarms of the published tests
BLOCKS = 24  # blocks that a random order keeps at least
LEVEL = 0.05
NEGLIGIBLE = 0.02  # of the spread of a round's losses

Word = Literal["learning", "not learning", "no regret", "cannot tell"]


class Bins(NamedTuple):
    """Episodes in sums over `length` rounds each: what was suffered, played, and lost by every action."""

    suffered: Float[np.ndarray, "n m"]
    played: Float[np.ndarray, "n m d"]
    losses: Float[np.ndarray, "n m d"]
    length: int

    @property
    def regrets(self) -> Float[np.ndarray, "n m"]:
        """Regret of every bin against the action that is best in hindsight."""
        best = self.losses.sum(1).argmin(1)
        return self.suffered - np.take_along_axis(self.losses, best[:, None, None], 2)[..., 0]

    @property
    def quality(self) -> Float[np.ndarray, "n m"]:
        """What each bin's play loses on the episode's average losses."""
        average = self.losses.mean(1)
        return np.einsum("nmd,nd->nm", self.played, average) / self.length

    def first(self, count: int) -> "Bins":
        """The first `count` episodes."""
        return Bins(self.suffered[:count], self.played[:count], self.losses[:count], self.length)

    def curve(self, order: np.ndarray | None = None) -> Float[np.ndarray, "m"]:
        """Mean external regret after every bin, the bins taken in the given order."""
        suffered, losses = self.suffered, self.losses
        if order is not None:
            suffered = np.take_along_axis(suffered, order, 1)
            losses = np.take_along_axis(losses, order[..., None], 1)
        return (np.cumsum(suffered, 1) - np.cumsum(losses, 1).min(2)).mean(0)


class Scores(NamedTuple):
    """What each episode says: the two statistics, and regret a round of its later half against every action."""

    regret: Float[np.ndarray, "n"]
    quality: Float[np.ndarray, "n"]
    late: Float[np.ndarray, "n d"]


@dataclass(frozen=True)
class Published:
    """A published test: its p-value, and how often it calls an agent with linear regret sublinear at 5 %."""

    p_value: float
    false_alarms: float


@dataclass(frozen=True)
class Learning:
    """The verdict with what it rests on."""

    verdict: Word
    words: str
    p_value: float | None  # of the verdict "learning"
    regret_falls: float | None  # p-value
    play_moves: float | None  # p-value
    early: float | None  # regret a round in the earlier half of the episodes
    late: float | None
    exponent: float | None  # b0 of the regression
    left_out: int  # rounds without positive regret, which the regression cannot use
    tests: dict[str, Published]
    null: str


def weights(m: int) -> Float[np.ndarray, "m"]:
    r"""$w_t = t^{-1/2}$ less its mean, to unit length."""
    w = np.arange(1, m + 1) ** -0.5
    w -= w.mean()
    return w / max(np.linalg.norm(w), 1e-300)  # of one round alone the weight is 0


def score(bins: Bins) -> Scores:
    """The statistics of every episode."""
    w, half = weights(bins.suffered.shape[1]), bins.suffered.shape[1] // 2
    late = (bins.suffered[..., None] - bins.losses)[:, half:].mean(1) / bins.length
    return Scores(_statistic(bins.regrets, w), _statistic(bins.quality, w), late)


def _statistic(series: Float[np.ndarray, "n m"], w: Float[np.ndarray, "m"]) -> np.ndarray:
    """`W` of every episode; what is only rounding of a constant series is 0."""
    found = series @ w
    return np.where(np.abs(found) > 1e-9 * np.abs(series).max(1), found, 0.0)


def judge(windows: list[Bins], scores: list[Scores], span: float, seed: int = 0) -> Learning:
    """The verdict from bins of some episodes and the scores of all; `span` is the mean spread of a round's losses."""
    whole = windows[0]
    m = whole.suffered.shape[1]
    if m < LEAST_ROUNDS:
        return _silent(f"cannot tell: at least {LEAST_ROUNDS} rounds are needed, but there are {m}")
    many = len(scores[0].regret) >= MANY
    pairs = [_p_values(b, s, many, seed) for b, s in zip(windows, scores, strict=True)]
    chosen = min(pairs, key=max)
    p = min(1.0, len(pairs) * max(chosen))
    falls, moves = (min(1.0, len(pairs) * value) for value in chosen)
    low, high = _late_interval(whole, scores[0], many)
    early, late = _halves(whole)
    verdict = _decide(p, moves, low, high, span)
    curve, rounds = whole.curve()[None], whole.length * np.arange(1.0, m + 1)
    slope, _, left_out = regression(curve, rounds)
    return Learning(
        verdict,
        _words(verdict, early, late, p, falls, moves),
        p,
        falls,
        moves,
        early,
        late,
        float(slope[0]),
        int(left_out[0]),
        _published(whole, rounds, seed),
        "bootstrap over episodes" if many else "rounds in random order",
    )


def _p_values(bins: Bins, scores: Scores, many: bool, seed: int) -> tuple[float, float]:
    pairs = ((bins.regrets, scores.regret), (bins.quality, scores.quality))
    found = []
    for series, statistic in pairs:
        p = bootstrap.p_value(statistic, seed) if many else None
        found.append(_shuffled(series, seed) if p is None else p)
    return float(found[0]), float(found[1])


def _shuffled(series: Float[np.ndarray, "n m"], seed: int) -> float:
    """How often rounds in random order have a statistic as large as in the order they came."""
    n, m = series.shape
    w = weights(m)
    scale = np.abs(series).max(initial=0.0)
    observed = float((series @ w).sum())
    generator, block = np.random.default_rng(seed), block_length(series)
    drawn = [
        float((np.take_along_axis(series, orders(n, m, block, generator), 1) @ w).sum())
        for _ in range(DRAWS)
    ]
    tie = 1e-9 * scale  # equal up to rounding counts as equal
    return (1 + sum(value >= observed - tie for value in drawn)) / (1 + DRAWS)


def orders(n: int, m: int, block: int, generator: np.random.Generator) -> np.ndarray:
    """A random order of `m` bins for each of `n` episodes, blocks of neighbours kept together.

    >>> sorted(orders(1, 5, 2, np.random.default_rng(0))[0].tolist())
    [0, 1, 2, 3, 4]
    """
    blocks = -(-m // block)
    keys = generator.random((n, blocks))
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
    if power <= 1e-18 * float((series**2).sum()):
        return 1
    rho = float((rest[:, 1:] * rest[:, :-1]).sum()) / power
    if rho < 1.64 / (n * m) ** 0.5:
        return 1
    return int(max(1, min(np.ceil((1 + rho) / max(1 - rho, 1e-3)), m // BLOCKS)))


def _late_interval(bins: Bins, scores: Scores, many: bool) -> tuple[float, float]:
    """Where the later half's regret a round surely lies: episodes, or batches of rounds, as samples."""
    if many:
        samples = scores.late
    else:
        half = bins.suffered.shape[1] // 2
        rates = (bins.suffered[..., None] - bins.losses)[:, half:] / bins.length
        n, m, d = rates.shape
        size = m // 16 * 2 or 1  # eight batches, of even size: in them losses that alternate cancel
        samples = rates[:, m % size :].reshape(n, -1, size, d).mean(2).reshape(-1, d)
    count, d = samples.shape
    error = samples.std(0, ddof=1) / count**0.5
    q = stdtrit(count - 1, 1 - LEVEL / d)
    return float((samples.mean(0) - q * error).max()), float((samples.mean(0) + q * error).max())


def _halves(bins: Bins) -> tuple[float, float]:
    rates = bins.regrets.mean(0) / bins.length
    half = len(rates) // 2
    return float(rates[:half].mean()), float(rates[half:].mean())


def _decide(p: float, moves: float, low: float, high: float, span: float) -> Word:
    tiny = 1e-12 * span
    if p <= LEVEL:
        return "learning"
    if high <= max(NEGLIGIBLE * span, tiny):
        return "no regret"
    if low > tiny and moves > LEVEL:
        return "not learning"
    return "cannot tell"


def _words(verdict: Word, early: float, late: float, p: float, falls: float, moves: float) -> str:
    rates = f"{early:.3g} a round in the first half, {late:.3g} in the second"
    if verdict == "learning":
        return f"learning: regret falls, {rates} (p = {p:.2g})"
    if verdict == "not learning":
        return (
            f"not learning: regret does not fall, {rates} (p = {falls:.2g}), "
            f"and play does not improve (p = {moves:.2g})"
        )
    if verdict == "no regret":
        return f"no regret: next to nothing is left to learn, {rates}"
    if moves <= LEVEL:
        return (
            f"cannot tell: play moves towards better actions (p = {moves:.2g}), "
            f"but regret does not clearly fall, {rates} (p = {falls:.2g})"
        )
    return f"cannot tell: neither a fall of regret (p = {falls:.2g}) nor lasting regret is clear, {rates}"


def _silent(words: str) -> Learning:
    return Learning("cannot tell", words, None, None, None, None, None, None, 0, {}, "none")


def _published(bins: Bins, rounds: Float[np.ndarray, "m"], seed: int) -> dict[str, Published]:
    """The published tests on the mean curve, and their false alarms on the same rounds in random order."""
    n, m = bins.suffered.shape
    generator, block = np.random.default_rng(seed), block_length(bins.regrets)
    curves = np.stack([bins.curve(orders(n, m, block, generator)) for _ in range(CURVES)])
    found, null = all_tests(bins.curve()[None], rounds), all_tests(curves, rounds)
    alarms = {name: float(np.mean(null[name] <= LEVEL)) for name in TESTS}
    return {name: Published(float(found[name][0]), alarms[name]) for name in TESTS}
