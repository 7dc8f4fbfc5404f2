"""The one loop: starts, summaries in constant memory, sums that hold over many rounds, programs that calls share."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import regrax as rx
from regrax.games import matching_pennies, random, weighted_rps
from regrax.learners import (
    BanditLearner,
    SumLearner,
    init_players,
    play_round,
    rollout,
)
from regrax.specs import parse_learner, registered

START = [0.2, 0.5, 0.3]
EXAMPLES = [
    text if text == entry.examples[0] else pytest.param(text, marks=pytest.mark.slow)
    for entry in registered("learner").values()
    for text in entry.examples
    if "ball" not in text
]


@pytest.mark.parametrize("text", EXAMPLES)
def test_start_is_the_policy_of_round_one(x64, text):
    learner = parse_learner(text)
    key = jax.random.key(0) if isinstance(learner, BanditLearner) else None
    losses = np.random.default_rng(0).random((6, 3))
    played = rollout(learner, losses, key=key, start=START)
    np.testing.assert_allclose(played[0], START, atol=1e-9)
    np.testing.assert_allclose(played.sum(1), 1, atol=1e-9)


@pytest.mark.parametrize(
    "text", ["hedge(0.5)", "optimistic_hedge(0.5)", "euclidean_ftrl(0.5)", "regret_matching()"]
)
def test_bounds_hold_from_a_prior(x64, text):
    learner = parse_learner(text).with_prior(START)
    losses = np.random.default_rng(1).random((200, 3)) * np.array([0.5, 1.0, 0.2])
    regret = rx.external_regret(rollout(learner, losses), losses)
    bounds = learner.bound(3, np.array([1, 100, 200]))
    assert regret <= bounds[-1]
    assert (np.diff(bounds) > 0).all()
    assert bounds[-1] == learner.bound(3, 200)


def test_hedge_from_a_prior_is_the_prior_times_its_weights(x64):
    losses = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    weights = np.array(START) * np.exp([-0.7, 0.0, 0.0])
    played = rollout(rx.Hedge(0.7, prior=START), losses)
    np.testing.assert_allclose(played[1], weights / weights.sum(), atol=1e-12)
    assert rx.Hedge(0.7, prior=START).bound(3, 1) == pytest.approx(np.log(5) / 0.7 + 0.7 / 8)
    assert str(parse_learner("hedge(0.7, [0.2, 0.5, 0.3])")) == "hedge(0.7, [0.2, 0.5, 0.3])"


class Slow(rx.HostLearner):
    """A learner of one's own that runs in Python and was never told of starts: it counts how often it was asked."""

    asked: list = eqx.field(static=True, default_factory=list)

    def init(self, actions, rounds=None, *, key=None):
        return np.ones(actions) / actions

    def policy(self, state):
        self.asked.append(state)
        return jnp.asarray(state)

    def update(self, state, feedback):
        return state


class OwnBandit(rx.BanditLearner):
    """A bandit learner without a prior."""

    def init(self, actions, rounds=None, *, key=None):
        return jnp.ones(actions) / actions

    def policy(self, state):
        return state

    def update(self, state, feedback):
        return state + 0 * feedback[1]


@pytest.mark.parametrize("learner", [Slow(), OwnBandit()])
def test_every_kind_of_learner_takes_a_start(learner):
    played = rollout(learner, np.zeros((3, 3)), key=jax.random.key(0), start=START)
    np.testing.assert_allclose(played, [START, [1 / 3] * 3, [1 / 3] * 3], atol=1e-6)
    assert len(getattr(learner, "asked", "ab")) == 2
    again = learner.starting_at([0.0, 1.0, 0.0]).starting_at(START)
    np.testing.assert_allclose(rollout(again, np.zeros((1, 3)), key=jax.random.key(0)), [START])


class MyHedge(rx.Learner):
    """Hedge again, as a user writes it."""

    def init(self, actions, rounds=None, *, key=None):
        return jnp.zeros(actions)

    def policy(self, state):
        return jax.nn.softmax(-0.5 * state)

    def update(self, state, feedback):
        return state + feedback


def test_a_start_means_the_same_for_a_copy_of_hedge(x64):
    losses = np.random.default_rng(2).random((30, 3))
    ours, copied = (rollout(learner, losses, start=START) for learner in (rx.Hedge(0.5), MyHedge()))
    np.testing.assert_allclose(ours, copied, atol=1e-12)
    learners = {"ours": rx.Hedge(0.5), "copied": MyHedge()}
    result = rx.round_robin(learners, {"game": random(3, 3, seed=4)}, 40, seeds=3)
    for mean in result.values.values():
        np.testing.assert_allclose(mean[0, 0], mean[0, 1], atol=1e-9)


