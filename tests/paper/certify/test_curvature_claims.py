"""What `regrax certify` says of the exact curvature, and that a wrong one would not survive sampled Hessians."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from regrax import theory
from regrax.paper.certify import descent, sampled_curvature
from regrax.paper.certify._sampled_curvature import _hessians

KEY = jax.random.key(0)


def test_sampled_hessians_accept_the_exact_curvature_and_refuse_another():
    found = theory.curvature(2, 5)
    sampled = sampled_curvature(found, key=KEY, sequences=4000)
    assert sampled.holds
    assert [e.exact for e in sampled.eigenvalues] == list(found.eigenvalues)
    first, *rest = sampled.eigenvalues
    wrong = first._replace(exact=first.exact._replace(value=first.mean + 9 * first.error))
    assert not sampled._replace(eigenvalues=(wrong, *rest)).holds


@pytest.mark.parametrize("actions", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_sampled_hessians_are_flat_where_no_policy_changes_and_nowhere_else(x64, actions):
    exact = theory.curvature(actions, 8)
    hessians = _hessians(jnp.array(exact.step), KEY, actions, 8, 400, None)
    values = np.linalg.eigvalsh(hessians.mean(0))
    flat = np.abs(values) <= 1e-8 * values[-1]
    assert flat.sum() == exact.flat == actions + 1
    assert values[~flat].min() > 0


@pytest.mark.slow
def test_the_curvature_predicts_the_speed_of_gradient_descent_and_its_inverse_needs_few_steps():
    found = descent(2, 5, key=KEY, sequences=4000)
    exact = found.curvature
    assert found.contraction == pytest.approx(exact.contraction, abs=0.01)
    assert found.below < 1 < found.above
    assert found.nearby_steps <= 6
    assert found.preconditioned_steps < found.gradient_steps
