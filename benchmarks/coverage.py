"""Measure how often the intervals of regret from bandit feedback cover the truth, and how wide they are.

    python -m benchmarks.coverage [--logs 2000] [--rounds 10 40 200] [--episodes 50 200 1000]

Prints a table of `explanation/audit.md`: the fraction of logs whose nominal 95 % interval covers the regret per episode
against the comparator that is best for all episodes, and, in brackets, the mean width of the intervals divided by an
oracle's. The oracle sees the losses of every action and knows the best comparator: its interval is Student's t over the
episodes' true regrets. There are three actions, and the players are

- `zero-one`: losses (0, 1, 1) in every round, played (.2, .4, .4);
- `arms`: Bernoulli arms of mean loss .2, .5 and .8, played (.2, .3, .5);
- `turning`: the same in an order drawn per episode, so all actions are equally good over all episodes;
- `exp3`: Bernoulli arms of mean loss .3, .5 and .6, played by Exp3 mixed with a tenth of random play.

The episodes of a log are drawn from a pool of 200,000, whose mean regrets are the truth. The rounds and episodes of a
cell are its seeds.
"""

import argparse
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from regrax.agents.audit.intervals import (
    best_of_means,
    estimate_losses,
    interval,
    starting_guesses,
)

PLAYERS = ("zero-one", "arms", "turning", "exp3")
KINDS = ("against", "external", "internal", "swap")
MEANS = {"arms": (0.2, 0.5, 0.8), "turning": (0.2, 0.5, 0.8), "exp3": (0.3, 0.5, 0.6)}
POOL = 200_000  # episodes


class Log(NamedTuple):
    """Policies, actions as indicators, and the losses of every action, `(E, T, 3)` each."""

    policies: np.ndarray
    drawn: np.ndarray
    losses: np.ndarray


def play(rng: np.random.Generator, player: str, episodes: int, rounds: int) -> Log:
    """Play episodes."""
    shape = (episodes, rounds, 3)
    if player == "zero-one":
        losses = np.broadcast_to([0.0, 1.0, 1.0], shape)
        policies = np.broadcast_to([0.2, 0.4, 0.4], shape)
        return Log(policies, draw(rng, policies), losses)
    means = np.tile(MEANS[player], (episodes, 1))
    if player == "turning":
        means = rng.permuted(means, axis=1)
    losses = (rng.random(shape) < means[:, None]).astype(float)
    if player == "exp3":
        return exp3(rng, losses)
    policies = np.broadcast_to([0.2, 0.3, 0.5], shape)
    return Log(policies, draw(rng, policies), losses)


def draw(rng: np.random.Generator, policies: np.ndarray) -> np.ndarray:
    """Draw actions from policies, as indicators."""
    above = rng.random((*policies.shape[:-1], 1)) > policies.cumsum(-1)
    return np.eye(3)[above.sum(-1).clip(0, 2)]


def exp3(rng: np.random.Generator, losses: np.ndarray) -> Log:
    """Play exponential weights on importance-weighted losses."""
    episodes, rounds, _ = losses.shape
    step = (2 * np.log(3) / (3 * rounds)) ** 0.5
    sums, policies, drawn = np.zeros((episodes, 3)), np.empty_like(losses), np.empty_like(losses)
    for t in range(rounds):
        weights = np.exp(-step * (sums - sums.min(1, keepdims=True)))
        policies[:, t] = 0.9 * weights / weights.sum(1, keepdims=True) + 0.1 / 3
        drawn[:, t] = draw(rng, policies[:, t])
        sums += drawn[:, t] * losses[:, t] / policies[:, t]
    return Log(policies, drawn, losses)


def regrets(log: Log, losses: np.ndarray) -> np.ndarray:
    """Compute regret against every action and the gains of every swap on known or estimated losses, `(E, 1 + 3, 3)`."""
    received = (log.drawn * log.losses).sum((1, 2))
    matrix = np.einsum("eti,etj->eij", log.policies, losses)
    against = received[:, None] - losses.sum(1)
    return np.concatenate([against[:, None], matrix.diagonal(0, 1, 2)[..., None] - matrix], 1)


class Pool(NamedTuple):
    """The episodes that logs are drawn from.

    Estimated regrets are linear in the first guesses `b` of the losses: `intercept + sum_k slope_k b_k`.
    """

    exact: np.ndarray
    intercept: np.ndarray
    slope: np.ndarray
    paid: np.ndarray
    plays: np.ndarray


