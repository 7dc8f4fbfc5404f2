"""The loop that a user writes first, beside the same in numpy: `python -m tools.loop [--games N] [--json]`.

    for seed in range(N):
        game = rx.games.random(5, 5, seed=seed)
        gaps = rx.joint_gaps(rx.play(game, [rx.Hedge(0.1)] * 2, rounds=100).joint, game)

Every game has a name of its own. Reports the mean milliseconds per game of either, making the game included, and
the programs that jax compiled, both after the first game. The two take turns, so that whatever else the machine does
slows both, and their gaps must agree.
"""

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import regrax as rx
from tools.compilations import count_compilations

ACTIONS, ROUNDS, STEP = 5, 100, 0.1
TOLERANCE = 1e-4  # regrax plays in float32
Gaps = dict[str, float]


def with_regrax(seed: int) -> Gaps:
    """Make a game, play it, measure: as a user writes it."""
    game = rx.games.random(ACTIONS, ACTIONS, seed=seed)
    played = rx.play(game, [rx.Hedge(STEP)] * 2, rounds=ROUNDS)
    gaps = rx.joint_gaps(played.joint, game)
    return {name: float(gaps[name]) for name in ("cce_gap", "ce_gap", "swap_gap")}


def with_numpy(seed: int) -> Gaps:
    """The same game, play and gaps without regrax."""
    payoffs = np.random.default_rng(seed).uniform(0, 1, (2, ACTIONS, ACTIONS))
    joint = np_play(payoffs)
    gains = [np_gains(payoffs[0], joint), np_gains(payoffs[1].T, joint.T)]
    return {
        "cce_gap": max(gain.sum(0).max() for gain in gains),
        "ce_gap": max(gain.max() for gain in gains),
        "swap_gap": max(gain.max(1).sum() for gain in gains),
    }


def np_softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """exp(x_i) / sum_j exp(x_j)."""
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def np_play(payoffs: NDArray[np.float64]) -> NDArray[np.float64]:
    """The average joint play of two Hedges that see each other's policies."""
    totals, joint = np.zeros((2, ACTIONS)), np.zeros((ACTIONS, ACTIONS))
    for _ in range(ROUNDS):
        row, column = np_softmax(STEP * totals[0]), np_softmax(STEP * totals[1])
        joint += np.outer(row, column)
        totals[0] += payoffs[0] @ column
        totals[1] += row @ payoffs[1]
    return joint / ROUNDS


def np_gains(payoff: NDArray[np.float64], joint: NDArray[np.float64]) -> NDArray[np.float64]:
    """gain[a, b]: what the row player gains by playing b whenever told a."""
    conditional = joint @ payoff.T  # [a, b]: payoff of b, in the rounds of a
    return conditional - np.diag(conditional)[:, None]


def seconds(task: Callable[[int], Gaps], seed: int) -> float:
    """Of one game, from its making to its gaps."""
    began = time.perf_counter()
    task(seed)
    return time.perf_counter() - began


def measure(games: int) -> dict[str, Any]:
    """Both in turn, after a check that they compute the same."""
    ours, theirs = with_regrax(0), with_numpy(0)
    for name, gap in ours.items():
        assert abs(gap - theirs[name]) < TOLERANCE, (name, gap, theirs[name])
    with count_compilations() as programs:
        turns = [
            (seconds(with_regrax, seed), seconds(with_numpy, seed)) for seed in range(1, games)
        ]
    regrax_ms, numpy_ms = (1e3 * sum(took) / len(took) for took in zip(*turns, strict=True))
    return {
        "games": games,
        "regrax_ms_per_game": round(regrax_ms, 3),
        "numpy_ms_per_game": round(numpy_ms, 3),
        "ratio": round(regrax_ms / numpy_ms, 2),
        "compilations_after_first": programs.total(),
    }


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.games < 2:
        parser.error(f"--games must be an integer >= 2, got {options.games}")
    report = measure(options.games)
    if options.json:
        return print(json.dumps(report))
    for name, value in report.items():
        print(f"{name:25} {value}")


if __name__ == "__main__":
    main()
