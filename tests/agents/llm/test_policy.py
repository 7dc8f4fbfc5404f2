"""Policies in one forward pass equal the model's own logits, and round-by-round play with a cache."""

from itertools import product

import numpy as np
import pytest
import torch
from tests.agents.llm.models import CONFIGS, LONG_NAMES, byte_pairs, tiny

from regrax.agents.llm import LanguageLearner, Task, draw_losses, policies, scenario
from regrax.agents.llm.policy import answers
from regrax.learners import rollout
from regrax.torch import hindsight_loss, regret_loss, swap_loss

ROUNDING = 1e-6  # norms and attention compute in float32 inside, whatever the model is in

TASKS = {"letters": Task(3, 4), "long names": LONG_NAMES, "chat": scenario("routes", 3, chat=True)}
PAIRS = [*product(CONFIGS, ("long names", "chat")), ("llama", "letters"), ("gemma2", "letters")]


@pytest.fixture(scope="module")
def tokenizer():
    return byte_pairs()


def by_hand(model, tokenizer, task, past):
    """The policy after past losses, and the share of free answers that name an action.

    From whole texts and the model's full logits, by a forward pass per token of a name.
    """

    def encode(text):
        return tokenizer(text, add_special_tokens=False)["input_ids"]

    context = encode(("<|user|>" if task.chat else "") + task.opening_text())
    for s, row in enumerate(past):
        context += encode(task.ask_text(s)) + encode(task.tell_text(s, row))
    context += encode(task.ask_text(len(past)))
    context += encode("<|end|><|assistant|>" if task.chat else "")
    texts = [task.answer_text(j) for j in range(task.d)]
    names = [encode(text.lstrip() if task.chat else text) for text in texts]
    policy, named = np.ones(task.d), np.ones(task.d)
    for j, name in enumerate(names):
        for n, token in enumerate(name):
            open_tokens = sorted({o[n] for o in names if o[:n] == name[:n]})
            if len(open_tokens) > 1:
                with torch.no_grad():
                    logits = model(input_ids=torch.tensor([context + name[:n]])).logits[0, -1]
                allowed = torch.softmax(logits[open_tokens].double(), 0)
                policy[j] *= allowed[open_tokens.index(token)].item()
                named[j] *= torch.softmax(logits, -1)[token].item()
    return policy, named.sum()


@pytest.mark.parametrize(("kind", "which"), PAIRS)
def test_one_pass_and_cached_play_are_the_models_own_logits(x64, kind, which, tokenizer):
    task, model = TASKS[which], tiny(kind, tokenizer)
    (losses,) = draw_losses(task, 1, seed=0)
    rows = [by_hand(model, tokenizer, task, losses[:t]) for t in range(task.rounds)]
    expected = [policy for policy, _ in rows]
    assert np.std(expected) > 0.01  # not all alike: something is compared
    found, naming = answers(model, tokenizer, task, losses[None])
    np.testing.assert_allclose(found[0].detach(), expected, atol=ROUNDING)
    np.testing.assert_allclose(naming[0].exp().detach(), [named for _, named in rows], rtol=1e-5)
    played = rollout(LanguageLearner(model, tokenizer, task), losses)
    np.testing.assert_allclose(played, expected, atol=ROUNDING)


@pytest.mark.parametrize("kind", ["llama", "gpt2", "gemma2"])
@pytest.mark.parametrize("which", ["letters", "long names"])
def test_padding_and_lengths_change_nothing(kind, which, tokenizer):
    task, model = TASKS[which], tiny(kind, tokenizer)
    losses = draw_losses(task, 5, seed=2) * 10.0 ** np.arange(5)[:, None, None]  # unequal texts
    mask = np.arange(task.rounds) < np.array([4, 1, 3, 2, 4])[:, None]
    alone = [
        policies(model, tokenizer, task, losses[i : i + 1, : m.sum()])[0]
        for i, m in enumerate(mask)
    ]
    for side in ("right", "left"):
        found = policies(model, tokenizer, task, losses, mask=mask, padding=side)
        for i, own in enumerate(alone):
            np.testing.assert_allclose(found[i, : len(own)].detach(), own.detach(), atol=ROUNDING)
            assert (found[i, len(own) :] == 1 / 3).all()


@pytest.mark.parametrize("loss", [regret_loss, swap_loss, hindsight_loss])
@pytest.mark.parametrize(
    ("kind", "step", "relative"),
    [("gpt2", 1e-6, 1e-5), ("gemma2", 1e-3, 0.02)],  # the second computes in float32 inside
)
def test_gradients_equal_finite_differences(kind, step, relative, loss, tokenizer):
    model, task = tiny(kind, tokenizer), TASKS["long names"]
    losses = torch.as_tensor(draw_losses(task, 2, seed=4))
    parameters = dict(model.named_parameters())
    loss(policies(model, tokenizer, task, losses), losses).backward()
    generator = torch.Generator().manual_seed(0)
    for name in list(parameters)[:: max(1, len(parameters) // 5)]:
        parameter = parameters[name]
        way = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        slope = (parameter.grad * way).sum().item()
        ends = []
        for sign in (1, -1):
            with torch.no_grad():
                parameter.add_(sign * step * way)
                ends.append(loss(policies(model, tokenizer, task, losses), losses).item())
                parameter.sub_(sign * step * way)
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=relative, abs=step)


def test_logits_are_computed_only_for_decisions(tokenizer):
    model, task = tiny("llama", tokenizer), TASKS["letters"]
    sizes = []
    hook = model.get_output_embeddings().register_forward_hook(
        lambda _, __, output: sizes.append(tuple(output.shape))
    )
    policies(model, tokenizer, task, draw_losses(task, 2, seed=0))
    hook.remove()
    assert sizes == [(2, 4, 1, len(tokenizer))]


def test_answers_are_read_where_the_transcript_holds_them(tokenizer):
    task, model = scenario("ads", 3, feedback="bandit"), tiny("llama", tokenizer)
    losses, actions = draw_losses(task, 2, seed=5), np.array([[0, 1, 2], [2, 2, 0]])
    unseen = losses.copy()
    unseen[0, 0, 1] += 1  # a loss that was not told
    cases = [(losses, actions), (unseen, actions), (losses, actions[::-1])]
    found, same, other = (
        policies(model, tokenizer, task, rows, actions=played).detach().numpy()
        for rows, played in cases
    )
    np.testing.assert_array_equal(found, same)
    assert np.abs(found[:, 0] - other[:, 0]).max() < ROUNDING < np.abs(found - other).max()
