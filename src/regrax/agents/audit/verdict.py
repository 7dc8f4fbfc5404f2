r"""Step 3 of an audit: the verdict on whether an agent is learning, with false alarms controlled at 5 %.

Everything is measured within an episode against that episode's own best action, and then averaged, since best actions
may differ between episodes. With $r_t$ the regret in round $t$, $Y$ the improvement in play, and $r_1, r_2$ the regret
per round in the two halves as below, "learning" requires

- falling regret: if regret is $2 \theta \sqrt t + c t$, then $r_t \approx c + \theta t^{-1/2}$, and the best test of
  $\theta > 0$ in white noise is $W = \sum_t w_t r_t$; in addition, $r_2 \le 3/4 r_1$;
- improving play: $E[Y] > 0$ and $E[Y] > r_1 / 4$. The first test keeps its level for every player that never changes
  its play, whatever its opponent does, and ignores the first round; the second rules out players that cycle through
  their actions starting with a bad one, or that play badly in only a few rounds.

All tests are at 5 %, and the largest p-value is reported, which is valid if any of them is. With at least five episodes
they are Student's t tests over episodes, which allow any dependence within an episode. With fewer episodes, or if all
are identical, the null distribution comes from putting the rounds of each episode in random order, in blocks of length
$(1 + \rho)/(1 - \rho)$, where $\rho$ is the correlation of neighbours around the fit; for $Y$, plays are permuted while
losses stay in place, and early rounds have weight $t^{-1/2}$.

An episode of more than `BINS` rounds is tested twice: in full, summed into `BINS` bins of equal length, and on its
first `BINS` rounds alone. The p-value is twice the smaller of the two.

Otherwise, let $\rho_{e,j}$ be the regret per round against $j$ in the second half of episode $e$, $x_e$ the savings
there from following the leader (or random play), $R$ the mean regret of an episode of $T$ rounds, and $w$ the spread of
a round's losses:

    no regret      mean_e max_j rho_ej + q s < w / 50
    not learning   mean_e x_e - q s > 0, mean_e max_j rho_ej - q s > 0, R > w sqrt(T ln(d) / 2), play does not improve

A mean of maxima is never below the lasting regret, so "no regret" cannot overlook any (for estimated losses, only if
every action was played often enough). For "not learning", the leader is known before each round, so its savings are
unbiased, and a player without foresight could have achieved them; $w \sqrt{T \ln(d) / 2}$ bounds the regret of Hedge,
and is replaced by $w \sqrt{d T \ln(d) / 2}$ if only one of the $d$ losses is received. All other cases are "cannot
tell". On losses that favour no action, every player has the same expected regret, so no test can tell.

**Statistics of an episode's own regret.** Let $c$ be the player's loss in a bin, $\ell$ the losses of all actions,
$\pi$ the play, $h$ half the number $m$ of bins, and $\bar\ell$ the episode's average losses:

    r_t = c_t - l_{t,j*},  j* = argmin_j lbar_j                      regret against the episode's own best action
    W = sum_t w_t r_t,     w_t = t^{-1/2} - mean_s s^{-1/2}          how much it falls
    Y = 1/h sum_{t <= h} <mean_{s < t} l_s, pi_t - mean_{u > h} pi_u>    how much play improves
    x_t = c_t - l_{t,j(t)},  j(t) = argmin_j sum_{s < t} l_{s,j}         savings from following the leader

A player whose play never changes draws its actions from one distribution. Every term of $Y$ then has mean 0 given the
rounds before $t$, whatever the opponent does, because the losses in that term precede both draws. Since $j(t)$ is also
known before round $t$, $x_t$ is what a player without foresight could have saved.

If losses are estimated, the minimum of noisy sums is biased, and a bin's own estimate depends on its play. The bins are
therefore split once, at random, into two halves, and $\bar\ell$ for a bin is the average over the other half, so that
no bin is judged by its own estimate.

**Published tests.** For a curve $R_1, \dots, R_T$ with $s$ decreases of $R_t / t$ among its $T - 1$ steps,

    trend check    p = 2^-(T-1) sum_{i >= s} C(T-1, i)                   decreases against coin flips
    regression     log R_t = b0 log t + b1 where R_t > 0, one-sided t-test of b0 < 1
    Mann-Kendall   S = sum_{i<j} sign(R_j/j - R_i/i), normal with variance T(T-1)(2T+5)/18 less that of ties

All three assume independent steps or rounds, but those of a cumulative sum are not, so the
false-alarm rate of each is reported. References: Park, Liu, Ozdaglar, Zhang (2024), Do LLM agents have regret?; Mann
(1945), Kendall (1975).
"""

