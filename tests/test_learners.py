"""The contract every learner keeps. A learner in the registry is tested here on each of its examples."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from regrax.learners import (
    BlumMansour,
    EuclideanFTRL,
    Hedge,
    InverseSqrt,
    PerRound,
    RegretMatching,
    Uniform,
    rollout,
)
from regrax.learners.base import Learner
from regrax.regret import external_regret, swap_regret
from regrax.specs import LEARNERS, parse_learner

ROUNDING = 1e-9
EXAMPLES = [text for learner in LEARNERS.values() for text in learner.examples]
SIMPLEX = [text for text in EXAMPLES if parse_learner(text).plays_on == "simplex"]
BOUNDED = [text for text in EXAMPLES if parse_learner(text).bound(3, 20) is not None]

every_learner = pytest.mark.parametrize("text", EXAMPLES)
simplex_learners = pytest.mark.parametrize("text", SIMPLEX)


def gaussian(rounds=12, actions=3, seed=0):
    return jax.random.normal(jax.random.key(seed), (rounds, actions))


def by_hand(learner, losses):
    update, policy = jax.jit(lambda *a: learner.update(*a)), jax.jit(lambda s: learner.policy(s))
    state, policies = learner.init(losses.shape[1], losses.shape[0]), []
    for loss in losses:
        policies.append(policy(state))
        state = update(state, loss)
    return jnp.stack(policies)


@every_learner
def test_rollout_is_the_plain_loop(x64, text):
    learner, losses = parse_learner(text), gaussian()
    np.testing.assert_allclose(rollout(learner, losses), by_hand(learner, losses), atol=ROUNDING)


@simplex_learners
def test_policies_are_distributions(text):
    policies = np.asarray(rollout(parse_learner(text), 3 * gaussian(rounds=60)))
    assert policies.min() >= 0
    np.testing.assert_allclose(policies.sum(1), 1, atol=1e-5)


@every_learner
def test_a_policy_depends_on_the_past_only(x64, text):
    learner, losses = parse_learner(text), gaussian()
    changed = losses.at[6:].set(5.0)
    np.testing.assert_array_equal(rollout(learner, losses)[:7], rollout(learner, changed)[:7])


@every_learner
def test_actions_have_no_favourite(x64, text):
    learner, losses, order = parse_learner(text), gaussian(), jnp.array([2, 0, 1])
    np.testing.assert_allclose(
        rollout(learner, losses[:, order]), rollout(learner, losses)[:, order], atol=ROUNDING
    )


@simplex_learners
def test_a_common_shift_of_a_rounds_losses_changes_nothing(x64, text):
    learner, losses = parse_learner(text), gaussian()
    shifted = losses + gaussian(actions=1, seed=9)[:, [0, 0, 0]]
    np.testing.assert_allclose(rollout(learner, shifted), rollout(learner, losses), atol=1e-8)


@every_learner
def test_batches_equal_single_sequences(x64, text):
    learner = parse_learner(text)
    batch = jnp.stack([gaussian(seed=s) for s in range(3)])
    together = jax.vmap(lambda losses: rollout(learner, losses))(batch)
    np.testing.assert_allclose(together[1], rollout(learner, batch[1]), atol=ROUNDING)


@every_learner
def test_no_recompilation_from_round_to_round(text):
    learner, losses = parse_learner(text), gaussian()
    update = jax.jit(lambda state, loss: learner.update(state, loss))
    policy = jax.jit(lambda state: learner.policy(state))
    state = learner.init(3, 12)
    for loss in losses:
        policy(state)
        state = update(state, loss)
    assert update._cache_size() == 1
    assert policy._cache_size() == 1


@every_learner
def test_gradients_are_finite(text):
    learner, losses = parse_learner(text), gaussian()
    gradients = jax.grad(lambda l, x: jnp.sum(rollout(l, x) * x), argnums=(0, 1), allow_int=True)(
        learner, losses
    )
    for leaf in jax.tree.leaves(gradients):
        if leaf.dtype != jax.dtypes.float0:
            assert np.isfinite(np.asarray(leaf)).all()


@every_learner
def test_repr_is_the_spec_and_reads_back(text):
    learner = parse_learner(text)
    assert repr(learner) == text
    assert repr(parse_learner(repr(learner))) == text
    assert learner.about


@every_learner
def test_float32_by_default_and_float64_inside_enable_x64(text):
    losses = np.asarray(gaussian())
    assert rollout(parse_learner(text), losses).dtype == jnp.float32
    with jax.enable_x64(True):
        assert rollout(parse_learner(text), losses).dtype == jnp.float64


def adversarial(learner, rounds, actions):
    """Each round the action with most weight loses one, the others nothing."""

    def play_round(state, _):
        policy = learner.policy(state)
        loss = jax.nn.one_hot(jnp.argmax(policy), actions)
        return learner.update(state, loss), (policy, loss)

    return jax.jit(
        lambda: jax.lax.scan(play_round, learner.init(actions, rounds), length=rounds)[1]
    )()


def alternating(rounds, actions):
    return jnp.stack([(jnp.arange(actions) % 2 == t % 2).astype(float) for t in range(rounds)])


@pytest.mark.parametrize("actions", [2, 5])
@pytest.mark.parametrize("text", BOUNDED)
def test_regret_stays_below_the_textbook_bound(x64, text, actions):
    learner, rounds = parse_learner(text), 400
    regret = swap_regret if isinstance(learner, BlumMansour) else external_regret
    bound = learner.bound(actions, rounds, 1.0)
    uniform = jax.random.uniform(jax.random.key(0), (rounds, actions))
    drifting = (jax.random.uniform(jax.random.key(1), (rounds, actions)) < 0.5).astype(float)
    for losses in (uniform, drifting, alternating(rounds, actions)):
        assert float(regret(rollout(learner, losses), losses)) <= bound
    assert float(regret(*adversarial(learner, rounds, actions))) <= bound


def test_bounds_scale_with_the_losses(x64):
    """The bound for losses of width w is checked on losses of width w."""
    for learner in (Hedge(0.1), EuclideanFTRL(0.1), RegretMatching(), BlumMansour(Hedge(0.3))):
        _, losses = adversarial(learner, 300, 3)
        regret = swap_regret if isinstance(learner, BlumMansour) else external_regret
        scaled = 4.0 * losses
        assert float(regret(rollout(learner, scaled), scaled)) <= learner.bound(3, 300, 4.0)


def test_bounds_are_close_to_what_an_adversary_reaches(x64):
    """A bound a hundred times too large would pass the tests above: two actions and fair coins come near it."""
    rounds = 2000
    learner = Hedge(float(np.sqrt(8 * np.log(2) / rounds)))
    coins = jax.random.bernoulli(jax.random.key(0), shape=(200, rounds))[..., None]
    losses = jnp.concatenate([coins, ~coins], -1).astype(float)
    regrets = jax.vmap(lambda l: external_regret(rollout(learner, l), l))(losses)
    assert 0.5 * learner.bound(2, rounds) < float(regrets.max()) <= learner.bound(2, rounds)


def test_follow_the_leader_has_linear_regret_on_alternating_losses():
    losses = jnp.array([[0.5, 0.0]] + [[0.0, 1.0], [1.0, 0.0]] * 100)
    learner = parse_learner("follow_the_leader()")
    assert learner.bound(2, 201) is None
    assert float(external_regret(rollout(learner, losses), losses)) > 95


def test_hedge_by_hand(x64):
    losses = jnp.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    weights = np.exp(-0.5 * np.array([[0, 0], [1, 0], [1, 2]]))
    expected = weights / weights.sum(1, keepdims=True)
    np.testing.assert_allclose(rollout(Hedge(0.5), losses), expected, rtol=1e-12)


def test_schedules_give_each_round_its_step(x64):
    losses = gaussian(4)
    totals = np.vstack([np.zeros(3), np.cumsum(losses, 0)[:-1]])
    for schedule, steps in (
        (InverseSqrt(2.0), 2 / np.sqrt([1, 2, 3, 4])),
        (PerRound(0.5, 0.4, 0.3), np.array([0.5, 0.4, 0.3, 0.3])),
    ):
        expected = jax.nn.softmax(-steps[:, None] * totals)
        np.testing.assert_allclose(rollout(Hedge(schedule), losses), expected, rtol=1e-12)


def test_a_sweep_over_steps_is_a_vmap_and_compiles_once(x64):
    steps, losses = jnp.array([0.1, 0.2, 0.4]), gaussian()
    swept = jax.vmap(lambda k: rollout(Hedge(k), losses))(steps)
    np.testing.assert_allclose(swept[2], rollout(Hedge(0.4), losses), atol=ROUNDING)
    traced = []
    counted = jax.jit(lambda learner, x: traced.append(1) or rollout(learner, x))
    for step in (0.1, 0.2, 0.3):
        counted(Hedge(step), losses)
    assert len(traced) == 1


def test_blum_mansour_with_uniform_columns_is_uniform():
    np.testing.assert_allclose(rollout(BlumMansour(Uniform()), gaussian()), 1 / 3, rtol=1e-6)


def test_blum_mansour_keeps_its_residual(x64):
    learner = BlumMansour(Hedge(3.0))
    state = learner.init(4)
    for loss in gaussian(50, 4):
        state = learner.update(state, loss)
        matrix = jax.vmap(learner.base.policy)(state.heads).T
        assert float(jnp.abs(matrix @ state.policy - state.policy).sum()) <= 1e-10


def test_every_learner_is_final():
    for learner in LEARNERS.values():
        assert learner.__bases__ == (Learner,)
        assert not learner.__subclasses__()
