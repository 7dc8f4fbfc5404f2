"""Measure how often the intervals of regret by context and of replayed learners cover the truth, and how wide they are.

    python -m benchmarks.contexts [--logs 4000] [--rounds 1000 4000 16000] [--players fixed learning stream]

Prints a table of `docs/audit.md`: the fraction of logs whose nominal 95 % interval covers the truth, and, in brackets,
the mean width of the intervals divided by an oracle's. The oracle knows the mean loss of every action in every context,
which are its guesses, and the best policy; its interval is Student's t over the same units. There are four contexts of
probability .4, .3, .2 and .1, and three actions with Bernoulli losses. The players are

- `fixed`: episodes of 20 rounds, with a fixed policy by context;
- `learning`: episodes of 20 rounds, with exponential weights by context, mixed with a third of random play;
- `stream`: one episode with the fixed policy, whose blocks of rounds take the place of episodes.

Regret in a context is the worst of the four. The true loss of a replayed learner is its mean over logs, from the first
400; of a stream it is that of the policies it had there, because one stream does not show how they vary. The rounds of
a log are its seed.
"""

import argparse

import numpy as np
from scipy.special import stdtrit

from regrax.agents.audit.contexts import (
    REPLAYED,
    audit_contexts,
    estimate_by_context,
    replay_learners,
    sum_rounds,
)
from regrax.agents.audit.read import AgentLog, Episode, Schema

PLAYERS = ("fixed", "learning", "stream")
CHANCES = np.array([0.4, 0.3, 0.2, 0.1])
MEANS = np.array([[0.2, 0.5, 0.8], [0.6, 0.3, 0.7], [0.5, 0.55, 0.25], [0.9, 0.7, 0.4]])
POLICIES = np.array([[0.5, 0.3, 0.2], [0.4, 0.3, 0.3], [0.2, 0.6, 0.2], [0.3, 0.4, 0.3]])
LENGTH = 20  # rounds of an episode
MEASURED = 400  # logs from which the replayed learners' true losses are estimated
BEST = MEANS.min(1)


def play(rng: np.random.Generator, player: str, rounds: int) -> np.ndarray:
    """Play a log; return the columns action, loss, propensity and context, `(E, T, 4)`."""
    length = rounds if player == "stream" else LENGTH
    shape = rounds // length, length
    contexts = rng.choice(4, shape, p=CHANCES)
    policies = POLICIES[contexts]
    sums = np.zeros((shape[0], 4, 3))
    numbers = np.empty((*shape, 4))
    steps = range(length) if player == "learning" else [slice(None)]
    for t in steps:
        context = contexts[:, t]
        if player == "learning":
            own = sums[np.arange(shape[0]), context]
            weights = np.exp(-0.3 * (own - own.min(-1, keepdims=True)))
            policy = 2 / 3 * weights / weights.sum(-1, keepdims=True) + 1 / 9
        else:
            policy = policies[:, t]
        actions = (rng.random((*context.shape, 1)) > policy.cumsum(-1)).sum(-1).clip(0, 2)
        loss = (rng.random(context.shape) < MEANS[context, actions]).astype(float)
        chances = np.take_along_axis(policy, actions[..., None], -1)[..., 0]
        if player == "learning":
            sums[np.arange(shape[0]), context, actions] += loss / chances
        numbers[:, t] = np.stack([actions, loss, chances, context], -1)
    return numbers


def as_rows(numbers: np.ndarray) -> AgentLog:
    """Store the rows of an agent as `read_log` does."""
    episodes, length, width = numbers.shape
    schema = Schema("bandit", ("a", "b", "c"), named=True, mixed=False, contexts=tuple("wxyz"))
    places = {
        str(e): Episode(length, length, [slice(e * length * width, (e + 1) * length * width)])
        for e in range(episodes)
    }
    return AgentLog("agent", schema, places, numbers=numbers.reshape(-1))


def oracle_width(values: np.ndarray) -> float:
    """Compute the width of Student's interval for the mean of the units."""
    error = values.std(0, ddof=1) / len(values) ** 0.5
    return float(2 * stdtrit(len(values) - 1, 0.975) * error)