class Lazy(rx.Learner):
    """A wrapper as a user writes it."""

    base: rx.Learner

    def init(self, actions, rounds=None, *, key=None):
        return self.base.init(actions, rounds, key=key)

    def policy(self, state):
        return self.base.policy(state)

    def update(self, state, feedback):
        return state


def test_a_wrapper_of_ones_own_passes_the_prior_to_its_base():
    played = rollout(Lazy(rx.Hedge(0.1)), np.ones((2, 3)), prior=START)
    np.testing.assert_allclose(played, [START, START], atol=1e-6)


class Mute(rx.Learner):
    """A learner without a policy."""

    def init(self, actions, rounds=None, *, key=None):
        return jnp.zeros(actions)

    def update(self, state, feedback):
        return state


def test_a_learner_without_a_policy_says_what_it_needs():
    with pytest.raises(TypeError, match="Mute must define policy, or a state with a field policy"):
        rollout(Mute(), np.ones((2, 2)))


def test_a_prior_needs_a_learner_that_has_one(as_users_run_it):
    with pytest.raises(ValueError, match=r"follow_the_leader\(\) has no prior; use start"):
        rollout("follow_the_leader()", np.zeros((2, 3)), prior=START)
    with pytest.raises(ValueError, match="prior must sum to 1"):
        rx.play(matching_pennies(), "hedge(0.3)", 5, prior=[[0.5, 0.6], None])


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize(
    ("learner", "size"),
    [("hedge(0.5)", 1e39), ("optimistic_hedge(1e30)", 1e9), ("regret_matching()", 3e38)],
)
def test_an_overflow_names_the_learner_and_the_round(as_users_run_it, learner, size):
    rows = np.array([[0.0, 1.0], [1.0, 0.0]] * 3) * size
    with pytest.raises(ValueError, match=r"\) played .* in round [2-5]: its losses or its step"):
        rollout(learner, rows)
    game = rx.games.zero_sum(np.array([[0.0, size], [-size, 0.0]]))
    for keep in ("all", "summary"):
        with pytest.raises(ValueError, match=r"\) played .* in round [2-5]: its losses"):
            rx.play(game, [learner, "uniform()"], 6, keep=keep, start=[None, 0])


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_an_action_drawn_from_nan_does_not_count_as_played(as_users_run_it):
    key = jax.random.key(0)
    with pytest.raises(ValueError, match=r"exp3\(1e\+39\) played .*nan.* in round [1-5]"):
        rx.play("chicken", "exp3(1e39)", 6, key=key)
    failures = rx.round_robin(["exp3(1e39)", "uniform()"], ["chicken"], 6, key=key).failures
    assert {name for failure in failures for name in failure.learners} >= {"exp3(1e+39)"}


@pytest.mark.parametrize("text", ["hedge(0.5)", "ada_hedge()", "blum_mansour(hedge(0.5))"])
def test_play_leaves_a_vertex_start(x64, text):
    losses = np.array([[1.0, 0.0, 0.5]] * 5)
    played = rollout(text, losses, start=0)
    np.testing.assert_allclose(played[0], [1, 0, 0])
    assert played[-1].argmax() == 1


@pytest.mark.parametrize(
    ("start", "policies"),
    [
        ([0, "tails"], [[1, 0], [0, 1]]),
        ("heads", [[1, 0], [1, 0]]),
        ("0.2,0.8", [[0.2, 0.8], [0.2, 0.8]]),
        (["own", (0.9, 0.1)], [[0.5, 0.5], [0.9, 0.1]]),
        ("random(3)", [np.random.default_rng((3, n)).dirichlet([1, 1]) for n in range(2)]),
        (["random", None], [np.random.default_rng((0, 0)).dirichlet([1, 1]), [0.5, 0.5]]),
    ],
)
def test_forms_of_starts(x64, start, policies):
    played = rx.play("matching-pennies", "hedge(0.3)", 8, start=start)
    np.testing.assert_allclose([side[0] for side in played.policies], policies, atol=1e-12)


