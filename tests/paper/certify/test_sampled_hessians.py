"""The exact curvature against Hessians of sampled sequences, and what it predicts about training."""

import jax
import numpy as np
import pytest

from regrax import theory
from regrax.paper.certify import descent, hessian_matrix, sampled_curvature
from regrax.paper.certify.sampled_hessians import sampled_hessians

KEY = jax.random.key(0)


SIZES = [(3, 4, 1200), (4, 10, 9000), (6, 15, 3000)]


@pytest.mark.parametrize(
    ("d", "T", "count"),
    [(2, 5, 2000), *(pytest.param(*size, marks=pytest.mark.slow) for size in SIZES)],
)
def test_every_eigenspace_agrees_and_a_wrong_one_does_not(d, T, count):
    exact = theory.curvature(d, T)
    sampled = sampled_curvature(exact, key=KEY, sequences=10 * count)
    assert sampled.holds
    first = exact.eigenvalues[0]
    wrong = exact._replace(
        eigenvalues=(first._replace(value=1.1 * first.value), *exact.eigenvalues[1:])
    )
    assert not sampled_curvature(wrong, key=KEY, sequences=10 * count).holds


@pytest.mark.parametrize("actions", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_hessians_are_flat_only_where_no_policy_changes(actions):
    exact = theory.curvature(actions, 8)
    values = np.linalg.eigvalsh(sampled_hessians(exact, key=KEY, count=400).mean(0))
    flat = np.abs(values) <= 1e-8 * values[-1]
    assert flat.sum() == exact.flat == actions + 1
    assert values[~flat].min() > 0


def test_the_matrix_has_the_spectrum_of_the_curvature():
    exact = theory.curvature(4, 6)
    matrix = hessian_matrix(exact)
    assert matrix == pytest.approx(matrix.T, abs=1e-12)
    assert np.linalg.eigvalsh(matrix) == pytest.approx(exact.spectrum(), abs=1e-11)


@pytest.mark.slow
def test_the_curvature_predicts_the_speed_of_descent():
    measured = descent(2, 5, key=KEY, sequences=4000)
    assert measured.contraction == pytest.approx(measured.curvature.contraction, abs=0.01)
    assert measured.below < 1 < measured.above
    assert measured.nearby_steps <= 6
    assert measured.preconditioned_steps < measured.gradient_steps
