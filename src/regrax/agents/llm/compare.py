r"""Compare a model before and after training: its regret, next to Hedge and the best possible policy, and its language.

Regret is measured on the losses as rounded in the text. The best possible policy is known for standard Gaussian losses.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from transformers import GenerationConfig

from regrax import _checks as checks
from regrax.agents.exploration import Exploration, exploration
from regrax.agents.llm.learner import LanguageLearner
from regrax.agents.llm.losses import draw_losses, is_reactive, is_standard_gaussian
from regrax.agents.llm.rollouts import Rollouts, evaluate_rollouts, hedge_policies
from regrax.agents.llm.scenarios import SCENARIOS, scenario
from regrax.agents.llm.task import Task, letters
from regrax.agents.llm.transcript import context_length, encode, transcripts
from regrax.experiments import OnProgress, Progress, ignore
from regrax.regret import external_regret, running_external_regret
from regrax.theory import optimal_policy

ELSEWHERE = (
    "gaussian",
    "uniform(-1.7, 1.7)",
    "laplace",
    "biased-gaussian(1.0)",
    "alternating",
    "drifting",
)
"""Loss distributions on which a model is tested, besides that of its own task."""
HELD_OUT = (
    "The ferry leaves at seven and comes back before noon, unless the wind turns. "
    "Most people who live on the island know each other by name. "
    "In winter the school has eleven children and one stove; in summer nobody counts. "
    "A letter takes two days, and nobody has ever complained about that."
)
WINDOW = 256
"""Number of tokens read at once."""
SAMPLED_ANSWERS = 64


@dataclass(frozen=True)
class Player:
    """Regret of a player over many loss sequences.

    Attributes:
        name: `before`, `after`, or a baseline.
        regret: mean over sequences.
        regret_error: its standard error.
        squared: mean squared regret.
        squared_error: its standard error.
        curve: mean regret after every round.
        squared_curve: mean squared regret after every round.
    """

    name: str
    regret: float
    regret_error: float
    squared: float
    squared_error: float
    curve: tuple[float, ...]
    squared_curve: tuple[float, ...]


@dataclass(frozen=True)
class Setting:
    """The players in one setting, or the reason why the model cannot play it."""

    name: str
    players: tuple[Player, ...]
    problem: str = ""


class Language(NamedTuple):
    """Effect of training on held-out text.

    Attributes:
        text: a description of the text.
        tokens: its length.
        before: perplexity before training.
        after: perplexity after training.
        kl: mean KL divergence of the next-token distribution after training from that before.
    """

    text: str
    tokens: int
    before: float
    after: float
    kl: float


@dataclass(frozen=True)
class Comparison:
    """A model before and after training.

    Attributes:
        task: the task it was trained on.
        reactive: True if the losses depend on what is played.
        sequences: loss sequences per setting.
        trained_on: regret on the task itself.
        elsewhere: regret in other settings.
        language: perplexity on held-out text.
        valid: share of freely sampled answers that name an action, before and after.
        exploration: exploration measures before and after.
    """

    task: Task
    reactive: bool
    sequences: int
    trained_on: Setting
    elsewhere: tuple[Setting, ...]
    language: Language
    valid: tuple[float, ...]
    exploration: tuple[Exploration, ...]

    def player(self, name: str) -> Player:
        """Return the player with this name in the task's own setting."""
        return next(player for player in self.trained_on.players if player.name == name)


