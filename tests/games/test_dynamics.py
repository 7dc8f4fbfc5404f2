"""What the zoo and the docs say of learning in the famous games, from starts off the equilibrium."""

import numpy as np
import pytest

import regrax as rx

pytestmark = pytest.mark.usefixtures("x64")
GOLDEN = (1 + 5**0.5) / 2
SUPERGOLDEN = 1.465571  # the root of x^3 = x^2 + 1


def cells(played):
    """The joint action of every round."""
    return np.stack([side.argmax(1) for side in played.policies], 1)


def stays(played):
    """How many rounds play stays in each cell it comes to, the last of them cut off by the end."""
    moved = np.flatnonzero((np.diff(cells(played), axis=0) != 0).any(1))
    return np.diff([-1, *moved])


@pytest.mark.parametrize(
    ("game", "start", "growth"),
    [("shapley", "random(0)", SUPERGOLDEN), ("jordan", "random(2)", GOLDEN)],
)
def test_fictitious_play_cycles(game, start, growth):
    played = rx.play(game, "fictitious_play()", 4000, start=start)
    long = stays(played)[-5:]
    np.testing.assert_allclose(long[1:] / long[:-1], growth, rtol=0.01)
    assert len({tuple(cell) for cell in cells(played)[100:]}) == 6  # the cells of the cycle
    gaps = rx.running_gaps(played, game)
    assert gaps["nash_gap"][100:].min() > 0.1  # averages do not converge, either
    assert gaps["cce_gap"][-1] < 0.002
    assert (played.summary().regrets() > 0.5).all()


def test_jordans_game_never_settles():
    played = rx.play("jordan", "fictitious_play()", 4000, start="random(0)")
    assert (stays(played) == 1).all()
    assert rx.nash_gap(played.joint, "jordan") < 0.001  # each player's average is a coin
    assert rx.cce_gap(played.joint, "jordan") > 0.99  # yet nothing is learned


@pytest.mark.parametrize(
    ("learner", "least", "most"),
    [
        ("hedge(0.3)", 0.1, 0.3),
        ("optimistic_hedge(0.3)", 0.1, 0.3),
        ("regret_matching_plus()", 0, 0.01),
    ],
)
def test_averages_in_shapleys_game(learner, least, most):
    start = [[0.6, 0.3, 0.1], [0.2, 0.3, 0.5]]
    played = rx.play("shapley", learner, 4000, start=start)
    assert least <= rx.nash_gap(played.joint, "shapley") < most
    assert np.ptp(played.policies[0][-1000:]) > 0.9  # the last iterate goes round


@pytest.mark.parametrize("game", ["matching-pennies", "rock-paper-scissors"])
def test_hedge_spirals_outward_and_optimistic_hedge_in(game):
    def divergences(learner):
        played = rx.play(game, learner, 3000, prior="random(1)")
        rows = np.stack(played.policies)
        return -np.log(rows * rows.shape[-1]).mean(-1).sum(0), played

    outward, played = divergences("hedge(0.1)")
    assert (np.diff(outward) > 0).all()
    assert max(np.ptp(side[-1]) for side in played.policies) > 0.5
    assert rx.nash_gap(played.joint, game) < 0.03  # the averages come near
    assert (played.summary().regrets() > 1).all()
    inward, played = divergences("optimistic_hedge(0.1)")
    assert inward[-1] < 1e-3 * inward[0]
    for side in played.policies:
        np.testing.assert_allclose(side[-1], 1 / side.shape[1], atol=0.01)


@pytest.mark.parametrize("game", ["shapley", "jordan"])
@pytest.mark.parametrize("learner", ["hedge(0.1)", "fictitious_play()"])
def test_uniform_starts_of_symmetric_games_stay_put(game, learner):
    """Uniform play is the equilibrium: why starts are drawn in tournaments."""
    played = rx.play(game, learner, 3000)
    assert max(np.ptp(side) for side in played.policies) < 1e-9
