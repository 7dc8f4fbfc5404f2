"""The paper's corollaries: self-play with step c / sqrt(T) drives joint play to CCE (Hedge) and CE (Blum-Mansour)."""

import jax
import numpy as np
import pytest

from regrax.games import Game, cce_gap, ce_gap, play, random, swap_gap
from regrax.learners import BlumMansour, Hedge

HORIZONS = (100, 1_000, 10_000)
GAMES = 24
SLOPE = -0.45
SLOW = pytest.mark.slow


def learner_for(gap, d, rounds):
    if gap is cce_gap:
        return Hedge(float(np.sqrt(8 * np.log(d) / rounds)))
    return BlumMansour(Hedge(float(np.sqrt(8 * d * np.log(d) / rounds))))


@pytest.mark.parametrize(
    ("gap", "sizes"),
    [
        pytest.param(cce_gap, (4, 4), marks=SLOW),
        pytest.param(cce_gap, (3, 3, 3), marks=SLOW),
        (ce_gap, (4, 4)),
        pytest.param(ce_gap, (3, 3, 3), marks=SLOW),
        pytest.param(swap_gap, (3, 3), marks=SLOW),
    ],
)
def test_gaps_fall_like_one_over_root_t_within_the_bound(gap, sizes):
    d = sizes[0]
    payoffs = np.stack([random(*sizes, seed=s).payoffs for s in range(GAMES)]).astype(np.float32)
    gaps = []
    for rounds in HORIZONS:
        learner = learner_for(gap, d, rounds)
        measure = jax.jit(
            jax.vmap(
                lambda u, learner=learner, n=rounds: gap(play(Game(u), learner, n).joint, Game(u))
            )
        )
        measured = np.asarray(measure(payoffs))
        assert measured.max() <= learner.bound(d, rounds) / rounds
        gaps.append(measured)
    slopes = np.polyfit(np.log(HORIZONS), np.log(np.stack(gaps)), 1)[0]
    assert np.median(slopes) <= SLOPE