def compare_models(
    before: Any,
    after: Any,
    tokenizer: Any,
    task: Task,
    *,
    sequences: int = 500,
    seed: int = 10_000,
    text: str | None = None,
    elsewhere: Sequence[str] = ELSEWHERE,
    on_progress: OnProgress = ignore,
) -> Comparison:
    """Measure a model before and after training.

    Args:
        before: the initial model.
        after: the trained model.
        tokenizer: the tokenizer of both models.
        task: the task it was trained on.
        sequences: the number of loss sequences per setting.
        seed: the random seed for these losses, different from the training seed.
        text: held-out text for perplexity; by default a few English sentences, or transcripts if the tokenizer does not
            know the words.
        elsewhere: loss distributions to test in addition to the task's own.
        on_progress: called after every setting.
    """
    checks.at_least("sequences", sequences, 2)
    models = (before, after)
    others = _other_tasks(task, elsewhere)
    steps = len(others) + 2
    on_progress(Progress("compare", 0, steps, task.name))
    played = [evaluate_rollouts(model, tokenizer, task, sequences, seed=seed) for model in models]
    explored = [
        exploration(rollouts.actions, rollouts.losses, bandit=task.feedback == "bandit")
        for rollouts in played
    ]
    settings = []
    for number, (name, other) in enumerate(others, 1):
        on_progress(Progress("compare", number, steps, name))
        try:
            both = [evaluate_rollouts(m, tokenizer, other, sequences, seed=seed) for m in models]
            settings.append(Setting(name, _players(both, other)))
        except ValueError as error:
            settings.append(Setting(name, (), str(error)))
    on_progress(Progress("compare", steps - 1, steps, "language"))
    comparison = Comparison(
        task=task,
        reactive=is_reactive(task),
        sequences=sequences,
        trained_on=Setting(task.name, _players(played, task)),
        elsewhere=tuple(settings),
        language=_language(before, after, tokenizer, task, text, seed),
        valid=tuple(_valid_share(model, tokenizer, task, seed) for model in models),
        exploration=tuple(explored),
    )
    on_progress(Progress("compare", steps, steps))
    return comparison


