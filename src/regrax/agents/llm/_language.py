"""Is it still a language model? Perplexity and KL on text that was not trained on, and answers it gives freely."""

from typing import Any, NamedTuple

import numpy as np
import torch

from regrax.agents.llm._losses import draw_losses
from regrax.agents.llm._scenarios import SCENARIOS, scenario
from regrax.agents.llm._task import Task
from regrax.agents.llm._transcript import context_of, encode, transcripts

HELD_OUT = (
    "The ferry leaves at seven and comes back before noon, unless the wind turns. "
    "Most people who live on the island know each other by name. "
    "In winter the school has eleven children and one stove; in summer nobody counts. "
    "A letter takes two days, and nobody has ever complained about that."
)
WINDOW_TOKENS = 256  # tokens read at once
DRAWN_ANSWERS = 64


class Language(NamedTuple):
    """What training did to language, on held-out text.

    Attributes:
        text: which one.
        tokens: how many.
        before: perplexity before training.
        after: perplexity after training.
        kl: mean KL of a token's distribution, after from before.
    """

    text: str
    tokens: int
    before: float
    after: float
    kl: float


def language_of(
    before: Any, after: Any, tokenizer: Any, task: Task, text: str | None, seed: int
) -> Language:
    """Compare two models as language models."""
    size = min(WINDOW_TOKENS, context_of(before))
    windows, what = _windows(tokenizer, task, text, seed, size)
    totals, count = np.zeros(3), 0
    for tokens in windows:
        first, second = (_log_probabilities(model, tokens) for model in (before, after))
        target = torch.tensor(tokens[1:], device=first.device)[:, None]
        entropies = [-one.gather(-1, target).sum().item() for one in (first, second)]
        totals += [*entropies, (second.exp() * (second - first)).sum().item()]
        count += len(tokens) - 1
    first, second = np.exp(totals[:2] / count).tolist()
    return Language(what, count, first, second, float(totals[2] / count))


def text_tokens(tokenizer: Any, text: str) -> list[int]:
    """The tokens of a held-out text; raises unless the tokenizer knows its words and there are at least two."""
    tokens = encode(tokenizer, [text])[0]
    if len(tokens) < 2:
        raise ValueError(f"a held-out text must have at least 2 tokens, got {len(tokens)}")
    return tokens


def _windows(
    tokenizer: Any, task: Task, text: str | None, seed: int, size: int
) -> tuple[list[list[int]], str]:
    openings = [scenario(name).opening_text() for name in SCENARIOS]
    english, what = "".join([HELD_OUT, "\n", *openings]), "sentences of English"
    try:
        tokens = text_tokens(tokenizer, english if text is None else text)
    except ValueError:
        if text is not None:
            raise
        losses, actions = draw_losses(task, 8, seed=seed), np.zeros((8, task.rounds), int)
        found, _ = transcripts(tokenizer, task, losses, actions)
        return [one.tokens[:size] for one in found], "transcripts, as it knows no other words"
    parts = [tokens[i : i + size] for i in range(0, len(tokens), size)]
    return [part for part in parts if len(part) > 1], what if text is None else "the text given"


@torch.no_grad()
def _log_probabilities(model: Any, tokens: list[int]) -> torch.Tensor:
    logits = model(input_ids=torch.tensor([tokens], device=model.device)).logits[0, :-1]
    return torch.log_softmax(logits.double(), -1)


@torch.no_grad()
def valid_rate(model: Any, tokenizer: Any, task: Task, seed: int) -> float:
    """The share of freely drawn answers that name an action, as the task reads them."""
    losses, rng = draw_losses(task, DRAWN_ANSWERS, seed=seed), np.random.default_rng(seed)
    actions = rng.integers(task.d, size=losses.shape[:2])
    rounds = rng.integers(1, task.rounds + 1, size=len(losses))
    found, pieces = transcripts(tokenizer, task, losses, actions, rounds)
    room = max(map(len, pieces.names.tokens)) + 2
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        answers = [_answer(model, tokenizer, [*one.tokens, *pieces.suffix], room) for one in found]
    return float(np.mean([task.parse(answer) is not None for answer in answers]))


def _answer(model: Any, tokenizer: Any, tokens: list[int], room: int) -> str:
    """A few tokens drawn one by one."""
    cache, new, said = None, tokens, []
    while len(said) < min(room, context_of(model) - len(tokens)):
        read = torch.tensor([new], device=model.device)
        output = model(input_ids=read, past_key_values=cache, use_cache=True)
        cache = output.past_key_values
        drawn = int(torch.multinomial(torch.softmax(output.logits[0, -1].double(), -1), 1))
        if drawn == tokenizer.eos_token_id:
            break
        said, new = [*said, drawn], [drawn]
    return tokenizer.decode(said)
