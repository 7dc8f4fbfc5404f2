"""Measure how often the audit is right about agents whose learning is known.

    python -m benchmarks.verdicts [--logs 400] [--episodes 6 12 30]

Prints the table of `explanation/audit.md`. Episodes have 60 rounds. Losses are those of

- `arms`: three Bernoulli arms of mean loss .2, .5 and .8, in an order that is fixed, rotates, or is drawn per episode;
- rock-paper-scissors against an opponent that reacts to what was played: Hedge with step 0.3, regret matching, a best
  response to all rounds so far, or to the last round.

`feedback` is what the log contains: `policy`, the losses of every action and the player's distributions; `drawn`, the
same with the drawn actions; `bandit`, the received losses, with distributions of which three tenths are uniform.
"""

import argparse
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from regrax.agents.audit.intervals import MIN_PLAYS, estimate_losses, starting_guesses
from regrax.agents.audit.verdict import LEVEL, Bins, Learning, Scores, judge, score

ROUNDS = 60
MEANS = np.array([0.2, 0.5, 0.8])
GAME = np.array(
    [[0.0, 1.0, -1.0], [-1.0, 0.0, 1.0], [1.0, -1.0, 0.0]]
)  # losses, rock-paper-scissors
VERDICTS = ("learning", "not learning", "no regret", "cannot tell")


class Past(NamedTuple):
    """The knowledge of a player before round `t` in each of `n` episodes."""

    t: int
    sums: np.ndarray  # of the losses of every action
    suffered: np.ndarray
    losses: np.ndarray  # of the last round
    played: np.ndarray  # in the last round
    worst: np.ndarray  # the worst arm of the episode


class Episodes(NamedTuple):
    """Policies, the actions drawn from them, and the losses of every action, `(n, ROUNDS, 3)` each."""

    policies: np.ndarray
    drawn: np.ndarray
    losses: np.ndarray


Player = Callable[[Past], np.ndarray]


def uniform(past: Past) -> np.ndarray:
    return np.full_like(past.sums, 1 / 3)


def biased(past: Past) -> np.ndarray:
    return np.broadcast_to([0.2, 0.3, 0.5], past.sums.shape)


def constant(past: Past) -> np.ndarray:
    return np.broadcast_to(np.eye(3)[2], past.sums.shape)


def circling(past: Past) -> np.ndarray:
    return np.broadcast_to(np.eye(3)[2 - past.t % 3], past.sums.shape)


def bad_first_round(past: Past) -> np.ndarray:
    """Play the worst arm in the first round, then at random."""
    return past.worst if past.t == 0 else uniform(past)


def sticky(past: Past) -> np.ndarray:
    """Repeat the action of the round before with probability 0.8."""
    return uniform(past) if past.t == 0 else 0.8 * past.played + 0.2 / 3


def last_best(past: Past) -> np.ndarray:
    """Play the best action of the last round."""
    best = past.losses == past.losses.min(1, keepdims=True)
    return best / best.sum(1, keepdims=True)


def best_response(past: Past) -> np.ndarray:
    """Play the best action of all rounds so far."""
    best = past.sums <= past.sums.min(1, keepdims=True) + 1e-9
    return best / best.sum(1, keepdims=True)


def hedge(past: Past) -> np.ndarray:
    weights = np.exp(-0.3 * (past.sums - past.sums.min(1, keepdims=True)))
    return weights / weights.sum(1, keepdims=True)


def regret_matching(past: Past) -> np.ndarray:
    regrets = np.maximum(past.suffered[:, None] - past.sums, 0.0)
    total = regrets.sum(1, keepdims=True)
    return np.where(total > 0, regrets / np.where(total > 0, total, 1.0), 1 / 3)


LASTING = (uniform, biased, constant, circling, bad_first_round, sticky)
LEARNERS = (hedge, regret_matching)
ARMS = ("fixed", "rotating", "random")
OPPONENTS = (hedge, regret_matching, best_response, last_best)


def arms(rng: np.random.Generator, episodes: int, order: str) -> np.ndarray:
    """Draw the mean losses of every episode."""
    if order == "fixed":
        return np.tile(MEANS, (episodes, 1))
    if order == "rotating":
        return np.stack([np.roll(MEANS, episode) for episode in range(episodes)])
    return rng.permuted(np.tile(MEANS, (episodes, 1)), axis=1)


def draw(rng: np.random.Generator, policies: np.ndarray) -> np.ndarray:
    """Draw actions from policies, as indicators."""
    above = rng.random((len(policies), 1)) > policies.cumsum(1)
    return np.eye(3)[above.sum(1).clip(0, 2)]


