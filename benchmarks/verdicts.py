"""How often the audit gives each verdict to agents whose learning is known.

    python -m benchmarks.verdicts [--logs 200] [--episodes 10 100 1000]

Episodes of 40 rounds, three Bernoulli arms of mean loss .2, .5 and .8, whose order is the same in every episode,
rotates from one to the next, or is drawn anew. Bandit agents play a uniform action in three of ten rounds, and are seen
by what they received and by their policies. Prints the table of `docs/audit.md`: the share of logs with each verdict.
"""

import argparse
from collections import Counter

import numpy as np

from regrax.audit import _verdict
from regrax.audit._bandit import MIN_PLAYS, Weighted
from regrax.audit._bins import Bins, score
from regrax.audit._verdict import Learning, judge

ROUNDS, MEANS = 40, (0.2, 0.5, 0.8)
ORDERS = ("fixed", "rotating", "random")


def losses(rng: np.random.Generator, episodes: int, order: str) -> np.ndarray:
    means = np.tile(MEANS, (episodes, 1))
    if order == "rotating":
        means = np.stack([np.roll(MEANS, e) for e in range(episodes)])
    if order == "random":
        means = rng.permuted(means, axis=1)
    return (rng.random((episodes, ROUNDS, len(MEANS))) < means[:, None]).astype(float)


def uniform(losses: np.ndarray) -> np.ndarray:
    return np.full_like(losses, 1 / losses.shape[2])


def constant(losses: np.ndarray) -> np.ndarray:
    return np.broadcast_to(np.eye(losses.shape[2])[-1], losses.shape).copy()


def circling(losses: np.ndarray) -> np.ndarray:
    _, rounds, d = losses.shape
    return np.broadcast_to(np.eye(d)[::-1][np.arange(rounds) % d], losses.shape).copy()


def hedge(losses: np.ndarray) -> np.ndarray:
    _, rounds, d = losses.shape
    scores = -((8 * np.log(d) / rounds) ** 0.5) * (np.cumsum(losses, 1) - losses)
    weights = np.exp(scores - scores.max(2, keepdims=True))
    return weights / weights.sum(2, keepdims=True)


def blum_mansour(losses: np.ndarray) -> np.ndarray:
    n, rounds, d = losses.shape
    step, sums = d * (2 * np.log(d) / rounds) ** 0.5, np.zeros((n, d, d))
    policy, played = np.full((n, d), 1 / d), np.empty_like(losses)
    for t in range(rounds):
        heads = np.exp(-step * (sums - sums.min(2, keepdims=True)))
        heads /= heads.sum(2, keepdims=True)
        for _ in range(60):
            policy = np.einsum("ni,nij->nj", policy, heads)
        played[:, t] = policy = policy / policy.sum(1, keepdims=True)
        sums += policy[:, :, None] * losses[:, t, None, :]
    return played


def drawn(rng: np.random.Generator, policies: np.ndarray) -> np.ndarray:
    below = rng.random((*policies.shape[:2], 1)) > policies.cumsum(2)
    return below.sum(2).clip(0, policies.shape[2] - 1)


def exploring(policies: np.ndarray, share: float = 0.3) -> np.ndarray:
    return (1 - share) * policies + share / policies.shape[2]


AGENTS = {f.__name__: f for f in (uniform, constant, circling, hedge, blum_mansour)}


def full_verdict(policies: np.ndarray, losses: np.ndarray, seed: int = 0) -> Learning:
    bins = Bins((policies * losses).sum(2), policies, losses, 1)
    return judge([bins], [score(bins)], float(np.ptp(losses, axis=2).mean()), seed=seed)


def bandit_verdict(
    rng: np.random.Generator, policies: np.ndarray, losses: np.ndarray, seed: int = 0
) -> Learning:
    action = drawn(rng, policies)
    received, chance = (
        np.take_along_axis(x, action[..., None], 2)[..., 0] for x in (losses, policies)
    )
    weighted = Weighted(received.mean(1), losses.shape[2])
    estimated = weighted.add(action, received, chance)
    bins = Bins(received, policies, estimated, 1, estimated=True)
    explored = bool(np.all(weighted.plays.sum(0) >= MIN_PLAYS) and np.all(policies > 0))
    span = float(np.ptp(estimated, axis=2).mean())
    return judge([bins], [score(bins)], span, explored, seed)


def verdicts(agent: str, order: str, feedback: str, episodes: int, logs: int) -> Counter[str]:
    """The verdicts on logs of one agent; drawn: full feedback on actions instead of policies."""
    rng, found = np.random.default_rng(episodes), Counter()
    for seed in range(logs):
        given = losses(rng, episodes, order)
        policies = AGENTS[agent](given)
        if feedback == "bandit":
            found[bandit_verdict(rng, exploring(policies), given, seed).verdict] += 1
            continue
        if feedback == "drawn":
            policies = np.eye(given.shape[2])[drawn(rng, policies)]
        found[full_verdict(policies, given, seed).verdict] += 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--logs", type=int, default=200)
    parser.add_argument("--episodes", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--feedback", nargs="+", default=["full", "drawn", "bandit"])
    asked = parser.parse_args()
    _verdict.CURVES = 1  # the published tests are not looked at
    print(
        "| feedback | agent | best arm | episodes | learning | not learning | no regret | cannot tell |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for feedback in asked.feedback:
        for agent in AGENTS:
            for order in ORDERS:
                for episodes in asked.episodes:
                    found = verdicts(agent, order, feedback, episodes, asked.logs)
                    words = ("learning", "not learning", "no regret", "cannot tell")
                    shares = " | ".join(f"{found[word] / asked.logs:.1%}" for word in words)
                    print(
                        f"| {feedback} | {agent} | {order} | {episodes:,} | {shares} |", flush=True
                    )


if __name__ == "__main__":
    main()