def units(numbers: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sum a value per round over episodes, or over the blocks of a single episode; per episode."""
    if len(numbers) > 1:
        return values.sum(1)
    return 50 * values.reshape(50, -1).sum(1)


def true_estimates(numbers: np.ndarray) -> np.ndarray:
    """Estimate every action's loss with the true means as guesses."""
    actions = numbers[..., 0].astype(int)
    guess = MEANS[numbers[..., 3].astype(int)]
    error = (numbers[..., 1, None] - guess) / numbers[..., 2, None]
    return guess + np.eye(3)[actions] * error


def replayed_losses(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the learners' expected loss per episode, and the width of the oracle's interval."""
    episodes, length, _ = numbers.shape
    flat = numbers.reshape(-1, 4)
    episode = np.repeat(np.arange(episodes), length)
    context = flat[:, 3].astype(int)
    totals = sum_rounds(as_rows(numbers))
    rounds = (episode, context, flat[:, :3])
    losses = estimate_by_context(rounds, totals)
    policies = replay_learners(rounds, losses, totals)
    true = (policies * MEANS[context]).sum((1, 2)) / episodes
    better = (policies * true_estimates(numbers).reshape(-1, 3)).sum(2)
    widths = [oracle_width(units(numbers, loss.reshape(episodes, length))) for loss in better]
    return true, np.array(widths)


def cell(player: str, rounds: int, logs: int) -> dict[str, tuple[float, float]]:
    """Compute the coverage of every measure, and the mean width relative to the oracle's."""
    rng = np.random.default_rng([PLAYERS.index(player), rounds])
    names = ("policy", "context", *REPLAYED)
    ends = []
    widths = []
    truths = []
    replayed = []
    for log in range(logs):
        numbers = play(rng, player, rounds)
        stored = as_rows(numbers)
        audit = audit_contexts(stored, sum_rounds(stored))
        regrets = {context.context: context.regret for context in audit.contexts}
        found = [audit.regret, *(regrets[name] for name in "wxyz"), *audit.replayed.values()]
        ends.append([(measure.low, measure.high) for measure in found])
        contexts = numbers[..., 3].astype(int)
        best = np.take_along_axis(true_estimates(numbers), MEANS.argmin(1)[contexts][..., None], 2)
        regret = numbers[..., 1] - best[..., 0]
        parts = [regret, *(regret * (contexts == c) for c in range(4))]
        widths.append([oracle_width(units(numbers, part)) for part in parts])
        # the expected loss of what was played is known but for the player that learns
        actions = numbers[..., 0].astype(int)
        gaps = MEANS[contexts, actions] - BEST[contexts]
        truths.append([(gaps * (contexts == c)).sum() / len(numbers) for c in range(4)])
        if log < MEASURED or player == "stream":
            replayed.append(replayed_losses(numbers))
    true = np.mean(truths, 0)
    if player != "learning":
        episode = rounds if player == "stream" else LENGTH
        true = episode * CHANCES * ((POLICIES * MEANS).sum(1) - BEST)
    losses = np.array([loss for loss, _ in replayed])
    if player != "stream":
        losses = np.tile(losses.mean(0), (logs, 1))
    target = np.hstack([np.tile([true.sum(), *true], (logs, 1)), losses])
    low, high = np.moveaxis(np.array(ends, float), 2, 0)
    shares = ((low <= target) & (target <= high)).mean(0)
    oracles = [*np.mean(widths, 0), *np.mean([width for _, width in replayed], 0)]
    ratios = (high - low).mean(0) / oracles
    worst = 1 + int(np.abs(shares[1:5] - 0.95).argmax())
    picked = [0, worst, *range(5, target.shape[1])]
    return {name: (shares[i], ratios[i]) for name, i in zip(names, picked, strict=True)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--logs", type=int, default=4000)
    parser.add_argument("--rounds", type=int, nargs="+", default=[1000, 4000, 16000])
    parser.add_argument("--players", nargs="+", default=PLAYERS)
    asked = parser.parse_args()
    print(f"| player | rounds | best policy | a context | {' | '.join(REPLAYED)} |")
    print("|---|---|---|---|---|---|---|---|")
    for player in asked.players:
        for rounds in asked.rounds:
            found = cell(player, rounds, asked.logs)
            cells = [f"{100 * held:.1f} ({width:.2f})" for held, width in found.values()]
            print("|", " | ".join((player, f"{rounds:,}", *cells)), "|", flush=True)


if __name__ == "__main__":
    main()
