"""Fixed points against exact arithmetic, projections against optimality conditions, gradients against differences."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from hypothesis.extra.numpy import arrays
from jax.test_util import check_grads
from tests.strategies import numbers

from regrax.simplex import power_iteration, project_ball, project_simplex, stationary

COMPONENTWISE = 1e-10  # relative error of every component of a stationary distribution, float64


def tree_theorem(matrix):
    """Markov chain tree theorem: weight of i = sum over spanning trees directed into i; nothing is subtracted."""
    states, weights = range(len(matrix)), np.zeros(len(matrix))
    for root in states:
        others = [i for i in states if i != root]
        for targets in itertools.product(states, repeat=len(others)):
            edges = dict(zip(others, targets, strict=True)) | {root: root}
            ends = set(states)
            for _ in states:
                ends = {edges[i] for i in ends}
            if ends == {root}:
                weights[root] += np.prod([matrix[edges[i], i] for i in others])
    return weights


def columns(seed, *shape, spread=3.0):
    weights = spread * np.random.default_rng(seed).normal(size=(*shape, shape[-1]))
    weights = np.exp(weights - weights.max(-2, keepdims=True))
    return weights / weights.sum(-2, keepdims=True)


RATE = st.builds(lambda digits, power: digits * 10.0**power, st.floats(0.1, 1), st.integers(-60, 0))


@pytest.mark.parametrize("d", [2, 3, 4])
@given(data=st.data())
def test_chains_match_the_tree_theorem(x64, d, data):
    """Entries of sixty orders of magnitude, and none: every component keeps its relative accuracy."""
    rates = data.draw(arrays(float, (d, d), elements=RATE | st.just(0.0) | st.just(0.5)))
    np.fill_diagonal(rates, 0)
    rates /= max(2 * rates.sum(0).max(), 1)
    matrix = rates + np.diag(1 - rates.sum(0))
    weights = tree_theorem(matrix)
    assume(weights.sum() > 0)  # otherwise there are several stationary distributions
    found = stationary(jnp.asarray(matrix))
    np.testing.assert_allclose(found, weights / weights.sum(), rtol=COMPONENTWISE)


def test_many_tiny_levels_do_not_overflow(x64):
    rates = np.diag(np.full(11, 1e-60), -1) + np.diag(np.ones(11) / 2, 1)
    pi = np.asarray(stationary(jnp.asarray(rates + np.diag(1 - rates.sum(0)))))
    assert pi.sum() == pytest.approx(1)
    np.testing.assert_allclose(pi[1:5] / pi[:4], 2e-60, rtol=COMPONENTWISE)


@pytest.mark.parametrize(
    "matrix", [np.eye(3), [[1, 1, 1], [0, 0, 0], [0, 0, 0]], np.eye(3)[[1, 2, 0]]]
)
def test_reducible_and_periodic_chains_have_fixed_points(matrix):
    matrix, start = np.asarray(matrix, np.float32), np.array([0.2, 0.3, 0.5], np.float32)
    for pi in (jax.jit(stationary)(matrix), jax.jit(stationary)(matrix, start)):
        assert float(pi.sum()) == pytest.approx(1)
        np.testing.assert_allclose(matrix @ pi, pi, atol=1e-6)


def test_a_warm_start_falls_back_on_elimination(x64):
    warm = jax.jit(jax.vmap(lambda p, s: stationary(p, s, tolerance=1e-9)))
    for spread in (1.0, 40.0):
        chains = columns(1, 50, 5, spread=spread)
        found = np.asarray(warm(chains, np.full((50, 5), 0.2)))
        residual = np.abs(np.einsum("bij,bj->bi", chains, found) - found).sum(1)
        assert residual.max() <= 1e-9


def test_power_iteration_reports_its_residual():
    slow = jnp.array([[0.999, 0.001], [0.001, 0.999]])
    found = power_iteration(slow, jnp.array([1.0, 0.0]), tolerance=1e-7, max_iterations=5)
    assert int(found.iterations) == 5
    assert float(found.residual) > 1e-7
    np.testing.assert_allclose(power_iteration(slow).distribution, [0.5, 0.5], atol=1e-3)


def test_implicit_gradient_matches_finite_differences(x64):
    matrix = columns(0, 4, spread=1.0)
    inside = np.random.default_rng(1).normal(size=(4, 4))
    inside = inside - inside.mean(0, keepdims=True)  # keeps columns summing to one
    unrolled = lambda p: power_iteration(p, tolerance=1e-15).distribution  # noqa: E731
    warm = lambda p: stationary(p, jnp.full(4, 0.25), tolerance=1e-14)  # noqa: E731
    step, exact = 1e-6, jax.jit(stationary)
    differences = (exact(matrix + step * inside) - exact(matrix - step * inside)) / (2 * step)

    @jax.jit
    def tangents(matrix, inside):
        forward = [jax.jvp(f, (matrix,), (inside,))[1] for f in (stationary, warm, unrolled)]
        return [*forward, jnp.einsum("kij,ij->k", jax.jacrev(stationary)(matrix), inside)]

    for tangent in tangents(matrix, inside):
        np.testing.assert_allclose(tangent, differences, atol=1e-8)


def test_gradient_off_the_simplex_matches_elimination(x64):
    """The elimination never reads the diagonal, so its derivative ignores it too."""
    matrix, step, exact = columns(3, 3), 1e-6, jax.jit(stationary)
    gradient = np.asarray(jax.jit(jax.jacrev(stationary))(matrix))
    for i, j in itertools.product(range(3), repeat=2):
        bump = np.zeros((3, 3))
        bump[i, j] = step
        differences = (exact(matrix + bump) - exact(matrix - bump)) / (2 * step)
        np.testing.assert_allclose(gradient[:, i, j], differences, atol=1e-8)


@given(point=numbers(5, largest=1e3))
def test_simplex_projection_solves_its_quadratic_program(x64, point):
    """max(y - theta, 0) with theta found by bisection of its sum."""
    low, high = point.max() - 1, point.max()
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(point - middle, 0).sum() > 1 else (low, middle)
    expected = np.maximum(point - high, 0)
    np.testing.assert_allclose(project_simplex(jnp.asarray(point)), expected, rtol=0, atol=1e-12)


@given(point=numbers(3, largest=1e3))
def test_ball_projection_shortens_outer_points_only(x64, point):
    expected = point * min(1.0, 2.0 / max(np.linalg.norm(point), 1e-300))
    np.testing.assert_allclose(project_ball(jnp.asarray(point), 2.0), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("function", [project_simplex, project_ball])
def test_projection_gradients_match_differences(x64, function):
    point = jnp.array([0.9, 0.5, -1.3])
    check_grads(jax.jit(function), (point,), order=1, modes=("fwd", "rev"), atol=1e-6)
    assert np.isfinite(np.asarray(jax.jit(jax.jacrev(project_ball))(np.zeros(3)))).all()


@pytest.mark.parametrize("project", [project_ball, project_simplex])
def test_projections_of_nonfinite_points_raise(as_users_run_it, project):
    with pytest.raises(ValueError, match="point must be finite numbers, got inf"):
        project(jnp.array([1.0, jnp.inf]))
    assert np.isfinite(project(jnp.array([1e30, -1e30], jnp.float32))).all()