def test_a_start_in_a_spec(x64):
    text = "started(follow_the_leader(), [0.2, 0.5, 0.3])"
    assert str(parse_learner(text)) == text
    np.testing.assert_allclose(rollout(text, np.zeros((1, 3))), [START])


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ([[0.5, 0.5]], "start must have one entry for each of 2 players, got 1"),
        ([[0.5, 0.6], None], "start must sum to 1"),
        ([[0.2, 0.3, 0.5], None], r"start must have shape \(2,\)"),
        (
            "edge",
            r"start must be 2 probabilities \(as in 0.2,0.8\), random, own or one of heads, tails",
        ),
        ([2, 0], "start must be an action from 0 to 1, got 2"),
        (3, "start must be a list with one entry per player, got 3"),
        ({}, "start must be a list with one entry per player, got {}"),
    ],
)
def test_bad_starts_raise(as_users_run_it, start, message):
    with pytest.raises(ValueError, match=message):
        rx.play(matching_pennies(), rx.Hedge(0.3), 5, start=start)


@pytest.mark.parametrize(
    ("rounds", "key"),
    [(300, None), (300, 3), (1, None), pytest.param(1, 3, marks=pytest.mark.slow)],
)
def test_a_summary_equals_the_sums_of_its_rows(x64, rounds, key):
    drawn = None if key is None else jax.random.key(key)
    game, learners = random(3, 2, 2, seed=1), [rx.Hedge(0.3), rx.RegretMatching(), rx.Hedge(1.0)]
    whole = rx.play(game, learners, rounds, key=drawn)
    short = rx.play(game, learners, rounds, key=drawn, keep="summary")
    np.testing.assert_allclose(short.joint, whole.joint, atol=1e-12)
    pairs = zip(whole.played, whole.losses, strict=True)
    for n, (played, losses) in enumerate(pairs):
        np.testing.assert_allclose(short.averages[n], played.mean(0), atol=1e-12)
        assert short.payoffs[n] == pytest.approx(-(played * losses).sum() / rounds)
        for kind in ("external", "internal", "swap"):
            exact = getattr(rx, f"{kind}_regret")(played, losses)
            assert short.regrets(kind)[n] == pytest.approx(exact, abs=1e-9)
            assert whole.summary().regrets(kind)[n] == pytest.approx(exact, abs=1e-9)


def test_a_million_float32_rounds_stay_accurate(as_users_run_it):
    game = weighted_rps()
    found = rx.play(game, rx.Hedge(0.05), 1_000_000, keep="summary", start=[[0.6, 0.2, 0.2], None])
    assert abs(found.joint.sum() - 1) < 1e-6
    for regret, gap in zip(found.regrets(), rx.cce_gap(found.joint, game, "none"), strict=True):
        assert abs(regret / found.rounds - gap) < 1e-3


class Adding(SumLearner):
    """Plays one action and adds up what it is told."""

    def policy_from_sums(self, sums, round):
        return jnp.array([1.0, 0.0, 0.0])


def test_states_keep_six_digits_over_ten_million_rounds(as_users_run_it):
    loss = jnp.array([0.1, 0.7, 3.3], jnp.float32)
    learners = (Adding(),)

    def one_round(_, states):
        return play_round(learners, lambda played, row: (loss,), states)[0]

    @jax.jit
    def play():
        return jax.lax.fori_loop(
            0, 10_000_000, one_round, init_players(learners, (3,), None, None)[0]
        )

    (state,) = play()
    np.testing.assert_allclose(
        np.asarray(state.total, float), 1e7 * np.asarray(loss, float), rtol=1e-6
    )


def test_new_rounds_and_steps_compile_nothing_new(as_users_run_it, compilations):
    game = random(2, 2)
    for rounds in (4, 8, 16, 32):
        rx.play(game, rx.Hedge(0.3), rounds)
    with compilations() as count:
        for rounds in range(3, 33):
            rx.play(random(2, 2, seed=rounds), rx.Hedge(rounds), rounds)
    assert count == [0]


def test_progress_is_reported():
    seen = []
    rx.play(
        matching_pennies(),
        rx.Uniform(),
        70_000,
        keep="summary",
        on_progress=lambda *at: seen.append(at),
    )
    assert [rounds for _, rounds in seen] == [70_000] * len(seen)
    played = [0, *(done for done, _ in seen)]
    assert played[-1] == 70_000
    assert len(played) > 3
    assert (np.diff(played) > 0).all()


def test_play_inside_jit_equals_play_outside(x64):
    """Nothing that is played is traced, and yet what comes out is."""
    game = weighted_rps()
    inside = jax.jit(lambda x: (rx.play(game, rx.Hedge(0.3), 30), x))(0.0)[0]
    outside = rx.play(game, rx.Hedge(0.3), 30)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-12), inside, outside)
    rolled = jax.jit(lambda x: x * rx.rollout(rx.Hedge(0.3), np.eye(3)))(1.0)
    np.testing.assert_allclose(rolled, rx.rollout(rx.Hedge(0.3), np.eye(3)), atol=1e-12)