from dataclasses import dataclass, field
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import bdtrc, ndtr, stdtr, stdtrit

from regrax.agents.audit.intervals import (
    MIN_EPISODES,
    PerEpisode,
    Series,
    Vectors,
    standard_error,
)

Array = np.ndarray

Curve = Float[Array, "m"]
Known = Bool[Array, "d"]

BINS = 512  # longer episodes are summed into this many bins
MIN_ROUNDS = 8
ORDERS = 1000  # random orders for the verdict
CURVES = 200  # random orders for the false alarms of the published tests
MIN_BLOCKS = 12  # minimum number of blocks in a random order
LEVEL = 0.05  # significance level of every test
CLEAR = 0.01  # at or below this p-value, play improves so clearly that regret may still fall
NEGLIGIBLE = 0.02  # largest negligible regret, as a fraction of the spread of a round's losses
FALL = 0.25  # smallest fall in regret that counts as learning, as a fraction of first-half regret

Verdict = Literal["learning", "not learning", "no regret", "cannot tell"]


class Bins(NamedTuple):
    """`n` episodes of `m` bins over `d` actions, where each bin sums `length` rounds, such as one.

    Attributes:
        suffered: the player's loss.
        played: the sum of the policies, or action counts.
        losses: the losses of every action.
        length: rounds per bin.
        estimated: True if losses are estimates from bandit feedback.
    """

    suffered: Series
    played: Vectors
    losses: Vectors
    length: int = 1
    estimated: bool = False

    def part(self, at: slice) -> "Bins":
        """Return a slice of the episodes."""
        suffered, played, losses = (part[at] for part in self[:3])
        return Bins(suffered, played, losses, self.length, self.estimated)

    def merged(self, length: int, count: int) -> "Bins":
        """Sum the first rounds in `count` bins of `length` rounds each."""
        starts = np.arange(0, count * length, length)
        whole = (part[:, : count * length] for part in self[:3])
        suffered, played, losses = (np.add.reduceat(part, starts, axis=1) for part in whole)
        return Bins(suffered, played, losses, length, self.estimated)

    def average(self) -> Vectors:
        """Return the average losses against which each bin is judged."""
        m = self.losses.shape[1]
        if not self.estimated or m < 2:
            return np.broadcast_to(self.losses.mean(1, keepdims=True), self.losses.shape)
        half = _random_half(m)
        first = self.losses[:, half].mean(1)[:, None]
        second = self.losses[:, ~half].mean(1)[:, None]
        return np.where(half[None, :, None], second, first)

    def regrets(self) -> Series:
        """Return the regret `r` of every bin."""
        best = self.average().argmin(2)[..., None]
        return self.suffered - np.take_along_axis(self.losses, best, 2)[..., 0]

    def contrasts(self, power: float = 0.0) -> Vectors:
        """Return vectors `g` with `Y = sum_t <g_t, pi_t>`, the first half weighted by `t**power`."""
        m = self.losses.shape[1]
        half = m // 2
        places = np.arange(half)
        shares = (places + 1.0) ** power
        shares /= max(shares.sum(), 1.0)
        before = (self.losses.cumsum(1) - self.losses)[:, :half]
        means = before / np.maximum(places, 1)[:, None] / self.length
        early = shares[:, None] * means / self.length
        late = np.repeat(-early.sum(1, keepdims=True) / (m - half), m - half, 1)
        return np.concatenate([early, late], 1)

    def savings(self) -> Float[Array, "n k 2"]:
        """Return the savings per round in the second half from following the leader and from random play."""
        half = self.losses.shape[1] // 2
        leaders = (self.losses.cumsum(1) - self.losses)[:, half:].argmin(2)
        late = self.losses[:, half:]
        led = np.take_along_axis(late, leaders[..., None], 2)[..., 0]
        others = np.stack([led, late.mean(2)], 2)
        return (self.suffered[:, half:, None] - others) / self.length

    def rates(self) -> Vectors:
        """Return the regret per round against every action."""
        return (self.suffered[..., None] - self.losses) / self.length

    def curve(self, order: Array | None = None) -> Curve:
        """Return the mean external regret after every bin, with the bins in the given order."""
        suffered = self.suffered
        losses = self.losses
        if order is not None:
            suffered = np.take_along_axis(suffered, order, 1)
            losses = np.take_along_axis(losses, order[..., None], 1)
        return (np.cumsum(suffered, 1) - np.cumsum(losses, 1).min(2)).mean(0)


