"""Losses on torch tensors equal those of JAX in value and gradient."""

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
from regrax.learners import rollout
from regrax.training import ClosedLoopSwapObjective, HindsightObjective, RegretObjective

pytestmark = [pytest.mark.extras, pytest.mark.usefixtures("as_users_run_it")]
torch = pytest.importorskip("torch", reason="torch is not installed: the extra `torch`")
rt = pytest.importorskip("regrax.torch")
EXACT = 1e-12
EXAMPLE = Path(__file__).parents[2] / "examples" / "torch_transformer.py"


def rounds(seed, batch=(), T=20, d=3):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(d), (*batch, T)), rng.normal(size=(*batch, T, d))


@pytest.mark.parametrize(
    "name", ["external_regret", "internal_regret", "swap_regret", "swap_matrix"]
)
def test_regrets_equal_jax_in_value_and_gradient(x64, name):
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
@pytest.mark.parametrize("seed", range(3))
def test_losses_equal_the_training_objectives(x64, name, make, seed):
    _, losses = rounds(seed, batch=(8,))
    model = LinearAttention(3, key=jax.random.key(seed))
    data = jnp.moveaxis(jnp.asarray(losses), 0, -1)
    expected = make().loss(model, (data, data) if name == "regret_loss" else data)
    played = torch.tensor(np.stack([np.asarray(rollout(model, rows)) for rows in losses]))
    value = getattr(rt, name)(played, torch.tensor(losses))
    np.testing.assert_allclose(value.item(), expected, rtol=1e-9)


HALVES, LOSSES = torch.full((2, 3, 2), 0.5), torch.ones(2, 3, 2)
BAD = [
    ({"policies": torch.zeros(3, 2)}, r"policies must be .* got float32 of shape \(3, 2\)"),
    ({"policies": HALVES * 3}, "must sum to 1 along their last axis, got 3; pass logits as"),
    ({"policies": HALVES * torch.tensor([3.0, -1.0])}, "no negative entries, got -0.5"),
    ({"policies": HALVES.long()}, r"action indices .* got int64 of shape \(2, 3, 2\)"),
    ({"policies": torch.full((2, 3), 2)}, "actions must be from 0 to 1, got 2 to 2"),
    ({"losses": LOSSES * torch.nan}, "losses must be finite numbers"),
    ({"losses": LOSSES.long()}, "losses must be floating-point numbers"),
    ({"losses": torch.ones(2)}, r"losses must have shape \(..., T, d\), got \(2,\)"),
    ({"losses": None}, "losses and either policies or logits must be given"),
    ({"logits": HALVES}, "either policies or logits"),
    ({"policies": None, "logits": HALVES * torch.nan}, "logits must be numbers, got nan"),
    ({"mask": torch.ones(2, 3)}, "mask must be bool"),
    ({"mask": torch.ones(3, dtype=torch.bool)}, "mask must be bool"),
]
ALL = ["regret_loss", "swap_loss", "hindsight_loss", "external_regret", "internal_regret"]
ALL += ["swap_regret", "swap_matrix"]


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(("changes", "message"), BAD)
def test_bad_input_raises(name, changes, message):
    with pytest.raises(ValueError, match=message):
        getattr(rt, name)(**{"policies": HALVES, "losses": LOSSES, **changes})


@pytest.mark.parametrize("name", ALL)
def test_logits_and_actions_are_converted(name):
    logits, losses = (torch.tensor(x) for x in np.random.default_rng(7).normal(size=(2, 4, 5, 3)))
    function = getattr(rt, name)
    torch.testing.assert_close(
        function(losses=losses, logits=logits), function(torch.softmax(logits, -1), losses)
    )
    actions = logits.argmax(-1)
    corners = torch.nn.functional.one_hot(actions, 3).double()
    torch.testing.assert_close(function(actions, losses), function(corners, losses))
    infinite = torch.where(corners.bool(), 0.0, -torch.inf)  # a sure action as logits
    torch.testing.assert_close(function(losses=losses, logits=infinite), function(corners, losses))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("kind", ["policies", "logits", "actions"])
def test_masked_rounds_are_ignored(name, kind):
    rng, function = np.random.default_rng(8), getattr(rt, name)
    logits, losses = (torch.tensor(x) for x in rng.normal(size=(2, 4, 6, 3)))
    lengths = torch.tensor([6, 2, 1, 4])
    mask = torch.arange(6) < lengths[:, None]
    given = {"policies": torch.softmax(logits, -1), "logits": logits, "actions": logits.argmax(-1)}
    word = "logits" if kind == "logits" else "policies"
    full = given[kind]
    alone = [function(losses=losses[i, :n], **{word: full[i, :n]}) for i, n in enumerate(lengths)]
    expected = torch.stack(alone).mean() if "loss" in name else torch.stack(alone)
    spoilt = losses.masked_fill(~mask[..., None], torch.nan)
    if kind != "actions":
        full = full.masked_fill(~mask[..., None], torch.nan).requires_grad_()
    found = function(losses=spoilt, mask=mask, **{word: full})
    torch.testing.assert_close(found, expected)
    if kind != "actions":
        found.sum().backward()
        assert (full.grad[~mask] == 0).all()
        assert full.grad.isfinite().all()


def test_bandit_estimates_are_unbiased():
    chances, losses = (torch.tensor(x) for x in rounds(5, T=2))
    actions = [torch.full((2,), action) for action in range(3)]
    estimates = [rt.bandit_estimates(a, losses[:, a[0]], chances) for a in actions]
    torch.testing.assert_close(sum(chances.T[..., None] * torch.stack(estimates)), losses)
    with pytest.raises(ValueError, match="received must have shape"):
        rt.bandit_estimates(actions[0], losses, chances)
    with pytest.raises(ValueError, match="chances must be above 0 for the sampled actions"):
        rt.bandit_estimates(torch.tensor([0]), torch.ones(1), torch.tensor([[0.0, 1.0]]))


def test_gradients_pass_finite_differences():
    policies, losses = (torch.tensor(x, requires_grad=True) for x in rounds(4, T=5))
    for loss in (rt.regret_loss, rt.swap_loss, rt.hindsight_loss):
        assert torch.autograd.gradcheck(loss, (policies, losses))


def test_half_precision_and_any_batch_axes_are_accepted():
    policies, losses = (torch.tensor(x).bfloat16() for x in rounds(3, batch=(4, 5)))
    assert rt.swap_regret(policies, losses).shape == (4, 5)
    assert rt.regret_loss(policies, losses).isfinite()
    assert rt.hindsight_loss(policies, losses).ndim == 0


def test_the_example_beats_uniform_play():
    alone = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(EXAMPLE.parent.parent / "src")}
    printed = subprocess.check_output([sys.executable, EXAMPLE], text=True, env=alone)
    words = printed.splitlines()[-1].replace(",", " ").split()
    trained, uniform = [float(word) for word in words if word[0].isdigit()][:2]
    assert trained < 0.9 * uniform