def _other_tasks(task: Task, elsewhere: Sequence[str]) -> list[tuple[str, Task]]:
    """Build tasks with the same wording but other numbers of rounds, numbers of actions and losses."""
    tasks = []
    if isinstance(task.losses, str) and not task.losses.startswith("in-game"):
        for rounds in (max(2, task.rounds // 2), 2 * task.rounds):
            tasks.append((f"{rounds} rounds", task.replace(rounds=rounds)))
        for names in (task.actions[:2], (*task.actions, letters(26)[-1])):
            tasks.append((f"{len(names)} actions", task.replace(actions=names)))
    for spec in elsewhere:
        if spec != task.losses:
            tasks.append((spec, task.replace(losses=spec)))
    return tasks


def _players(played: list[Rollouts], task: Task) -> tuple[Player, ...]:
    before, after = played
    players = [_player("before", before.policies, before.losses)]
    for name, played_policies in {"after": after.policies, **baselines(after.losses, task)}.items():
        players.append(_player(name, played_policies, after.losses))
    return tuple(players)


def baselines(losses: np.ndarray, task: Task) -> dict[str, np.ndarray]:
    r"""Policies of uniform play, Hedge with its best step $k^*$ and, for Gaussian losses, the best possible policy."""
    n, rounds, d = losses.shape
    found = {"uniform": np.full(losses.shape, 1 / d), "Hedge at k*": hedge_policies(losses)}
    if is_standard_gaussian(task):
        before = (losses.cumsum(1) - losses).astype(np.float32)
        left = np.broadcast_to(rounds - np.arange(rounds, dtype=np.float32), (n, rounds))
        found["best possible"] = np.asarray(optimal_policy(before, left), float)
    return found


def _player(name: str, played: np.ndarray, losses: np.ndarray) -> Player:
    curves = np.asarray(running_external_regret(played, losses))
    regret, regret_error = _mean(curves[:, -1])
    squared, squared_error = _mean(curves[:, -1] ** 2)
    return Player(
        name=name,
        regret=regret,
        regret_error=regret_error,
        squared=squared,
        squared_error=squared_error,
        curve=tuple(curves.mean(0).tolist()),
        squared_curve=tuple((curves**2).mean(0).tolist()),
    )


def _mean(values: np.ndarray) -> tuple[float, float]:
    """Compute the mean and its standard error."""
    return float(values.mean()), float(values.std(ddof=1) / len(values) ** 0.5)


def squared_regret_share(
    model: Any, tokenizer: Any, task: Task, *, sequences: int = 10_000, seed: int = 20_000
) -> dict[str, tuple[float, float]]:
    r"""Estimate $E[R^2]$ of a model and its baselines on the same fresh losses, each with its standard error.

    `share` is how far the model has come from uniform play to Hedge,
    $(E[R_u^2] - E[R^2]) / (E[R_u^2] - E[R_h^2])$, with the standard error of a ratio of means over the same sequences.

    Args:
        model: a causal language model.
        tokenizer: its tokenizer.
        task: the task.
        sequences: the number of loss sequences.
        seed: the random seed of the losses.
    """
    losses = draw_losses(task, sequences, seed=seed)
    learner = LanguageLearner(model, tokenizer, task)
    played = {"model": learner.answer_batch(losses), **baselines(losses, task)}
    squares = {name: np.square(external_regret(pi, losses)) for name, pi in played.items()}
    gained = squares["uniform"] - squares["model"]
    possible = squares["uniform"] - squares["Hedge at k*"]
    share = gained.mean() / possible.mean()
    error = _mean(gained - share * possible)[1] / possible.mean()
    means = {name: _mean(values) for name, values in squares.items()}
    return {**means, "share": (float(share), float(error))}


def text_tokens(tokenizer: Any, text: str) -> list[int]:
    """Tokenize a held-out text; raise ValueError if it has fewer than two tokens or words unknown to the tokenizer."""
    tokens = encode(tokenizer, [text])[0]
    if len(tokens) < 2:
        raise ValueError(f"a held-out text must have at least 2 tokens, got {len(tokens)}")
    return tokens


def _language(
    before: Any, after: Any, tokenizer: Any, task: Task, text: str | None, seed: int
) -> Language:
    size = min(WINDOW, context_length(before))
    windows, description = _windows(tokenizer, task, text, seed, size)
    entropies = np.zeros(2)
    divergence = 0.0
    count = 0
    for tokens in windows:
        first = _log_probabilities(before, tokens)
        second = _log_probabilities(after, tokens)
        target = torch.tensor(tokens[1:], device=first.device)[:, None]
        entropies -= [first.gather(-1, target).sum().item(), second.gather(-1, target).sum().item()]
        divergence += (second.exp() * (second - first)).sum().item()
        count += len(tokens) - 1
    first_perplexity, second_perplexity = np.exp(entropies / count).tolist()
    return Language(description, count, first_perplexity, second_perplexity, divergence / count)


def _windows(
    tokenizer: Any, task: Task, text: str | None, seed: int, size: int
) -> tuple[list[list[int]], str]:
    """Return the token windows of a held-out text, and its description."""
    if text is not None:
        description = "the given text"
        tokens = text_tokens(tokenizer, text)
    else:
        description = "English sentences"
        openings = [scenario(name).opening_text() for name in SCENARIOS]
        try:
            tokens = text_tokens(tokenizer, "".join([HELD_OUT, "\n", *openings]))
        except ValueError:
            losses = draw_losses(task, 8, seed=seed)
            found, _ = transcripts(tokenizer, task, losses, np.zeros((8, task.rounds), int))
            windows = [transcript.tokens[:size] for transcript in found]
            return windows, "transcripts, the only words it knows"
    windows = [tokens[start : start + size] for start in range(0, len(tokens), size)]
    return [window for window in windows if len(window) > 1], description


@torch.no_grad()
def _log_probabilities(model: Any, tokens: list[int]) -> torch.Tensor:
    logits = model(input_ids=torch.tensor([tokens], device=model.device)).logits[0, :-1]
    return torch.log_softmax(logits.double(), -1)


@torch.no_grad()
def _valid_share(model: Any, tokenizer: Any, task: Task, seed: int) -> float:
    """Compute the share of freely sampled answers in which the task's parser finds an action."""
    losses = draw_losses(task, SAMPLED_ANSWERS, seed=seed)
    rng = np.random.default_rng(seed)
    actions = rng.integers(task.d, size=losses.shape[:2])
    rounds = rng.integers(1, task.rounds + 1, size=len(losses))
    found, pieces = transcripts(tokenizer, task, losses, actions, rounds)
    longest = max(map(len, pieces.names.tokens)) + 2
    valid = 0
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for transcript in found:
            question = torch.tensor([[*transcript.tokens, *pieces.suffix]], device=model.device)
            room = min(longest, context_length(model) - question.shape[1])
            if room > 0:
                answer = model.generate(
                    input_ids=question,
                    attention_mask=torch.ones_like(question),
                    generation_config=GenerationConfig(
                        do_sample=True,
                        top_k=0,
                        max_new_tokens=room,
                        eos_token_id=tokenizer.eos_token_id,
                        pad_token_id=tokenizer.eos_token_id,
                    ),
                )
                text = tokenizer.decode(answer[0, question.shape[1] :], skip_special_tokens=True)
                valid += task.parse(text) is not None
    return valid / len(found)