def pool(player: str, rounds: int) -> Pool:
    """Play the episodes of a pool and compute their regrets."""
    rng = np.random.default_rng(rounds)
    size = 100_000 // rounds
    parts = [_pool(play(rng, player, size, rounds)) for _ in range(POOL // size)]
    return Pool(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _pool(log: Log) -> Pool:
    received = (log.drawn * log.losses).sum(2)
    chances = (log.drawn * log.policies).sum(2)
    seen = log.drawn.argmax(2), received, chances
    estimates = []
    for guess in np.vstack([np.zeros(3), np.eye(3)]):
        losses, _ = estimate_losses(*seen, np.tile(guess, (len(received), 1)))
        estimates.append(regrets(log, losses))
    slope = np.stack(estimates[1:], 3) - estimates[0][..., None]
    paid = (log.drawn * received[..., None]).sum(1)
    return Pool(regrets(log, log.losses), estimates[0], slope, paid, log.drawn.sum(1))


def chosen(kind: str, values: np.ndarray) -> np.ndarray:
    """Return the values that a kind of regret is the maximum of, `(E, rows, k)`."""
    if kind == "swap":
        return values[:, 1:]
    if kind == "internal":
        return values[:, 1:].reshape(len(values), 1, -1)
    return values[:, :1]


def intervals(values: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Compute the ends of the interval of every kind of regret, as `regrax audit` does."""
    found: dict[str, Any] = {"against": interval(values[:, 0], cautious=True)}
    for kind in KINDS[1:]:
        _, low, high = best_of_means(chosen(kind, values))
        found[kind] = np.array(low), np.array(high)
    return found


def cell(episodes: Pool, count: int, logs: int, seed: int) -> dict[str, tuple[float, float]]:
    """Compute coverage, and mean width relative to the oracle's, by kind; against one action the worst of three."""
    rng = np.random.default_rng([seed, count])
    held: dict[str, Any] = dict.fromkeys(KINDS, 0.0)
    widths = dict.fromkeys(KINDS, 0.0)
    oracle = dict.fromkeys(KINDS, 0.0)
    means = {kind: chosen(kind, episodes.exact).mean(0) for kind in KINDS}
    for _ in range(logs):
        picked = rng.integers(len(episodes.exact), size=count)
        own = Pool(*(part[picked] for part in episodes))
        guesses = starting_guesses(own.paid, own.plays, np.zeros(count))
        values = own.intercept + (own.slope @ guesses[:, None, :, None])[..., 0]
        for kind, (low, high) in intervals(values).items():
            mean = means[kind]
            target = mean[0] if kind == "against" else mean.max(1).sum()
            slack = 1e-9  # for values that are not random
            held[kind] += (low - slack <= target) & (target <= high + slack)
            widths[kind] += np.mean(high - low)
            exact = chosen(kind, own.exact)
            if kind != "against":
                exact = exact[:, np.arange(len(mean)), mean.argmax(1)].sum(1)[:, None, None]
            spread = exact.std(0, ddof=1).mean() / count**0.5
            oracle[kind] += 2 * stdtrit(count - 1, 0.975) * spread
    found = {}
    for kind in KINDS:
        share = np.atleast_1d(held[kind] / logs)
        worst = float(share[np.abs(share - 0.95).argmax()])
        found[kind] = worst, widths[kind] / oracle[kind] if oracle[kind] > 1e-9 else np.nan
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--logs", type=int, default=2000)
    parser.add_argument("--rounds", type=int, nargs="+", default=[10, 40, 200])
    parser.add_argument("--episodes", type=int, nargs="+", default=[50, 200, 1000])
    parser.add_argument("--players", nargs="+", default=PLAYERS)
    asked = parser.parse_args()
    print(f"| player | rounds | episodes | {' | '.join(KINDS)} |")
    print("|---|---|---|---|---|---|---|")
    for player in asked.players:
        for rounds in asked.rounds:
            drawn_from = pool(player, rounds)
            for episodes in asked.episodes:
                found = cell(drawn_from, episodes, asked.logs, rounds)
                cells = []
                for held, width in found.values():
                    cells.append("exact" if np.isnan(width) else f"{100 * held:.1f} ({width:.2f})")
                row = (player, f"{rounds}", f"{episodes:,}", *cells)
                print("|", " | ".join(row), "|", flush=True)


if __name__ == "__main__":
    main()
