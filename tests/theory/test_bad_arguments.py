"""Arguments that theory rejects, each with one sentence."""

import math

import jax
import jax.numpy as jnp
import pytest

from regrax import theory
from regrax.attention import LinearAttention
from regrax.theory import Direction, curvature, step_size

MODEL = LinearAttention(2, key=jax.random.key(0))


@pytest.mark.usefixtures("as_users_run_it")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: step_size(1, 20), "actions must be an integer >= 2, got 1"),
        (lambda: step_size(3, 1), "horizon must be an integer >= 2, got 1"),
        (lambda: step_size(3, 2.5), "horizon must be an integer"),
        (lambda: step_size(3, math.nan), "horizon must be an integer"),
        (lambda: step_size(2.5, 20), "actions must be an integer"),
        (lambda: step_size(10**7, 20), "actions must be at most 1,000,000"),
        (lambda: step_size(3, 20, operator="cube"), "operator must be one of softmax, ball"),
        (lambda: step_size(3, 20, operator="ball", radius=0), "radius must be above 0"),
        (lambda: step_size(3, 20, radius=2.0), "radius is only for operator='ball'"),
        (lambda: theory.loss(0, 3, 20), "step must be above 0, got 0"),
        (lambda: theory.loss(1e9, 3, 20), "must be at most 1000"),
        (lambda: theory.loss_derivative(math.inf, 3, 20), "step must be finite"),
        (lambda: theory.optimal_loss(1, 20), "actions must be an integer"),
        (lambda: theory.uniform_loss(3, 0), "horizon must be an integer"),
        (lambda: theory.stability(1.5, 3), "rho must be a correlation between 0 and 1"),
        (lambda: theory.step_schedule(3, math.inf), "horizon must be an integer"),
        (lambda: curvature(1, 20), "actions must be"),
        (lambda: curvature(3, 20, -1.0), "step must be above 0"),
        (lambda: curvature(3, 20, architecture="triple"), "must be one of single, swap"),
        (lambda: curvature(3, 20, operator="ball", architecture="swap"), 'operator "softmax"'),
        (
            lambda: theory.newton_direction(curvature(2, 3, operator="ball"), Direction(0, 0, 0)),
            "a single softmax layer",
        ),
        (lambda: MODEL.policy_from_sums(jnp.zeros(2), 0), "if a = 0, got"),
    ],
)
def test_bad_arguments_raise_one_sentence(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