def advanced(past: Past, losses: np.ndarray, played: np.ndarray) -> Past:
    suffered = past.suffered + (losses * played).sum(1)
    return Past(past.t + 1, past.sums + losses, suffered, losses, played, past.worst)


def simulate(
    rng: np.random.Generator, player: Player, world: str | Player, episodes: int, exploring: float
) -> Episodes:
    """Play episodes against arms in some order, or against an opponent."""
    means = arms(rng, episodes, world) if isinstance(world, str) else np.tile(MEANS, (episodes, 1))
    zeros = np.zeros((episodes, 3))
    start = Past(0, zeros, zeros[:, 0], zeros, zeros, np.eye(3)[means.argmax(1)])
    past, other = start, start
    rows = []
    for _ in range(ROUNDS):
        policies = (1 - exploring) * player(past) + exploring / 3
        drawn = draw(rng, policies)
        if isinstance(world, str):
            losses = (rng.random((episodes, 3)) < means).astype(float)
        else:
            answer = draw(rng, world(other))
            losses = answer @ GAME.T
            other = advanced(other, drawn @ GAME.T, answer)
        past = advanced(past, losses, drawn)
        rows.append((policies, drawn, losses))
    return Episodes(*(np.stack(part, 1) for part in zip(*rows, strict=True)))


def judged(played: Episodes, feedback: str, logs: int) -> list[Learning]:
    """Judge several logs, whose episodes follow each other."""
    n = len(played.losses) // logs
    if feedback == "bandit":
        found = []
        for log in range(logs):
            found.append(bandit(Episodes(*(part[log * n : log * n + n] for part in played))))
        return found
    shown = played.policies if feedback == "policy" else played.drawn
    suffered = (shown * played.losses).sum(2)
    every = Bins(suffered, shown, played.losses, 1)
    scores = score(every)
    found = []
    for log in range(logs):
        at = slice(log * n, log * n + n)
        bins = every.part(at)
        own = Scores(*(part[at] for part in scores))
        span = float(np.ptp(bins.losses, axis=2).mean())
        found.append(judge((bins,), (own,), span, seed=log, curves=0))
    return found


def bandit(played: Episodes) -> Learning:
    """Judge a log of received losses with policies."""
    actions = played.drawn.argmax(2)
    received, chance = ((played.drawn * part).sum(2) for part in (played.losses, played.policies))
    totals = (played.drawn * received[..., None]).sum(1), played.drawn.sum(1)
    guesses = starting_guesses(*totals, received[:, 0])
    estimated, _ = estimate_losses(actions, received, chance, guesses)
    plays = totals[1].sum(0)
    estimated = np.where(plays > 0, estimated, received[..., None])
    bins = Bins(received, played.policies, estimated, 1, estimated=True)
    explored = bool(np.all(plays >= MIN_PLAYS) and np.all(played.policies > 0))
    span = float(np.ptp(received, axis=1).mean())
    return judge((bins,), (score(bins),), span, explored, plays > 0, curves=0)


def verdicts(
    player: Player, world: str | Player, feedback: str, episodes: int, logs: int
) -> list[Learning]:
    """Simulate logs of a player and judge them."""
    exploring = 0.3 if feedback == "bandit" else 0.0
    played = simulate(np.random.default_rng(episodes), player, world, logs * episodes, exploring)
    return judged(played, feedback, logs)


def shares(found: list[Learning]) -> dict[str, float]:
    """Compute the fraction of logs with each verdict, and with p <= 5 % that play moves to better actions."""
    counts = {word: np.mean([learning.verdict == word for learning in found]) for word in VERDICTS}
    p_values = [1.0 if learning.play_moves is None else learning.play_moves for learning in found]
    moves = np.mean(np.array(p_values) <= LEVEL)
    return {**counts, "moves": moves}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--logs", type=int, default=400)
    parser.add_argument("--episodes", type=int, nargs="+", default=[6, 12, 30])
    parser.add_argument("--feedback", nargs="+", default=["drawn", "bandit"])
    asked = parser.parse_args()
    print(f"| feedback | losses | player | {' | '.join(VERDICTS)} | play moves |")
    print("|---|---|---|---|---|---|---|---|")
    for feedback in asked.feedback:
        for world in (*ARMS[1:], *OPPONENTS):
            for player in (*LASTING, *LEARNERS):
                row = [
                    shares(verdicts(player, world, feedback, episodes, asked.logs))
                    for episodes in asked.episodes
                ]
                columns = (*VERDICTS, "moves")
                cells = [", ".join(f"{100 * part[c]:.0f}" for part in row) for c in columns]
                where = world if isinstance(world, str) else world.__name__
                names = (feedback, where, player.__name__)
                row = (text.replace("_", " ") for text in (*names, *cells))
                print("|", " | ".join(row), "|", flush=True)


if __name__ == "__main__":
    main()
