"""Policies in one forward pass equal the model's own logits, and round-by-round play with a cache."""

from itertools import product

import numpy as np
import pytest
import torch
from tests.agents.llm.models import CONFIGS, LONG_NAMES, byte_pairs, tiny

from regrax.agents.llm import LanguageLearner, Task, draw_losses, policies, scenario
from regrax.agents.llm.policy import answers
from regrax.agents.llm.transcript import tokenize_pieces
from regrax.learners import rollout
from regrax.torch import hindsight_loss, regret_loss, swap_loss

ROUNDING = 1e-6  # norms and attention compute in float32 inside, whatever the model is in

CHAT = scenario("routes", 3, chat=True)
TASKS = {"letters": Task(3, 4), "long names": LONG_NAMES, "chat": CHAT}
PAIRS = [*product(CONFIGS, ("long names", "chat")), ("llama", "letters"), ("gemma2", "letters")]


@pytest.fixture(scope="module")
def tokenizer():
    return byte_pairs()


def by_hand(model, tokenizer, task, past):
    """The policy after past losses from whole texts and the model's full logits, a forward pass per token."""

    def encode(text):
        return tokenizer(text, add_special_tokens=False)["input_ids"]

    before = "<|user|>" if task.chat else ""
    context = encode(before + task.opening_text())
    for s, row in enumerate(past):
        context += encode(task.ask_text(s)) + encode(task.tell_text(s, row))
    context += encode(task.ask_text(len(past))) + (
        encode("<|end|><|assistant|>") if task.chat else []
    )
    texts = [task.answer_text(j) for j in range(task.d)]
    names = [encode(text.lstrip() if task.chat else text) for text in texts]
    result = np.ones(task.d)
    for j, name in enumerate(names):
        for n, token in enumerate(name):
            open_tokens = sorted({o[n] for o in names if o[:n] == name[:n]})
            with torch.no_grad():
                logits = model(input_ids=torch.tensor([context + name[:n]])).logits[0, -1]
            allowed = torch.softmax(logits[open_tokens].double(), 0)
            result[j] *= allowed[open_tokens.index(token)].item()
    return result


@pytest.mark.parametrize(("kind", "which"), PAIRS)
def test_one_pass_and_cached_play_are_the_models_own_logits(x64, kind, which, tokenizer):
    task, model = TASKS[which], tiny(kind, tokenizer)
    (losses,) = draw_losses(task, 1, seed=0)
    expected = [by_hand(model, tokenizer, task, losses[:t]) for t in range(task.rounds)]
    assert np.std(expected) > 0.01  # not all alike: something is compared
    found = policies(model, tokenizer, task, losses[None])[0].detach()
    np.testing.assert_allclose(found, expected, atol=ROUNDING)
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


def test_a_policy_sees_only_the_past(tokenizer):
    model, task = tiny("llama", tokenizer), TASKS["long names"]
    losses = draw_losses(task, 1, seed=3)
    changed = losses.copy()
    changed[0, 2:] += 1
    first, second = (policies(model, tokenizer, task, one)[0].detach() for one in (losses, changed))
    np.testing.assert_allclose(first[:3], second[:3], atol=ROUNDING)
    assert (first[3] - second[3]).abs().max() > 1e-4


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


@pytest.mark.parametrize("which", TASKS)
def test_naming_is_the_share_of_answers_that_name_an_action(which, tokenizer):
    model, task = tiny("llama", tokenizer), TASKS[which]
    found = answers(model, tokenizer, task, draw_losses(task, 1, seed=0)).naming[0, 0].exp()
    pieces = tokenize_pieces(tokenizer, task, task.rounds)
    context = [*pieces.opening, *pieces.asks[0], *pieces.suffix]
    total = 0.0
    for name in pieces.names:
        probability = 1.0
        for place, token in enumerate(name):
            if any(point.path == name[:place] for point in pieces.branchings):
                logits = model(input_ids=torch.tensor([[*context, *name[:place]]])).logits[0, -1]
                probability *= torch.softmax(logits, -1)[token].item()
        total += probability
    assert found.item() == pytest.approx(total, rel=1e-5)


def test_answers_are_read_where_the_transcript_holds_them(tokenizer):
    task, model = scenario("ads", 3, feedback="bandit"), tiny("llama", tokenizer)
    losses, actions = draw_losses(task, 2, seed=5), np.array([[0, 1, 2], [2, 2, 0]])
    found = policies(model, tokenizer, task, losses, actions=actions).detach().numpy()
    unseen = losses.copy()
    unseen[0, 0, 1] += 1  # a loss that was not told
    np.testing.assert_array_equal(
        found, policies(model, tokenizer, task, unseen, actions=actions).detach().numpy()
    )
    other = policies(model, tokenizer, task, losses, actions=actions[::-1]).detach().numpy()
    assert np.abs(found[:, 0] - other[:, 0]).max() < ROUNDING < np.abs(found - other).max()
