"""The contract every learner keeps. A learner in the registry is tested here on each of its examples."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import regrax as rx
from regrax.specs import parse_learner, registered

ROUNDING = 1e-9
EXAMPLES = [text for learner in registered("learner").values() for text in learner.examples]
LEARNER = {text: parse_learner(text) for text in EXAMPLES}
SIMPLEX = [text for text in EXAMPLES if isinstance(LEARNER[text].domain, rx.Simplex)]
FULL = [text for text in EXAMPLES if not isinstance(LEARNER[text], rx.BanditLearner)]
BANDIT = [text for text in EXAMPLES if isinstance(LEARNER[text], rx.BanditLearner)]
BOUNDED = [text for text in EXAMPLES if LEARNER[text].bound(3, 20) is not None]
REGRET = {"external": rx.external_regret, "internal": rx.internal_regret, "swap": rx.swap_regret}

every_learner = pytest.mark.parametrize("text", EXAMPLES)


def gaussian(rounds=12, actions=3, seed=0):
    """Drawn by NumPy, which has nothing to compile."""
    return np.random.default_rng(seed).normal(size=(rounds, actions))


ORDER = np.array([2, 0, 1])


def sequence_variants():
    """A loss sequence, the same with another future, with its actions in another order, and with shifted rounds."""
    losses = gaussian()
    other_future = np.concatenate([losses[:6], np.full((6, 3), 5.0)])
    return np.stack([losses, other_future, losses[:, ORDER], losses + gaussian(12, 1, seed=9)])


def key_for(learner, seed=0):
    return jax.random.key(seed) if isinstance(learner, rx.BanditLearner) else None


def run(learner, losses):
    return rx.rollout(learner, losses, key=key_for(learner))


def loop(learner, losses):
    """The policies of a plain loop over the losses, and how often a round was compiled."""
    keys = [None] * len(losses)
    if isinstance(learner, rx.BanditLearner):  # `rollout` draws the actions with these keys
        _, own = jax.random.split(jax.random.split(key_for(learner), 1)[0])
        keys = [jax.random.fold_in(own, number) for number in range(len(losses))]

    @jax.jit
    def step(state, loss, key):
        policy = learner.policy(state)
        action = None if key is None else jax.random.categorical(key, jnp.log(policy))
        return policy, learner.update(state, learner.observe(loss, action))

    state, policies = learner.init(3, 12), []
    for loss, key in zip(losses, keys, strict=True):
        policy, state = step(state, loss, key)
        policies.append(policy)
    return np.stack(policies), step._cache_size()


@every_learner
def test_the_contract(x64, text):
    learner = LEARNER[text]
    variants = jax.jit(jax.vmap(lambda losses: run(learner, losses)))(sequence_variants())
    plain, other_future, reordered, shifted = np.asarray(variants)
    assert plain.dtype == np.float64
    policies, compilations = loop(learner, gaussian())
    np.testing.assert_allclose(plain, policies, atol=ROUNDING, err_msg="rollout is not a loop")
    assert compilations == 1
    np.testing.assert_array_equal(plain[:7], other_future[:7], err_msg="it saw the future")
    if text in SIMPLEX:
        assert plain.min() >= 0
        np.testing.assert_allclose(plain.sum(-1), 1, atol=ROUNDING)
        np.testing.assert_allclose(plain[0], 1 / 3, atol=ROUNDING, err_msg="round 1 is not even")
    if text in FULL:
        np.testing.assert_allclose(
            reordered, plain[:, ORDER], atol=ROUNDING, err_msg="an action is favoured"
        )
    if text in FULL and text in SIMPLEX:
        np.testing.assert_allclose(
            shifted, plain, atol=1e-8, err_msg="a common shift of a round's losses matters"
        )


@pytest.mark.parametrize("text", BANDIT)
def test_bandit_learners_treat_actions_symmetrically(x64, text):
    learner = LEARNER[text]
    place = np.argsort(ORDER)  # where the reordered learner finds each action
    update, policy = jax.jit(lambda *a: learner.update(*a)), jax.jit(lambda s: learner.policy(s))
    one, other = learner.init(3, 12), learner.init(3, 12)
    for action, loss in [(0, 0.3), (2, 1.0), (1, 0.5), (1, 0.0), (0, 0.9)]:
        one = update(one, (jnp.asarray(np.array(action)), jnp.asarray(np.array(loss))))
        other = update(other, (jnp.asarray(place[action]), jnp.asarray(np.array(loss))))
        np.testing.assert_allclose(policy(other), np.asarray(policy(one))[ORDER], atol=ROUNDING)


@every_learner
@pytest.mark.slow
def test_float32_by_default_with_finite_gradients(text):
    learner, losses = LEARNER[text], 3 * gaussian().astype(np.float32)

    def suffered(learner, losses):
        policies = run(learner, losses)
        return jnp.sum(policies * losses), policies

    slopes = jax.jit(jax.grad(suffered, (0, 1), has_aux=True, allow_int=True))
    gradients, policies = jax.tree.map(np.asarray, slopes(learner, losses))
    assert policies.dtype == jnp.float32
    if text in SIMPLEX:
        assert policies.min() >= 0
        np.testing.assert_allclose(policies.sum(1), 1, atol=1e-5)
    for leaf in jax.tree.leaves(gradients):
        if leaf.dtype != jax.dtypes.float0:
            assert np.isfinite(leaf).all()


@every_learner
def test_str_is_a_spec_that_reads_back(text):
    assert str(LEARNER[text]) == text
    assert str(parse_learner(str(LEARNER[text]))) == text
    assert registered("learner")[text.split("(")[0]].summary


def sequences(rounds, actions):
    """Losses between 0 and 1: a better action to find, coins, alternating; the adversary replaces the last."""
    uniform, coins = np.random.default_rng(0).random((2, rounds, actions))
    uniform[:, 0] *= 0.6
    turns = np.arange(rounds)[:, None] % 2 == np.arange(actions)[None] % 2
    return np.stack([uniform, (coins < 0.5).astype(float), turns.astype(float), uniform])


def played(learner, rounds, actions, seeds=1, width=1.0):
    """Policies and losses on each sequence, and against an adversary: the action with most weight loses most."""

    def one(losses, adversarial, key):
        def play_round(state, shown):
            policy, (loss, round_key) = learner.policy(state), shown
            worst = jax.nn.one_hot(jnp.argmax(policy), actions, dtype=policy.dtype)
            loss = width * jnp.where(adversarial, worst, loss)
            action = jax.random.categorical(round_key, jnp.log(policy))
            return learner.update(state, learner.observe(loss, action)), (policy, loss)

        keys = jax.random.split(key, rounds)
        return jax.lax.scan(play_round, learner.init(actions, rounds), (losses, keys))[1]

    each_seed = jax.vmap(one, (None, None, 0))
    keys = jax.random.split(jax.random.key(2), seeds)
    adversarial = np.arange(4) == 3
    return jax.vmap(each_seed, (0, 0, None))(sequences(rounds, actions), adversarial, keys)


def worst_regrets(learner, rounds, actions, width=1.0):
    """Regret on each sequence; for bandit learners the largest over comparators of its mean over seeds."""
    bandit = isinstance(learner, rx.BanditLearner)

    @jax.jit
    def regrets():
        policies, losses = played(learner, rounds, actions, 64 if bandit else 1, width)
        if bandit:
            lost = (policies * losses).sum((2, 3))
            return (lost[..., None] - losses.sum(2)).mean(1).max(1)
        return jax.vmap(REGRET[learner.regret])(policies[:, 0], losses[:, 0])

    return np.asarray(regrets())


@pytest.mark.parametrize("actions", [pytest.param(2, marks=pytest.mark.slow), 5])
@pytest.mark.parametrize("text", BOUNDED)
def test_regret_stays_below_the_textbook_bound(x64, text, actions):
    bound = LEARNER[text].bound(actions, 400, 1.0)
    assert float(worst_regrets(LEARNER[text], 400, actions).max()) <= bound


def test_bounds_scale_with_the_losses(x64):
    """The bound for losses of width w is checked on losses of width w."""
    for learner in (
        rx.RegretMatching(),
        rx.BlumMansour(rx.AdaHedge()),
        rx.ImportanceWeighted(rx.Hedge(0.01), 0.3),
    ):
        bound = learner.bound(3, 300, 4.0)
        assert bound > 3 * learner.bound(3, 300, 1.0) / 2
        assert float(worst_regrets(learner, 300, 3, 4.0).max()) <= bound


@pytest.mark.slow
def test_a_single_action_is_always_played():
    for text in SIMPLEX:
        policies = run(LEARNER[text], jnp.array([[1.0], [-2.0], [0.5]]))
        np.testing.assert_allclose(policies, 1, rtol=1e-6)


def test_bounds_are_within_a_factor_of_two_of_an_adversary(x64):
    """A bound a hundred times too large would pass the tests above: two actions and fair coins come near it."""
    rounds = 2000
    learner = rx.Hedge(float(np.sqrt(8 * np.log(2) / rounds)))
    coins = np.random.default_rng(0).random((200, rounds, 1)) < 0.5
    losses = np.concatenate([coins, ~coins], -1).astype(float)
    regrets = jax.jit(jax.vmap(lambda l: rx.external_regret(rx.rollout(learner, l), l)))(losses)
    assert 0.5 * learner.bound(2, rounds) < float(regrets.max()) <= learner.bound(2, rounds)


def test_follow_the_leader_has_linear_regret_on_alternating_losses():
    losses = jnp.array([[0.5, 0.0]] + [[0.0, 1.0], [1.0, 0.0]] * 100)
    policies = rx.rollout("follow_the_leader()", losses)
    assert float(rx.external_regret(policies, losses)) > 95


def test_a_sweep_over_steps_is_a_vmap_and_compiles_once(x64):
    steps, losses = np.array([0.1, 0.2, 0.4]), gaussian()
    swept = jax.jit(jax.vmap(lambda k: rx.rollout(rx.Hedge(k), losses)))(steps)
    np.testing.assert_allclose(swept[2], rx.rollout(rx.Hedge(0.4), losses), atol=ROUNDING)
    traced = []
    counted = jax.jit(lambda learner, x: traced.append(1) or rx.rollout(learner, x))
    for step in (0.1, 0.2, 0.3):
        counted(rx.Hedge(step), losses)
    assert len(traced) == 1
