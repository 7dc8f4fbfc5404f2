"""The exact Hessian against published numbers, its definition on a grid, Monte Carlo and differences of the loss."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from regrax import theory
from regrax.attention import LinearAttention, SwapAttention
from regrax.theory import Direction, curvature, hessian_product, newton_direction

KEY = jax.random.key(0)
INDEPENDENT = 1e-10  # two grids
STANDARD_ERRORS = 4.0

PUBLISHED = {
    (2, 20): ("7.4482774212 11.642137352 12.652891070 46.713675899 689.69716680", (1, 1, 1, 1, 1)),
    (3, 20): (
        "7.4202745501 9.2195945741 10.051789908 12.589391684 26.852210301 29.415824051 422.44856013",
        (1, 2, 1, 2, 2, 1, 2),
    ),
}


@pytest.mark.parametrize("size", PUBLISHED)
def test_eigenvalues_have_the_published_digits(size):
    exact, (published, multiplicities) = curvature(*size), PUBLISHED[size]
    for eigenvalue, digits in zip(exact.eigenvalues, published.split(), strict=True):
        assert abs(eigenvalue.value - float(digits)) < 0.51 * 10 ** -len(digits.split(".")[1])
    assert tuple(e.multiplicity for e in exact.eigenvalues) == multiplicities
    assert exact.flat == size[0] + 1


@pytest.mark.parametrize("d", [2, 3, 4, 7])
@pytest.mark.parametrize("architecture", ["single", "swap"])
def test_multiplicities_add_up_to_the_parameters(d, architecture):
    exact = curvature(d, 3, architecture=architecture)
    features = d if architecture == "single" else d * d
    heads = 1 if architecture == "single" else d
    assert len(exact.spectrum()) == heads * (d * features + d + features)
    assert len(exact.eigenvalues) == {2: 5, 3: 7}.get(d, 8)
    assert exact.is_minimum
    assert not curvature(d, 3, 5 * exact.step, architecture=architecture).is_minimum


def grid(d, reach=8.5, step=0.2):
    """Points and weights for a loss: a trapezoid rule over differences, three Gauss nodes for the mean."""
    axes = np.meshgrid(*[np.arange(-reach, reach + step, step)] * (d - 1), indexing="ij")
    z = np.stack([a.ravel() for a in axes], 1)
    weight = np.exp(-(z**2).sum(1) / 2)
    basis = np.linalg.svd(np.ones((1, d)))[2]  # first row along 1
    mean, mean_weight = np.polynomial.hermite_e.hermegauss(3)
    points = (z @ basis[1:])[None] + mean[:, None, None] * basis[0]
    weights = (mean_weight / mean_weight.sum())[:, None] * (weight / weight.sum())
    return points.reshape(-1, d), weights.ravel()


def defined_hessian(d, T, k):
    """The Hessian by automatic differentiation, with every loss on the grid; the last is never seen."""
    points, weights = grid(d)
    drawn = np.indices((len(points),) * (T - 1)).reshape(T - 1, -1)
    losses = np.append(points[drawn], np.zeros((1, drawn.shape[1], d)), 0)
    before = jnp.cumsum(losses, 0) - losses
    best = theory.optimal_policy(before, jnp.arange(T, 0, -1)[:, None])
    flat, rebuild = ravel_pytree(LinearAttention.hedge(d, k))

    def loss(parameters):
        played = rebuild(parameters).policies(jnp.moveaxis(losses, 1, 2))
        distance = jnp.sum((jnp.moveaxis(played, 2, 1) - best) ** 2, (0, 2))
        return distance @ jnp.prod(weights[drawn], 0)

    return jax.jit(jax.hessian(loss))(flat)


@pytest.mark.parametrize(("d", "T", "share"), [(3, 2, 1.0), (2, 3, 0.6)])
def test_the_definition_on_a_grid_agrees(x64, d, T, share):
    k = share * theory.step_size(d, T)
    expected = np.linalg.eigvalsh(defined_hessian(d, T, k))
    exact = np.sort(curvature(d, T, k).spectrum())
    assert np.abs(exact - expected).max() < INDEPENDENT * expected[-1]


@pytest.mark.parametrize(
    ("d", "T", "step"),
    [(2, 9, 0.3), (50, 4, 0.9), pytest.param(1000, math.inf, 3.0, marks=pytest.mark.slow)],
)
def test_along_the_family_it_is_the_loss_second_derivative(d, T, step):
    bump = 1e-3 * step
    up, down = (theory.loss_derivative(step + b, d, T) for b in (bump, -bump))
    exact = {e.direction: e.value for e in curvature(d, T, step).eigenvalues}
    assert (d - 1) * exact["step"] == pytest.approx((up - down) / (2 * bump), rel=1e-5)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_a_newton_direction_undoes_the_hessian_product(d):
    exact = curvature(d, 6)
    rng = np.random.default_rng(0)
    gradient = hessian_product(exact, Direction(*(rng.normal(size=s) for s in ((d, d), d, d))))
    again = hessian_product(exact, newton_direction(exact, gradient))
    assert all(x == pytest.approx(y, abs=1e-11) for x, y in zip(again, gradient, strict=True))


def batch_hessians(loss, at, batches):
    hessian = jax.jit(jax.hessian(loss))
    return np.asarray([hessian(at, batch) for batch in batches])


@pytest.mark.slow
def test_swap_heads_have_the_same_eigenvalues(x64):
    d, T, count = 2, 5, 40_000
    exact = curvature(d, T, architecture="swap")
    flat, rebuild = ravel_pytree(SwapAttention.hedge(d, exact.step))

    def loss(parameters, blocks):  # hindsight form; axes: round, block, action, sequence
        past = jnp.cumsum(blocks, 0) - blocks
        left = jnp.arange(T, 0, -1)[:, None, None]
        best = theory.optimal_policy(jnp.moveaxis(past, 2, -1), left)
        heads = jnp.moveaxis(rebuild(parameters).columns(blocks), 2, -1)
        return jnp.mean(jnp.sum((heads - best) ** 2, (0, 1, 3)))

    every = batch_hessians(loss, flat, jax.random.normal(KEY, (10, T, d, d, count)))
    vectors = np.linalg.eigh(every.mean(0))[1]
    along = np.einsum("in,bij,jn->bn", vectors, every, vectors)
    error = along.std(0, ddof=1) / len(every) ** 0.5
    assert np.abs(along.mean(0)[: exact.flat]).max() < 1e-9
    # eigenvalues of a noisy matrix repel each other by about a standard error
    assert np.abs(along.mean(0) - exact.spectrum())[exact.flat :].max() < 6 * error.max()
    assert np.abs(along.mean(0) / exact.spectrum().clip(1e-9) - 1)[exact.flat :].max() < 0.02


@pytest.mark.slow
def test_the_ball_is_the_hessian_of_a_quadratic_mean(x64):
    d, T, count, radius = 2, 4, 10_000, 1.7
    exact = curvature(d, T, operator="ball", radius=radius)

    def loss(p, losses):
        V, v, a = p[: d * d].reshape(d, d), p[d * d : -d], p[-d:]
        best = -radius * losses.sum(1) / jnp.linalg.norm(losses.sum(1), axis=-1, keepdims=True)
        z = jnp.cumsum((losses @ V.T + v[None, None]) * (1 + losses @ a)[..., None], 1)[:, :-1]
        return jnp.mean(jnp.sum((z - best[:, None]) ** 2, (1, 2)))

    at = jnp.concatenate([-exact.step * jnp.eye(d).ravel(), jnp.zeros(2 * d)])
    every = batch_hessians(loss, at, jax.random.normal(KEY, (10, count, T, d)))
    assert np.linalg.eigvalsh(every.mean(0)) == pytest.approx(exact.spectrum(), rel=0.05)
    V = np.einsum("bii->b", every[:, : d * d, : d * d]) / d**2
    assert abs(V.mean() - T * (T - 1)) < STANDARD_ERRORS * V.std(ddof=1) / 10**0.5
    assert exact.flat == 0


@pytest.mark.slow
def test_large_horizons_tend_to_the_limit():
    T = 10**6
    exact, limit = curvature(3, T), curvature(3, math.inf)
    size = {"common score": T}
    single = {e.direction: e.value for e in limit.eigenvalues if e.direction != "mixed"}
    for e in exact.eigenvalues:
        if e.direction != "mixed":
            scaled = e.value / size.get(e.direction, T**2)
            assert scaled == pytest.approx(single[e.direction], rel=1e-5)
    assert limit.mixed[2, 2] == pytest.approx(3 / 2 * single["common score"], rel=1e-12)
    assert exact.eigenvalues[1].value / T == pytest.approx(limit.mixed[2, 2], rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(("d", "T"), [(1000, 10**6), (10**6, math.inf)])
def test_the_largest_sizes_have_accurate_eigenvalues(d, T):
    exact = curvature(d, T)
    assert exact.is_minimum
    assert all(e.error < 1e-9 * e.value for e in exact.eigenvalues)


@pytest.mark.slow
@pytest.mark.parametrize("d", [2, 4, 1000])
def test_many_horizons_at_once_agree_with_single_ones(d):
    horizons = [2, 9, 500, math.inf]
    for exact, horizon in zip(theory.curvatures(d, horizons), horizons, strict=True):
        alone = curvature(d, horizon)
        for e, other in zip(exact.eigenvalues, alone.eigenvalues, strict=True):
            assert e.multiplicity == other.multiplicity
            assert abs(e.value - other.value) < e.error