def windows_of(rounds: Bins, horizon: int) -> tuple[Bins, ...]:
    """Sum rounds up to the horizon in bins; if bins are longer than a round, add the first rounds alone."""
    length = -(-horizon // BINS)
    whole = rounds.merged(length, horizon // length)
    if length == 1:
        return (whole,)
    return whole, rounds.merged(1, BINS)


class Scores(NamedTuple):
    """Statistics of `n` episodes, with regrets per round.

    Attributes:
        falls: $W$.
        improves: $Y$.
        halves: regret in the first and in the second half against the episode's own best action.
        against: regret in each half against every action.
        savings: savings in the second half from following the leader and from random play.
    """

    falls: PerEpisode
    improves: PerEpisode
    halves: Float[Array, "n 2"]
    against: Float[Array, "n 2 d"]
    savings: Float[Array, "n 2"]


def score(bins: Bins) -> Scores:
    """Compute the statistics of every episode."""
    regrets = bins.regrets()
    half = bins.losses.shape[1] // 2
    first = slice(0, half or 1)  # a single bin serves as both halves
    halves = (first, slice(half, None))
    rates = bins.rates()
    improves = np.einsum("nmd,nmd->n", bins.contrasts(), bins.played)
    return Scores(
        falls=_without_rounding(regrets @ weights(regrets.shape[1]), regrets),
        improves=_without_rounding(improves, bins.losses[:, first]),
        halves=np.stack([regrets[:, part].mean(1) / bins.length for part in halves], 1),
        against=np.stack([rates[:, part].mean(1) for part in halves], 1),
        savings=bins.savings().mean(1),
    )


def weights(m: int) -> Curve:
    r"""Compute $w_t = t^{-1/2}$ minus its mean, scaled to unit length."""
    w = np.arange(1, m + 1) ** -0.5
    w -= w.mean()
    return w / max(np.linalg.norm(w), 1e-300)  # a single round has weight 0


def published_tests(curves: Float[Array, "k m"], rounds: Curve) -> dict[str, Float[Array, "k"]]:
    """Compute the p-values of the published tests for each curve; 1 where a test does not apply.

    >>> t = np.arange(1.0, 101.0)
    >>> {name: float(p[0]) < 0.001 for name, p in published_tests(np.sqrt(t)[None], t).items()}
    {'trend': True, 'regression': True, 'mann_kendall': True}
    """
    average = curves / rounds
    falls = (np.diff(average, axis=1) < 0).sum(1)
    return {
        "trend": bdtrc(falls - 1, average.shape[1] - 1, 0.5),
        "regression": np.array([regression(curve, rounds)[1] for curve in curves]),
        "mann_kendall": _mann_kendall(average),
    }


def regression(curve: Curve, rounds: Curve) -> tuple[float, float, int]:
    """Compute the exponent `b0`, its p-value against 1, and the number of rounds without positive regret.

    >>> t = np.arange(1.0, 101.0)
    >>> b0, _, left_out = regression(np.sqrt(t), t)
    >>> b0, left_out
    (0.5, 0)
    """
    used = curve > 0
    freedom = int(used.sum()) - 2
    left_out = int((~used).sum())
    if freedom < 1:
        return 1.0, 1.0, left_out
    dx = np.log(rounds[used])
    dx -= dx.mean()
    dy = np.log(curve[used])
    dy -= dy.mean()
    spread = max(dx @ dx, 1e-300)
    slope = dx @ dy / spread
    residual = ((dy - slope * dx) ** 2).sum() / freedom
    error = max(residual / spread, 1e-20) ** 0.5  # not below rounding
    p = stdtr(freedom, (slope - 1) / error)
    return float(slope), float(p), left_out


def _mann_kendall(average: Float[Array, "k m"]) -> Float[Array, "k"]:
    k, m = average.shape
    signs = sum(np.sign(average[:, lag:] - average[:, :-lag]).sum(1) for lag in range(1, m))
    repeats = [np.unique(row, return_counts=True)[1] for row in average]
    ties = np.array([(counts * (counts - 1) * (2 * counts + 5)).sum() for counts in repeats])
    variance = (m * (m - 1) * (2 * m + 5) - ties) / 18
    corrected = signs - np.sign(signs)  # continuity correction
    z = np.divide(corrected, np.sqrt(variance), out=np.zeros(k), where=variance > 0)
    return ndtr(z)


def _without_rounding(sums: PerEpisode, terms: Array) -> PerEpisode:
    """Replace sums that are pure rounding error with 0."""
    scale = np.abs(terms).reshape(len(terms), -1).max(1, initial=0.0)
    return np.where(np.abs(sums) > 1e-9 * scale, sums, 0.0)


@cache
def _random_half(m: int) -> Bool[Array, "m"]:
    """Choose half of the bins at random, so that anything periodic is spread over both halves."""
    return np.random.default_rng(m).permutation(m) < m // 2


@dataclass(frozen=True, slots=True)
class Published:
    """The p-value of a published test, and how often that test calls linear regret sublinear at 5 %."""

    p_value: float
    false_alarms: float


@dataclass(frozen=True, slots=True)
class Learning:
    """The verdict and its evidence.

    Attributes:
        verdict: "learning", "not learning", "no regret" or "cannot tell".
        words: the verdict as a sentence.
        p_value: p-value of the verdict "learning".
        regret_falls: p-value of the test that regret per round falls.
        play_moves: p-value of the test that play shifts to better actions.
        early: regret per round in the first half of the episodes.
        late: regret per round in the second half.
        exponent: $b_0$ in the regression of Park et al.
        left_out: rounds without positive regret, which the regression cannot use.
        tests: the published tests by name.
        null: source of the null distribution: Student's t over episodes, or rounds in random order.
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
    windows: tuple[Bins, ...],
    scores: tuple[Scores, ...],
    span: float,
    explored: bool = True,
    known: Known | bool = True,
    seed: int = 0,
    curves: int = CURVES,
) -> Learning:
    """Decide whether an agent is learning.

    Args:
        windows: bins of some of the episodes, in full and, if they are long, for their first rounds only.
        scores: statistics of all episodes in these windows.
        span: mean spread of a round's losses.
        explored: True if every action was played often enough for a comparison.
        known: actions about which something is known; by default all.
        seed: random seed for the orders.
        curves: random orders for the false alarms of the published tests; 0 skips these tests.
    """
    whole = windows[0]
    m = whole.suffered.shape[1]
    if m < MIN_ROUNDS:
        few = f"cannot tell: at least {MIN_ROUNDS} rounds are needed, got {m}"
        return Learning("cannot tell", few)
    is_single = _is_constant(scores[0].falls) and _is_constant(scores[0].halves[:, 1])
    if is_single:  # identical episodes give no more evidence than one
        windows = tuple(window.part(slice(1)) for window in windows)
        whole = windows[0]
    independent = len(scores[0].falls) >= MIN_EPISODES and not is_single
    if independent:
        pairs = [_student_tests(statistics) for statistics in scores]
    else:
        pairs = [_permutation_tests(window, seed) for window in windows]
    falls, moves = (min(1.0, len(pairs) * p) for p in min(pairs, key=max))
    first_half, second_half = _halves(scores[0], whole, known)
    low, high = _late_bounds(whole, scores[0], independent)
    d = whole.losses.shape[2]
    seen = 1 / d if whole.estimated else 1.0  # fraction of the losses that a learner sees
    bound = span * (np.log(d) / (2 * seen * m * whole.length)) ** 0.5  # Hedge's regret per round

    # the rules in the module docstring
    early, late = scores[0].halves.mean(0)
    p_value = max(falls, moves)
    rates = f"{first_half:.3g} per round in the first half, {second_half:.3g} in the second"
    falls_enough = early - late >= FALL * abs(early)
    improves_enough = scores[0].improves.mean() >= FALL * early
    verdict: Verdict = "cannot tell"
    lasts = ""
    if low > NEGLIGIBLE * span:
        lasts = f"; regret remains large, at least {low:.3g} per round in the second half"
    if p_value <= LEVEL and falls_enough and improves_enough:
        verdict = "learning"
        why = f"regret falls, {rates} (p = {p_value:.2g}){lasts}"
    elif high <= NEGLIGIBLE * span and explored:
        verdict = "no regret"
        why = f"next to nothing is left to learn, {rates}"
    elif low > 1e-12 * span and (early + late) / 2 > bound and moves > CLEAR:
        verdict = "not learning"
        why = f"regret does not fall, {rates} (p = {falls:.2g}), "
        why += f"and play does not improve (p = {moves:.2g}){lasts}"
    elif moves <= CLEAR:
        why = f"play shifts to better actions (p = {moves:.2g}), "
        why += f"but regret does not clearly fall, {rates} (p = {falls:.2g}){lasts}"
    elif not explored:
        why = f"some actions were played too rarely for a comparison, {rates}{lasts}"
    else:
        why = f"neither a fall in regret (p = {falls:.2g}) nor lasting regret is clear, "
        why += f"{rates}{lasts}"
    ticks = whole.length * np.arange(1.0, m + 1)
    exponent, _, left_out = regression(whole.curve(), ticks)
    return Learning(
        verdict,
        f"{verdict}: {why}",
        p_value=p_value,
        regret_falls=falls,
        play_moves=moves,
        early=first_half,
        late=second_half,
        exponent=exponent,
        left_out=left_out,
        tests=_published(whole, ticks, seed, curves) if curves else {},
        null="Student's t over episodes" if independent else "rounds in random order",
    )


def _is_constant(values: PerEpisode) -> bool:
    return bool(np.ptp(values) <= 1e-12 * np.abs(values).max())


def _student_tests(scores: Scores) -> tuple[float, float]:
    """Compute p-values for falling regret and improving play, over independent episodes."""
    early = scores.halves[:, 0]
    enough = scores.improves - FALL * np.sign(early.mean()) * early
    return _student(scores.falls), max(_student(scores.improves), _student(enough))


def _student(values: PerEpisode) -> float:
    """Compute the one-sided p-value of Student's t test that the mean is above 0."""
    mean = values.mean()
    error = standard_error(values)
    if error <= 1e-12 * np.abs(values).max():
        return float(mean <= 0)
    return float(stdtr(len(values) - 1, -mean / error))


def _permutation_tests(bins: Bins, seed: int) -> tuple[float, float]:
    """Compute p-values for falling regret and improving play, from rounds in random order."""
    regrets = bins.regrets()
    falls = weights(regrets.shape[1])[:, None] * regrets[:, None]
    moves = bins.contrasts(-0.5) @ bins.played.swapaxes(1, 2)
    qualities = np.einsum("nmd,nmd->nm", bins.played, bins.average()) / bins.length
    return _permuted(falls, regrets, seed), _permuted(moves, qualities, seed)


def _permuted(terms: Float[Array, "n m m"], series: Series, seed: int) -> float:
    """Compute how often the sum of `terms[e, t, order[t]]` in random orders reaches its value in the true order."""
    n, m = series.shape
    generator = np.random.default_rng(seed)
    drawn = orders(ORDERS * n, m, block_length(series), generator).reshape(ORDERS, n, m)
    sums = terms[np.arange(n)[:, None], np.arange(m), drawn].sum((1, 2))
    tie = 1e-9 * np.abs(terms).max(initial=0.0)  # equal up to rounding counts as equal
    played = np.trace(terms, axis1=1, axis2=2).sum()
    return float(1 + np.sum(sums >= played - tie)) / (1 + ORDERS)


def orders(n: int, m: int, block: int, generator: np.random.Generator) -> Array:
    """For each of `n` episodes, draw an order of `m` bins that keeps blocks of neighbours together.

    >>> sorted(orders(1, 5, 2, np.random.default_rng(0))[0].tolist())
    [0, 1, 2, 3, 4]
    """
    keys = generator.random((n, -(-m // block)))
    return np.argsort(np.repeat(keys, block, 1)[:, :m], axis=1, kind="stable")


def block_length(series: Series) -> int:
    r"""Compute $(1 + \rho)/(1 - \rho)$, rounded up; $\rho$ correlates neighbours around the fit $c + \theta t^{-1/2}$.

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
    if rho < 1.64 / (n * m) ** 0.5:  # no more than chance
        return 1
    return int(max(1, min(np.ceil((1 + rho) / max(1 - rho, 1e-3)), m // MIN_BLOCKS)))


def _late_bounds(bins: Bins, scores: Scores, independent: bool) -> tuple[float, float]:
    """Bound the regret per round in the second half from below and above, each at 95 %."""
    if independent:
        best = scores.against[:, 1].max(1, keepdims=True)
        low = min(_bound(scores.savings, -1).max(), _bound(best, -1).item())
        return float(low), float(_bound(best, 1).item())
    # batches of a few bins take the place of episodes
    half = bins.losses.shape[1] // 2
    batches = _batch_means(bins.rates()[:, half:])
    saved = _batch_means(bins.savings())
    low = min(_bound(saved.reshape(-1, 2), -1).max(), batches.mean(1).max(1).mean())
    return float(low), float(np.mean([_bound(episode, 1).max() for episode in batches]))


def _batch_means(rates: Float[Array, "n t c"]) -> Float[Array, "n b c"]:
    """Average over about eight batches of even size, in which alternating losses cancel."""
    n, m, columns = rates.shape
    size = m // 16 * 2 or 1
    return rates[:, m % size :].reshape(n, -1, size, columns).mean(2)


def _bound(samples: Float[Array, "k c"], sign: int) -> Float[Array, "c"]:
    """Compute one-sided bounds on the means, simultaneous over the columns."""
    count, columns = samples.shape
    reach = stdtrit(count - 1, 1 - LEVEL / columns) * standard_error(samples)
    return samples.mean(0) + sign * reach


def _halves(scores: Scores, bins: Bins, known: Known | bool) -> list[float]:
    """Compute regret per round in the two halves, with the comparator used for external regret in the table.

    The comparator is each episode's own best action or, for estimated losses, the best action over all episodes.
    """
    if not bins.estimated:
        return scores.halves.mean(0).tolist()
    m = bins.suffered.shape[1]
    against = scores.against.mean(0)
    total = np.array([m // 2, m - m // 2]) @ against
    best = np.where(known, total, -np.inf).argmax()
    return against[:, best].tolist()


def _published(bins: Bins, rounds: Curve, seed: int, count: int) -> dict[str, Published]:
    """Apply the published tests to the mean curve, and count their false alarms on rounds in random order."""
    n, m = bins.suffered.shape
    generator = np.random.default_rng(seed)
    block = block_length(bins.regrets())
    shuffled = [bins.curve(orders(n, m, block, generator)) for _ in range(count)]
    p_values = published_tests(np.stack([bins.curve(), *shuffled]), rounds)
    tests = {}
    for name, (p, *null) in p_values.items():
        tests[name] = Published(float(p), float(np.mean(np.array(null) <= LEVEL)))
    return tests
