r"""Is it learning? A verdict whose false alarms are counted before it is given.

Everything is measured within an episode against that episode's own best action, and then averaged: best actions may
differ between episodes. With $r_t$ the regret of round $t$, $Y$ the improvement of play, and $r_1, r_2$ the regret per
round of the two halves (`regrax.agents.audit._bins`), "learning" needs

- regret to fall: if regret is $2 \theta \sqrt t + c t$ then $r_t \approx c + \theta t^{-1/2}$, and the best test of
  $\theta > 0$ in white noise is $W = \sum_t w_t r_t$; and $r_2 \le 3/4 r_1$;
- play to improve: $E[Y] > 0$ and $E[Y] > r_1 / 4$. The first has its level for every player that never moves, whatever
  its opponent does, and does not see the first round at all; the second leaves out those that go through their actions
  in a circle, a bad one first, or are bad in a few rounds only.

All tests are at 5 %, and the largest p-value counts, which holds its level if any of them does. From five episodes on
they are Student's t tests over episodes, whatever the dependence within them. With fewer episodes, or if all are alike,
chance is the rounds of each episode in random order, in blocks of $(1 + \rho)/(1 - \rho)$, $\rho$ the correlation of
neighbours around the fit; for $Y$ the plays change places and the losses stay, and early rounds weigh $t^{-1/2}$.

An episode of more than `BINS` rounds is looked at twice, whole, in `BINS` sums of equal length, and its first `BINS`
rounds alone; the smaller p-value counts twofold.

Without that claim, let $\rho_{e,j}$ be the regret per round against $j$ in the later half of episode $e$, $x_e$ what
following the leader (or random play) saves there, $R$ the mean regret of an episode of $T$ rounds, and $w$ the spread
of a round's losses:

    no regret      mean_e max_j rho_ej + q s < w / 50
    not learning   mean_e x_e - q s > 0, mean_e max_j rho_ej - q s > 0, R > w sqrt(T ln(d) / 2), play does not improve

A mean of maxima is never below the lasting regret, so the first cannot miss any (of estimated losses only if every
action was played often enough). For the second, the leader is known before each round: what it saves is unbiased, and
what a player without foresight could have saved; $w \sqrt{T \ln(d) / 2}$ is what Hedge may regret at worst, and from
received losses, one of $d$, $w \sqrt{d T \ln(d) / 2}$ takes its place. The rest is
"cannot tell". On losses that favour no action every player has the same expected regret, so there nobody can tell.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import stdtr, stdtrit

from regrax.agents.audit._bins import Bins, Scores, weights
from regrax.agents.audit._bootstrap import MIN_EPISODES
from regrax.agents.audit._published_tests import all_tests, regression

BINS = 512  # into which a longer episode is summed
MIN_ROUNDS = 8  # below, nothing is said
DRAWS = 1000  # random orders for the verdict
CURVES = 200  # random orders for the false alarms of the published tests
MIN_BLOCKS = 12  # that a random order is made of
LEVEL = 0.05  # of every test
CLEAR = 0.01  # p-value at which play improves so clearly that regret may yet fall
NEGLIGIBLE = 0.02  # of the spread of a round's losses
FALL = 0.25  # of the earlier half's regret: less is not learning

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
        play_moves: p-value that play moves to better actions.
        early: regret per round in the earlier half of the episodes.
        late: in the later half.
        exponent: $b_0$ of the regression of Park et al.
        left_out: rounds without positive regret, which the regression cannot use.
        tests: the published tests by name.
        null: what chance is taken to be: episodes, or rounds in random order.
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
    windows: list[Bins],
    scores: list[Scores],
    span: float,
    explored: bool = True,
    known: Bool[np.ndarray, "d"] | None = None,
    seed: int = 0,
    curves: int = CURVES,
) -> Learning:
    """The verdict.

    Args:
        windows: bins of some episodes, whole and of their first rounds.
        scores: those of all episodes.
        span: mean spread of a round's losses.
        explored: whether every action was played often enough to be compared with.
        known: actions of which anything is known; by default all.
        seed: of the random orders.
        curves: random orders for the false alarms of the published tests; with 0 those are left out.
    """
    if alike := _alike(scores[0]):
        windows = [window.part(slice(1)) for window in windows]
    whole = windows[0]
    m = whole.suffered.shape[1]
    if m < MIN_ROUNDS:
        few = f"cannot tell: at least {MIN_ROUNDS} rounds are needed, got {m}"
        return Learning("cannot tell", few)
    independent = len(scores[0].falls) >= MIN_EPISODES and not alike
    pairs = [_p_values(b, s, independent, seed) for b, s in zip(windows, scores, strict=True)]
    falls, moves = (min(1.0, len(pairs) * p) for p in min(pairs, key=max))
    halves = _halves(scores[0], m, whole.estimated, known)
    ends = _late_interval(whole, scores[0], independent)
    rounds, d = m * whole.length, whole.losses.shape[2]
    shown = 1 / d if whole.estimated else 1.0  # share of the losses that a learner sees
    bound = span * (np.log(d) / (2 * shown * rounds)) ** 0.5  # of Hedge's regret per round
    verdict, why = _decide(falls, moves, scores[0], halves, ends, span, bound, explored)
    ticks = whole.length * np.arange(1.0, m + 1)
    (exponent,), _, (left_out,) = regression(whole.curve()[None], ticks)
    return Learning(
        verdict,
        f"{verdict}: {why}",
        p_value=max(falls, moves),
        regret_falls=falls,
        play_moves=moves,
        early=halves[0],
        late=halves[1],
        exponent=float(exponent),
        left_out=int(left_out),
        tests=_published(whole, ticks, seed, curves) if curves else {},
        null="Student's t over episodes" if independent else "rounds in random order",
    )


def _alike(scores: Scores) -> bool:
    """True if all episodes are the same, so that they are no more than one."""
    return all(np.ptp(part) <= 1e-12 * np.abs(part).max() for part in (scores.falls, scores.late))


def _p_values(bins: Bins, scores: Scores, independent: bool, seed: int) -> tuple[float, float]:
    """The p-values that regret falls and that play improves."""
    if independent:
        enough = scores.improves - FALL * np.sign(scores.early.mean()) * scores.early
        return _student(scores.falls), max(_student(scores.improves), _student(enough))
    regrets = bins.regrets()
    falls = weights(regrets.shape[1])[:, None] * regrets[:, None]
    moves = bins.contrasts(-0.5) @ bins.played.swapaxes(1, 2)
    lengths = block_length(regrets), block_length(bins.qualities())
    return _shuffled(falls, lengths[0], seed), _shuffled(moves, lengths[1], seed)


def _student(values: Float[np.ndarray, "n"]) -> float:
    """One-sided p-value of Student's t test that the mean is above 0."""
    mean, error = values.mean(), values.std(ddof=1) / len(values) ** 0.5
    if error <= 1e-12 * np.abs(values).max():
        return float(mean <= 0)
    return float(stdtr(len(values) - 1, -mean / error))


