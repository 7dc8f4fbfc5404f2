"""Objectives against brute force, and the identities that make their gradients equal in the mean."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from regrax.attention import LinearAttention, SwapAttention
from regrax.games import weighted_rps
from regrax.learners import Hedge, Uniform, rollout
from regrax.regret import external_regret, swap_regret
from regrax.training import (
    Alternating,
    BanditFeedback,
    BiasedGaussian,
    ClosedLoopSwapObjective,
    DelayedFeedback,
    Drifting,
    FromKey,
    Gaussian,
    HindsightObjective,
    InGame,
    Laplace,
    Mixture,
    Rademacher,
    RegretObjective,
    StudentT,
    SwapRegretObjective,
    UniformLosses,
)

ROUNDING = 1e-10
LARGEST_Z = 4.5  # of about a hundred z-scores: one run in a thousand would pass it

KEY = jax.random.key(3)
D, T, N = 3, 6, 4


def loss_of(objective, model, data):
    return jax.jit(objective.loss)(model, data)


def regrets_one_by_one(model, losses):
    """External regret of each sequence, from the playing form and the definition."""
    sequences = [np.asarray(losses[..., n]) for n in range(N)]
    return np.array([np.sum(np.asarray(rollout(model, l)) * l) - l.sum(0).min() for l in sequences])


def test_regret_objective_is_mean_squared_regret(x64):
    model, objective = LinearAttention(D, key=KEY), RegretObjective(D, T)
    data = objective.draw(N, key=KEY)
    expected = np.mean(regrets_one_by_one(model, data[0]) ** 2)
    np.testing.assert_allclose(loss_of(objective, model, data), expected, rtol=ROUNDING)


@pytest.mark.parametrize(
    ("h", "function"),
    [
        ("positive", lambda r: np.maximum(r, 0)),
        ("positive-square", lambda r: np.maximum(r, 0) ** 2),
        ("softplus", lambda r: np.log1p(np.exp(r))),
        (jnp.abs, np.abs),
    ],
)
def test_surrogates(x64, h, function):
    model, objective = LinearAttention(D, key=KEY), RegretObjective(D, T, h=h)
    data = objective.draw(N, key=KEY)
    expected = np.mean(function(regrets_one_by_one(model, data[0])))
    np.testing.assert_allclose(loss_of(objective, model, data), expected, rtol=ROUNDING)


def test_many_sequence_weighting_is_its_formula(x64):
    model, k = LinearAttention(D, key=KEY), 0.7
    objective = RegretObjective(D, T, sequences=2, sharpness=k)
    data = objective.draw(N, key=KEY)
    groups = regrets_one_by_one(model, data[0]).reshape(-1, 2)
    weights = np.exp(k * groups)
    expected = np.mean((groups**2 * weights).sum(1) / weights.sum(1))
    np.testing.assert_allclose(loss_of(objective, model, data), expected, rtol=ROUNDING)


def test_ball_regret_is_against_the_best_point_of_the_ball(x64):
    model = LinearAttention(D, key=KEY, operator="ball", radius=2.0)
    objective = RegretObjective(D, T)
    losses, _ = data = objective.draw(N, key=KEY)
    suffered = np.sum(np.asarray(model.policies(losses) * losses), (0, 1))
    least = -2.0 * np.linalg.norm(np.asarray(losses).sum(0), axis=0)
    np.testing.assert_allclose(
        loss_of(objective, model, data), np.mean((suffered - least) ** 2), rtol=ROUNDING
    )


def test_swap_objective_is_the_sum_of_the_heads_regrets(x64):
    model, objective = SwapAttention(D, key=KEY), SwapRegretObjective(D, T)
    blocks = objective.draw(N, key=KEY)
    played, x = (np.asarray(part) for part in (model.columns(blocks), blocks))
    heads = [
        [np.sum(played[:, i, :, n] * x[:, i, :, n]) - x[:, i, :, n].sum(0).min() for i in range(D)]
        for n in range(N)
    ]
    expected = np.mean(np.sum(heads, 1) ** 2)
    np.testing.assert_allclose(loss_of(objective, model, blocks), expected, rtol=ROUNDING)


def test_closed_loop_objective_is_swap_regret_of_play(x64):
    model, objective = SwapAttention(D, key=KEY), ClosedLoopSwapObjective(D, T)
    losses = objective.draw(2, key=KEY)
    each = [swap_regret(rollout(model, l), l) for l in jnp.moveaxis(losses, -1, 0)]
    loss, gradient = eqx.filter_jit(jax.value_and_grad(objective.loss))(model, losses)
    np.testing.assert_allclose(loss, np.mean(np.square(each)), rtol=ROUNDING)
    direction = jax.tree.map(lambda leaf: jax.random.normal(KEY, leaf.shape), model)
    ahead, behind = (
        jax.tree.map(lambda leaf, way, s=sign: leaf + s * 1e-4 * way, model, direction)
        for sign in (1, -1)
    )
    slope = (loss_of(objective, ahead, losses) - loss_of(objective, behind, losses)) / 2e-4
    dot = sum(
        jnp.vdot(a, b) for a, b in zip(*map(jax.tree.leaves, (gradient, direction)), strict=True)
    )
    np.testing.assert_allclose(dot, slope, rtol=1e-5)


def gaussian_batches(*shape):
    """300 small batches of Gaussian losses; drawn by NumPy, which has nothing to compile."""
    return np.random.default_rng(5).normal(size=(300, *shape, 32)).astype(np.float32)


def batch_gradients(model, objective, data):
    """The gradient on each batch, flattened."""

    def flat(batch):
        gradient = jax.grad(objective.loss)(model, batch)
        return jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(gradient)])

    return np.asarray(jax.jit(jax.vmap(flat))(jax.tree.map(jnp.asarray, data)), float)


def compare(first, second):
    """Largest z-score of the mean difference on the same batches, and the ratio of total variances."""
    difference = first - second
    error = difference.std(0, ddof=1) / len(difference) ** 0.5
    moving = error > 1e-6  # directions that softmax ignores have no gradient at all
    z = difference.mean(0)[moving] / error[moving]
    return np.abs(z).max(), first.var(0).sum() / second.var(0).sum()


MODELS = {
    "random": LinearAttention(D, key=KEY, scale=0.3),
    "optimum": LinearAttention.hedge(D, 0.4479),
}


@pytest.mark.parametrize("where", MODELS)
def test_regret_baseline_and_hindsight_have_one_expected_gradient(where):
    model, losses = MODELS[where], gaussian_batches(20, D)
    plain = batch_gradients(model, RegretObjective(D, 20, baseline=False), (losses, losses))
    others = {
        "baseline": (RegretObjective(D, 20), (losses, losses)),
        "hindsight": (HindsightObjective(D, 20), losses),
        "conditional mean": (HindsightObjective(D, 20, conditional=True), losses),
    }
    for name, (objective, data) in others.items():
        z, ratio = compare(plain, batch_gradients(model, objective, data))
        print(f"{where}: gradient variance, plain regret loss : {name} = {ratio:.1f} : 1")
        assert z < LARGEST_Z, name
        assert ratio > 1, name


def test_swap_hindsight_has_the_expected_gradient_of_swap_regret():
    model, blocks = SwapAttention(2, key=KEY, scale=0.3), gaussian_batches(5, 2, 2)
    plain = batch_gradients(model, SwapRegretObjective(2, 5, baseline=False), blocks)
    for objective in (SwapRegretObjective(2, 5), HindsightObjective(2, 5, swap=True)):
        assert compare(plain, batch_gradients(model, objective, blocks))[0] < LARGEST_Z


@pytest.mark.parametrize("operator", ["softmax", "ball"])
def test_hindsight_with_a_covariance(operator):
    model = LinearAttention(D, key=KEY, scale=0.1, operator=operator)
    correlated = Gaussian([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 0.5]])
    root = np.linalg.cholesky(correlated.covariance).astype(np.float32)
    losses = np.einsum("ij,btjn->btin", root, gaussian_batches(T, D))
    regret = RegretObjective(D, T, distribution=correlated, baseline=False)
    plain = batch_gradients(model, regret, (losses, losses))
    hindsight = HindsightObjective(D, T, distribution=correlated)
    assert compare(plain, batch_gradients(model, hindsight, losses))[0] < LARGEST_Z


def test_baseline_is_exact_for_groups_too():
    model, losses = LinearAttention(D, key=KEY, scale=0.3), gaussian_batches(T, D)
    gradients = [
        batch_gradients(
            model,
            RegretObjective(D, T, sequences=4, sharpness=0.3, baseline=baseline),
            (losses, losses),
        )
        for baseline in (False, True)
    ]
    assert compare(*gradients)[0] < LARGEST_Z


def test_baseline_changes_no_loss_and_is_off_where_losses_are_not_fair(x64):
    model = LinearAttention(D, key=KEY)
    for distribution in (Gaussian(), BiasedGaussian()):
        on = RegretObjective(D, T, distribution=distribution)
        off = RegretObjective(D, T, distribution=distribution, baseline=False)
        data = on.draw(N, key=KEY)
        (first, with_it), (second, without) = (
            jax.jit(jax.value_and_grad(objective.loss))(model, data) for objective in (on, off)
        )
        np.testing.assert_allclose(first, second, rtol=ROUNDING)
        assert bool(eqx.tree_equal(with_it, without)) == (distribution.mean is None)


def test_identity_is_warned_about_on_fair_losses():
    with pytest.warns(UserWarning, match="no gradient"):
        RegretObjective(D, T, h="identity")
    RegretObjective(D, T, h="identity", distribution=BiasedGaussian())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RegretObjective(D, T, h="cube"), "h must be a function or one of square"),
        (lambda: RegretObjective(D, 0), "horizon must be"),
        (lambda: RegretObjective(D, T, sequences=3).draw(4, key=KEY), "groups of 3"),
        (
            lambda: HindsightObjective(D, T, Rademacher()),
            "i.i.d. Gaussian losses, but .* rademacher",
        ),
        (lambda: HindsightObjective(D, T, Gaussian(np.eye(D)), conditional=True), "covariance"),
        (lambda: Gaussian([[1.0, 2.0], [2.0, 1.0]]), "eigenvalues above 0"),
        (lambda: Gaussian(np.eye(2)).draw(T, 3, N, key=KEY), "covariance must have shape"),
        (lambda: StudentT(2.0), "freedom must be above 2"),
        (lambda: Mixture((Gaussian(), Laplace()), (0.5, 0.6)), "must sum to 1"),
        (
            lambda: SwapRegretObjective(D, T).loss(
                LinearAttention(D, key=KEY), jnp.ones((T, D, D, N))
            ),
            "trains a SwapAttention",
        ),
        (
            lambda: HindsightObjective(D, T, conditional=True).loss(
                LinearAttention(D, key=KEY, operator="ball"), jnp.ones((T, D, N))
            ),
            "known on the simplex",
        ),
    ],
)
def test_refusals(make, message):
    with pytest.raises(ValueError, match=message):
        make()


FAIR = {
    Gaussian(): 1.0,
    UniformLosses(): 1 / 3,
    UniformLosses(0.0, 1.0): 1 / 12,
    Rademacher(): 1.0,
    Laplace(): 1.0,
    StudentT(6.0): 1.5,
    Mixture((Gaussian(), UniformLosses()), (0.25, 0.75)): 0.5,
}
UNFAIR = [
    BiasedGaussian(),
    Alternating(),
    Drifting(),
    InGame(weighted_rps(), (Uniform(), Hedge(0.5))),
    FromKey(lambda key: jax.random.exponential(key, (T, D))),
    Mixture((Gaussian(), BiasedGaussian())),
]


@pytest.mark.parametrize(
    ("distribution", "variance"), FAIR.items(), ids=lambda p: getattr(p, "name", p)
)
def test_fair_distributions_have_their_moments(distribution, variance):
    drawn = np.asarray(distribution.draw(T, D, 20_000, key=KEY), float)
    error = drawn.std() / drawn.size**0.5
    assert abs(drawn.mean() - distribution.mean) < LARGEST_Z * error
    np.testing.assert_allclose(drawn.var(), variance, rtol=0.03)


@pytest.mark.parametrize("freedom", [2.5, 5.0, 40.0])
def test_student_losses_have_their_law(freedom):
    drawn = np.ravel(StudentT(freedom).draw(T, D, 5_000, key=KEY))
    assert stats.kstest(drawn, stats.t(freedom).cdf).pvalue > 1e-3
    ends = np.quantile(np.abs(drawn), [0.99, 0.999])  # the tails, which that test hardly sees
    np.testing.assert_allclose(stats.t(freedom).sf(ends), [0.005, 0.0005], rtol=0.2)


@pytest.mark.parametrize("distribution", UNFAIR, ids=lambda d: d.name)
def test_other_distributions_claim_no_mean(distribution):
    drawn = distribution.draw(T, D, N, key=KEY)
    assert drawn.shape == (T, D, N)
    assert distribution.mean is None
    assert np.isfinite(drawn).all()


def test_gaussian_covariance():
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    drawn = Gaussian(covariance).draw(10, 2, 20_000, key=KEY)
    flat = np.moveaxis(np.asarray(drawn), 1, 0).reshape(2, -1)
    np.testing.assert_allclose(np.cov(flat), covariance, atol=0.03)


def test_the_same_key_draws_the_same(x64):
    objective = RegretObjective(D, T, feedback=BanditFeedback())
    assert eqx.tree_equal(objective.draw(N, key=KEY), objective.draw(N, key=KEY))


def test_delay_means_older_losses_only(x64):
    model, losses = Hedge(0.5), Gaussian().draw(T, D, 1, key=KEY)
    delayed = RegretObjective(D, T, feedback=DelayedFeedback(2))
    policies = rollout(model, DelayedFeedback(2).observe(losses, key=KEY)[..., 0])
    expected = external_regret(policies, losses[..., 0])
    seen = DelayedFeedback(2).observe(losses, key=KEY)
    np.testing.assert_allclose(delayed.regrets(model, (losses, seen))[0], expected, rtol=ROUNDING)
    np.testing.assert_allclose(policies[:3], 1 / D)


def test_bandit_estimates_are_unbiased():
    losses = jnp.broadcast_to(jnp.array([1.0, -2.0, 0.5])[None, :, None], (T, D, 20_000))
    seen = np.asarray(BanditFeedback().observe(losses, key=KEY))
    np.testing.assert_allclose(seen.mean((0, 2)), [1.0, -2.0, 0.5], atol=0.05)
