"""Measure how often `regrax compare` is right: coverage of its 95 % intervals, and false positives of its test at 5 %.

    python -m benchmarks.compare [--comparisons 2000] [--episodes 10 30 100]

Episodes of 40 rounds, three Bernoulli arms of mean loss .2, .5 and .8 in a new random order; actions are drawn.
`hedge` plays Hedge, `uniform` plays uniformly, and `stuck` plays Hedge except in one of ten episodes, in which it
always plays the worst arm, so that its regret is skewed. Paired agents see the same losses. Prints a table of
`explanation/audit.md`.
"""

import argparse

import numpy as np

from regrax.agents.audit.compare import difference

MATCHES = (("hedge", "hedge"), ("stuck", "stuck"), ("hedge", "uniform"), ("hedge", "stuck"))
POOL = 100_000  # episodes that comparisons are drawn from
ROUNDS = 40


def losses(rng: np.random.Generator, episodes: int) -> np.ndarray:
    means = rng.permuted(np.tile([0.2, 0.5, 0.8], (episodes, 1)), axis=1)
    return (rng.random((episodes, ROUNDS, 3)) < means[:, None]).astype(float)


def hedge(given: np.ndarray) -> np.ndarray:
    scores = -((8 * np.log(3) / ROUNDS) ** 0.5) * (np.cumsum(given, 1) - given)
    weights = np.exp(scores - scores.max(2, keepdims=True))
    return weights / weights.sum(2, keepdims=True)


def drawn(rng: np.random.Generator, policies: np.ndarray) -> np.ndarray:
    below = rng.random((*policies.shape[:2], 1)) > policies.cumsum(2)
    return below.sum(2).clip(0, policies.shape[2] - 1)


def regrets(rng: np.random.Generator, agent: str, given: np.ndarray) -> np.ndarray:
    """Return the regret of drawn actions in every episode."""
    actions = drawn(rng, np.full_like(given, 1 / 3) if agent == "uniform" else hedge(given))
    if agent == "stuck":
        stuck = rng.random(len(given)) < 0.1
        actions[stuck] = given[stuck].sum(1).argmax(1)[:, None]
    suffered = np.take_along_axis(given, actions[..., None], 2)[..., 0].sum(1)
    return suffered - given.sum(1).min(1)


def rates(
    first: str, second: str, paired: bool, episodes: int, count: int, pool: int = POOL
) -> tuple[float, float]:
    """Return how often the interval covers the true difference, and how often the test finds a difference."""
    rng = np.random.default_rng(episodes)
    given = losses(rng, pool)
    other = given if paired else losses(rng, pool)
    x, y = regrets(rng, first, given), regrets(rng, second, other)
    truth, covered, found = y.mean() - x.mean() if first != second else 0.0, 0, 0
    for seed in range(count):
        one = rng.integers(pool, size=episodes)
        two = one if paired else rng.integers(pool, size=episodes)
        told = difference(x[one], y[two], paired, seed)
        covered += told.low <= truth <= told.high
        found += told.p_value <= 0.05
    return covered / count, found / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--comparisons", type=int, default=2000)
    parser.add_argument("--episodes", type=int, nargs="+", default=[10, 30, 100])
    asked = parser.parse_args()
    print("| agents | losses | episodes | interval holds the truth | test finds a difference |")
    print("|---|---|---|---|---|")
    for first, second in MATCHES:
        for paired in (True, False):
            for episodes in asked.episodes:
                held, found = rates(first, second, paired, episodes, asked.comparisons)
                same = " (false)" if first == second else ""
                shared = "shared" if paired else "their own"
                print(
                    f"| {first}, {second} | {shared} | {episodes} | {held:.1%} | {found:.1%}{same} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