def _shuffled(terms: Float[np.ndarray, "n m m"], block: int, seed: int) -> float:
    """How often the sum of `terms[e, t, order[t]]` is, over random orders, as large as that over the diagonals."""
    n, m, _ = terms.shape
    shuffled = orders(DRAWS * n, m, block, np.random.default_rng(seed)).reshape(DRAWS, n, m)
    drawn = terms[np.arange(n)[:, None], np.arange(m), shuffled].sum((1, 2))
    tie = 1e-9 * np.abs(terms).max(initial=0.0)  # equal up to rounding counts as equal
    played = np.trace(terms, axis1=1, axis2=2).sum()
    return float(1 + np.sum(drawn >= played - tie)) / (1 + DRAWS)


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
    if independent:
        best = scores.late_against.max(1, keepdims=True)
        low = min(_end(scores.savings, -1).max(), _end(best, -1).item())
        return float(low), float(_end(best, 1).item())
    against = (bins.suffered[..., None] - bins.losses) / bins.length
    m = against.shape[1] - against.shape[1] // 2
    size = m // 16 * 2 or 1  # eight batches, of even size: in them losses that alternate cancel
    batches, saved = (
        rates[:, -(m // size * size) :].reshape(len(rates), -1, size, rates.shape[2]).mean(2)
        for rates in (against, bins.savings())
    )
    low = min(_end(saved.reshape(-1, 2), -1).max(), batches.mean(1).max(1).mean())
    return float(low), float(np.mean([_end(episode, 1).max() for episode in batches]))


def _end(samples: Float[np.ndarray, "k c"], sign: int) -> Float[np.ndarray, "c"]:
    """The ends of one-sided intervals of the means, simultaneous in the columns."""
    count, columns = samples.shape
    error = samples.std(0, ddof=1) / count**0.5
    return samples.mean(0) + sign * stdtrit(count - 1, 1 - LEVEL / columns) * error


def _halves(
    scores: Scores, m: int, estimated: bool, known: Bool[np.ndarray, "d"] | None
) -> tuple[float, float]:
    """Regret per round in the two halves, against the comparator of external regret in the table.

    That is each episode's own best action, and of estimated losses the best one for all episodes.
    """
    if not estimated:
        return float(scores.early.mean()), float(scores.late.mean())
    early, late = scores.early_against.mean(0), scores.late_against.mean(0)
    total = (m // 2) * early + (m - m // 2) * late
    best = np.argmax(total if known is None else np.where(known, total, -np.inf))
    return float(early[best]), float(late[best])


def _decide(
    falls: float,
    moves: float,
    scores: Scores,
    halves: tuple[float, float],
    ends: Ends,
    span: float,
    bound: float,
    explored: bool,
) -> tuple[Verdict, str]:
    """The verdict by the rules above, and why; `ends` are the bounds of the later half's regret."""
    early, late, improves = scores.early.mean(), scores.late.mean(), scores.improves.mean()
    rates = f"{halves[0]:.3g} per round in the first half, {halves[1]:.3g} in the second"
    fell, moved = f"{rates} (p = {falls:.2g})", f"(p = {moves:.2g})"
    lasts = ""
    if ends[0] > NEGLIGIBLE * span:
        lasts = f"; regret is large and lasts, at least {ends[0]:.3g} per round in the second half"
    enough = early - late >= FALL * abs(early) and improves >= FALL * early
    if max(falls, moves) <= LEVEL and enough:
        return "learning", f"regret falls, {rates} (p = {max(falls, moves):.2g}){lasts}"
    if ends[1] <= NEGLIGIBLE * span and explored:
        return "no regret", f"next to nothing is left to learn, {rates}"
    if ends[0] > 1e-12 * span and (early + late) / 2 > bound and moves > CLEAR:
        why = f"regret does not fall, {fell}, and play does not improve {moved}"
        return "not learning", why + lasts
    why = f"neither a fall of regret (p = {falls:.2g}) nor lasting regret is clear, {rates}"
    if moves <= CLEAR:
        why = f"play moves to better actions {moved}, but regret does not clearly fall, {fell}"
    elif not explored:
        why = f"some actions were played too rarely to be compared with, {rates}"
    return "cannot tell", why + lasts


def _published(
    bins: Bins, rounds: Float[np.ndarray, "m"], seed: int, count: int
) -> dict[str, Published]:
    """The published tests on the mean curve, and their false alarms on the same rounds in random order."""
    n, m = bins.suffered.shape
    generator, block = np.random.default_rng(seed), block_length(bins.regrets())
    curves = np.stack([bins.curve(orders(n, m, block, generator)) for _ in range(count)])
    found, null = all_tests(bins.curve()[None], rounds), all_tests(curves, rounds)
    alarms = {name: float(np.mean(p <= LEVEL)) for name, p in null.items()}
    return {name: Published(float(p[0]), alarms[name]) for name, p in found.items()}
