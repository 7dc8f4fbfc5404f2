"""The losses on torch tensors equal the JAX ones in value and gradient."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from regrax import regret
from regrax.attention import LinearAttention
from regrax.training import (
    ClosedLoopSwapObjective,
    HindsightObjective,
    RegretObjective,
)

pytestmark = [pytest.mark.extras, pytest.mark.usefixtures("as_users_run_it")]
torch = pytest.importorskip("torch", reason="torch is not installed: the extra `torch`")
EXACT = 1e-12
EXAMPLE = Path(__file__).parent.parent / "examples" / "torch_transformer.py"


def rounds(seed, batch=(), T=20, d=3):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(d), (*batch, T)), rng.normal(size=(*batch, T, d))


@pytest.mark.parametrize(
    "name", ["external_regret", "internal_regret", "swap_regret", "swap_matrix"]
)
def test_regrets_equal_jax_in_value_and_gradient(x64, name):
    from regrax import torch as rt

    policies, losses = rounds(0)
    weights = np.random.default_rng(1).normal(size=getattr(regret, name)(policies, losses).shape)

    def total(p, l):
        return jnp.sum(getattr(regret, name)(p, l) * weights)

    p, l = (torch.tensor(x, requires_grad=True) for x in (policies, losses))
    value = (getattr(rt, name)(p, l) * torch.tensor(weights)).sum()
    value.backward()
    expected = jax.value_and_grad(total, (0, 1))(jnp.asarray(policies), jnp.asarray(losses))
    np.testing.assert_allclose(value.item(), expected[0], rtol=EXACT)
    for ours, theirs in zip((p.grad, l.grad), expected[1], strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=EXACT, atol=EXACT)


OBJECTIVES = [
    ("regret_loss", lambda: RegretObjective(actions=3, horizon=20, baseline=False)),
    ("swap_loss", lambda: ClosedLoopSwapObjective(actions=3, horizon=20)),
    ("hindsight_loss", lambda: HindsightObjective(actions=3, horizon=20)),
]


@pytest.mark.parametrize(("name", "make"), OBJECTIVES)
def test_losses_equal_the_training_objectives(x64, monkeypatch, name, make):
    from regrax import torch as rt

    objective = make()
    policies, losses = rounds(2, batch=(64,))
    model, data = (
        LinearAttention(3, key=jax.random.key(0)),
        jnp.moveaxis(jnp.asarray(losses), 0, -1),
    )
    data = (data, data) if name == "regret_loss" else data

    def loss(p):
        for module in (
            sys.modules["regrax.training._objectives"],
            sys.modules["regrax.training._hindsight"],
        ):
            monkeypatch.setattr(module, "policies", lambda *_: jnp.moveaxis(p, 0, -1))
        return objective.loss(model, data)

    p, l = torch.tensor(policies, requires_grad=True), torch.tensor(losses)
    value = getattr(rt, name)(p, l)
    value.backward()
    expected, gradient = jax.value_and_grad(loss)(jnp.asarray(policies))
    np.testing.assert_allclose(value.item(), expected, rtol=EXACT)
    np.testing.assert_allclose(p.grad.numpy(), gradient, rtol=EXACT, atol=EXACT)


def test_any_batch_in_front():
    from regrax import torch as rt

    policies, losses = map(torch.tensor, rounds(3, batch=(4, 5)))
    assert rt.swap_regret(policies, losses).shape == (4, 5)
    assert rt.hindsight_loss(policies, losses).ndim == 0


def test_shapes_that_differ_teach():
    from regrax import torch as rt

    with pytest.raises(ValueError, match=r"losses must have the shape \(2, 3\) of policies"):
        rt.regret_loss(torch.zeros(2, 3), torch.zeros(3, 2))


def test_gradients_pass_finite_differences():
    from regrax import torch as rt

    policies, losses = (torch.tensor(x, requires_grad=True) for x in rounds(4, T=5))
    for loss in (rt.regret_loss, rt.swap_loss, rt.hindsight_loss):
        assert torch.autograd.gradcheck(loss, (policies, losses))


def test_hindsight_loss_is_squared_regret_on_average():
    from regrax import torch as rt

    generator = torch.Generator().manual_seed(0)
    losses = torch.randn(100_000, 10, 3, generator=generator, dtype=torch.float64)
    policies = torch.softmax(-0.5 * (losses.cumsum(1) - losses), -1)
    assert rt.hindsight_loss(policies, losses).item() == pytest.approx(
        rt.regret_loss(policies, losses).item(), rel=0.02
    )


def test_the_example_trains_a_transformer_below_uniform_play():
    alone = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(EXAMPLE.parent.parent / "src")}
    done = subprocess.run(
        [sys.executable, EXAMPLE], capture_output=True, text=True, check=True, env=alone
    )
    trained, uniform = _last(done.stdout)
    assert trained < 0.9 * uniform


def _last(text):
    """The two numbers of the last line: the trained loss and that of uniform play."""
    numbers = [
        float(w) for w in text.strip().splitlines()[-1].replace(",", " ").split() if w[0].isdigit()
    ]
    return numbers[0], numbers[1]
