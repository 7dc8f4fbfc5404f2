r"""Compare a model before and after training: its regret, next to Hedge and the best possible policy, and its language.

Regret is measured on the losses as rounded in the text. The best possible policy is known for Gaussian losses: for
standard Gaussian losses the policy that minimises squared regret, for biased ones the leader, which minimises regret.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from transformers import GenerationConfig

from regrax import _checks as checks
from regrax._text import fitted_table
from regrax.agents.exploration import Exploration, exploration
from regrax.agents.llm.learner import LanguageLearner
from regrax.agents.llm.losses import (
    draw_losses,
    favours_no_action,
    gaussian_spread,
    hindsight_forecast,
    is_reactive,
)
from regrax.agents.llm.rollouts import Rollouts, evaluate_rollouts, hedge_policies
from regrax.agents.llm.task import SCENARIOS, Task, letters, scenario
from regrax.agents.llm.transcript import context_length, encode, transcripts
from regrax.experiments import OnProgress, Progress, ignore
from regrax.regret import external_regret, running_external_regret
from regrax.theory import optimal_policy

ELSEWHERE = ("servers", "clinic", "gaussian", "biased-gaussian(1.0)", "alternating", "drifting")
"""Scenarios and loss distributions on which a model is tested, besides those of its own task."""
HELD_OUT = (
    "The ferry leaves at seven and comes back before noon, unless the wind turns. "
    "Most people who live on the island know each other by name. "
    "In winter the school has eleven children and one stove; in summer nobody counts. "
    "A letter takes two days, and nobody has ever complained about that. "
    "Water boils at a lower temperature on a mountain because the air above it presses less. "
    "Bees find their way home by the position of the sun, and they correct for its movement during the day. "
    "To make the soup, cut the onions first, then let them cook slowly in butter until they are soft. "
    "The committee will meet again in March to decide whether the old library should be repaired or replaced. "
    "She had read the first chapter three times before she understood that the narrator was lying. "
    "Please send us your address, so that we can return the coat you left in the hotel. "
    "When the war ended, the two brothers opened a bakery in the street where they had grown up. "
    "A triangle with two equal sides also has two equal angles."
)
"""English that no task contains."""
WINDOW = 256
"""Number of tokens read at once."""
SAMPLED_ANSWERS = 64


@dataclass(frozen=True)
class Player:
    r"""Regret of a player over many loss sequences.

    Attributes:
        name: `before`, `after`, or a baseline.
        regret: mean over sequences.
        regret_error: its standard error.
        squared: mean squared regret.
        squared_error: its standard error.
        curve: mean regret after every round.
        squared_curve: mean squared regret after every round.
        leader: mean weight, in every round, on the action with the smallest sum of past losses.
        step: the step of the nearest Hedge, in mean $\|\pi_t - \mathrm{softmax}(-k S_{t-1})\|^2$.
        distance: mean total variation to that Hedge.
    """

    name: str
    regret: float
    regret_error: float
    squared: float
    squared_error: float
    curve: tuple[float, ...]
    squared_curve: tuple[float, ...]
    leader: tuple[float, ...]
    step: float
    distance: float


@dataclass(frozen=True)
class Setting:
    """The players in one setting, or the reason why the model cannot play it.

    Attributes:
        name: the setting.
        players: the model before and after, and the baselines.
        gain: mean regret before training minus that after.
        gain_error: its standard error, of the differences on the same losses.
        share: how far the trained model has come from uniform play to Hedge. It compares regret with Hedge(1.0) or, if
            the losses favour no action, squared regret with Hedge at k*.
        share_error: its standard error.
        problem: why the model cannot play, or an empty string.
    """

    name: str
    players: tuple[Player, ...]
    gain: float = 0.0
    gain_error: float = 0.0
    share: float = 0.0
    share_error: float = 0.0
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
        odds: for the model before and after, the mean log-odds of two actions given the difference of their past
            losses, as pairs (difference, log-odds). Hedge has a line through 0 whose slope is minus its step.
    """

    task: Task
    reactive: bool
    sequences: int
    trained_on: Setting
    elsewhere: tuple[Setting, ...]
    language: Language
    valid: tuple[float, ...]
    exploration: tuple[Exploration, ...]
    odds: tuple[tuple[tuple[float, float], ...], ...]

    def player(self, name: str) -> Player:
        """Return the player with this name in the task's own setting."""
        return next(player for player in self.trained_on.players if player.name == name)

    def as_dict(self) -> dict[str, Any]:
        """Return the measurements as plain values for JSON."""
        return {
            "sequences": self.sequences,
            "settings": [asdict(setting) for setting in (self.trained_on, *self.elsewhere)],
            "language": self.language._asdict(),
            "valid": self.valid,
            "exploration": [measures._asdict() for measures in self.exploration],
            "odds": self.odds,
        }

    def __str__(self) -> str:
        """Return the regret on the task, the regret elsewhere and the language as tables that fit the terminal."""
        task = self.task
        own = self.trained_on
        title = f"{task.name}, {task.d} actions, {task.rounds} rounds, {self.sequences} sequences"
        columns = ("regret, total", "standard error", "squared regret, total", "nearest Hedge step")
        rows: list[Any] = []
        for player in own.players:
            rows.append(
                (player.name, player.regret, player.regret_error, player.squared, player.step)
            )
        text = fitted_table(("player", *columns), rows, title)
        text += f"\nway from uniform play to Hedge: {own.share:.1%} ± {own.share_error:.1%}\n"
        names = [player.name for player in own.players]
        rows = []
        for setting in self.elsewhere:
            if not setting.problem:
                regrets = {player.name: player.regret for player in setting.players}
                shown = map(regrets.get, names)  # None for baselines that are not known elsewhere
                rows.append((setting.name, *shown, setting.gain, setting.gain_error))
        text += fitted_table(("regret elsewhere, total", *names, "gain", "standard error"), rows)
        language = self.language
        rows = [
            ("answers that name an action, %", *(100 * share for share in self.valid)),
            (f"perplexity on {language.text}", language.before, language.after),
            ("KL from the original model, per token", None, language.kl),
        ]
        return f"{text}\n{fitted_table(('language', 'before', 'after'), rows)}"


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
        sequences: the number of loss sequences; other settings use a quarter of them.
        seed: the random seed for these losses, different from the training seed.
        text: held-out text for perplexity; by default a few English sentences, or transcripts if the tokenizer does not
            know the words.
        elsewhere: scenarios and loss distributions to test in addition to the task's own.
        on_progress: called after every setting.
    """
    checks.at_least("sequences", sequences, 2)
    models = (before, after)
    others = _other_tasks(task, elsewhere)
    steps = len(others) + 2

    def play(other: Task, count: int) -> list[Rollouts]:
        return [evaluate_rollouts(model, tokenizer, other, count, seed=seed) for model in models]

    on_progress(Progress("compare", 0, steps, task.name))
    played = play(task, sequences)
    bandit = task.feedback == "bandit"
    settings = []
    for number, (name, other) in enumerate(others.items(), 1):
        on_progress(Progress("compare", number, steps, name))
        try:
            settings.append(_setting(name, play(other, max(2, sequences // 4)), other))
        except ValueError as error:
            settings.append(Setting(name, (), problem=str(error)))
    on_progress(Progress("compare", steps - 1, steps, "language"))
    comparison = Comparison(
        task=task,
        reactive=is_reactive(task),
        sequences=sequences,
        trained_on=_setting(task.name, played, task),
        elsewhere=tuple(settings),
        language=_language(before, after, tokenizer, task, text, seed),
        valid=tuple(_valid_share(model, tokenizer, task, seed) for model in models),
        exploration=tuple(exploration(r.actions, r.losses, bandit=bandit) for r in played),
        odds=tuple(_log_odds(r.policies, r.losses) for r in played),
    )
    on_progress(Progress("compare", steps, steps))
    return comparison


def _other_tasks(task: Task, elsewhere: Sequence[str]) -> dict[str, Task]:
    """Build tasks that differ in the number of rounds or actions, the wording, or the losses."""
    tasks = {}
    if isinstance(task.losses, str) and not task.losses.startswith("in-game"):
        for rounds in (max(2, task.rounds // 2), 2 * task.rounds):
            tasks[f"{rounds} rounds"] = task.replace(rounds=rounds)
        for names in (task.actions[:2], (*task.actions, letters(26)[-1])):
            tasks[f"{len(names)} actions"] = task.replace(actions=names)
    for name in elsewhere:
        if name not in SCENARIOS and name != task.losses:
            tasks[name] = task.replace(losses=name)
        elif name in SCENARIOS and name != task.name and isinstance(task.losses, str):
            same = {"losses": task.losses, "feedback": task.feedback, "answers": task.answers}
            tasks[name] = scenario(name, task.rounds, chat=task.chat, **same)
    return tasks


def _setting(name: str, played: list[Rollouts], task: Task) -> Setting:
    before, after = played
    others = baselines(after.losses, task)
    players = [_player("before", before.policies, before.losses)]
    for player, policies in {"after": after.policies, **others}.items():
        players.append(_player(player, policies, after.losses))
    gain = _mean(before.regrets() - after.regrets())
    share = _share(after.policies, others, after.losses, task)
    return Setting(name, tuple(players), *gain, *share)


def _share(
    played: np.ndarray, others: dict[str, np.ndarray], losses: np.ndarray, task: Task
) -> tuple[float, float]:
    """Compute the share of the way from uniform play to Hedge, with the standard error of a ratio of means."""
    hedge = others["Hedge(1.0)"]
    power = 1
    if favours_no_action(task):
        hedge = others["Hedge at k*"]
        power = 2
    uniform = external_regret(others["uniform"], losses) ** power
    gained = uniform - external_regret(played, losses) ** power
    possible = uniform - external_regret(hedge, losses) ** power
    share = gained.mean() / possible.mean()
    return float(share), _mean(gained - share * possible)[1] / abs(float(possible.mean()))


def baselines(losses: np.ndarray, task: Task) -> dict[str, np.ndarray]:
    """Policies of uniform play, of Hedge with step 1 and step k* and, for Gaussian losses, the best possible policy."""
    before = losses.cumsum(1) - losses
    policies = {
        "uniform": np.full(losses.shape, 1 / task.d),
        "Hedge(1.0)": softmax(-before, -1),
        "Hedge at k*": hedge_policies(losses),
    }
    spread = gaussian_spread(task)
    if spread == 0:
        policies["best possible"] = hindsight_forecast(task, losses)
    elif spread:
        policies["best possible"] = np.asarray(optimal_policy(before, 0), float)
    return policies


def nearest_step(played: np.ndarray, losses: np.ndarray) -> tuple[float, float]:
    r"""Find the step in [0, 5] of the Hedge nearest to policies `(n, T, d)`, and the mean total variation to it.

    The step minimises the mean of $\|\pi_t - \mathrm{softmax}(-k S_{t-1})\|^2$ over sequences and rounds.

    >>> losses = draw_losses(Task(3, 6), 20, seed=0)
    >>> nearest_step(softmax(0.3 * (losses - losses.cumsum(1)), -1), losses)
    (0.3000, 0.0000)
    """
    before = losses.cumsum(1) - losses

    def error(step: float) -> float:
        return np.square(played - softmax(-step * before, -1)).sum(-1).mean()

    grid = np.linspace(0, 5, 101)
    start = grid[np.argmin([error(step) for step in grid])]
    bounds = (max(0.0, start - 0.05), start + 0.05)
    nearest = minimize_scalar(error, bounds=bounds, method="bounded", options={"xatol": 1e-8})
    step = round(float(nearest.x), 6)
    return step, float(np.abs(played - softmax(-step * before, -1)).sum(-1).mean() / 2)


def _log_odds(played: np.ndarray, losses: np.ndarray) -> tuple[tuple[float, float], ...]:
    """Average the log-odds of pairs of actions over bins of the difference of their past losses."""
    before = losses.cumsum(1) - losses
    logs = np.log(np.maximum(played, 1e-9))
    first, second = np.triu_indices(losses.shape[-1], 1)
    gaps = (before[..., first] - before[..., second])[:, 1:].ravel()
    odds = (logs[..., first] - logs[..., second])[:, 1:].ravel()
    if not len(gaps):
        return ()
    order = np.argsort(gaps, kind="stable")
    bins = np.array_split(order, min(15, len(order)))
    return tuple((float(gaps[part].mean()), float(odds[part].mean())) for part in bins)


def _player(name: str, played: np.ndarray, losses: np.ndarray) -> Player:
    curves = np.asarray(running_external_regret(played, losses))
    squares = curves**2
    leader = (losses.cumsum(1) - losses).argmin(-1)[..., None]
    on_leader = np.take_along_axis(played, leader, -1)[..., 0]
    curve, squared_curve, weight = (
        tuple(values.mean(0).tolist()) for values in (curves, squares, on_leader)
    )
    means = (*_mean(curves[:, -1]), *_mean(squares[:, -1]))
    return Player(name, *means, curve, squared_curve, weight, *nearest_step(played, losses))


def _mean(values: np.ndarray) -> tuple[float, float]:
    """Compute the mean and its standard error."""
    return float(values.mean()), float(values.std(ddof=1) / len(values) ** 0.5)


def squared_regret_share(
    model: Any, tokenizer: Any, task: Task, *, sequences: int = 10_000, seed: int = 20_000
) -> dict[str, tuple[float, float]]:
    r"""Estimate $E[R^2]$ of a model and its baselines on the same fresh losses, each with its standard error.

    `share` is how far the model has come from uniform play to Hedge, as in `Setting`.

    Args:
        model: a causal language model.
        tokenizer: its tokenizer.
        task: the task.
        sequences: the number of loss sequences.
        seed: the random seed of the losses.
    """
    losses = draw_losses(task, sequences, seed=seed)
    others = baselines(losses, task)
    played = LanguageLearner(model, tokenizer, task).answer_batch(losses)
    measured = {}
    for name, policies in {"model": played, **others}.items():
        measured[name] = _mean(np.square(external_regret(policies, losses)))
    return {**measured, "share": _share(played, others, losses, task)}


def text_tokens(tokenizer: Any, text: str) -> list[int]:
    """Tokenize a held-out text; raise ValueError if it has fewer than two tokens or words unknown to the tokenizer."""
    tokens = encode(tokenizer, [text])[0]
    if len(tokens) < 2:
        raise ValueError(f"a held-out text must have at least 2 tokens, got {len(tokens)}")
    return tokens


def _language(
    before: Any, after: Any, tokenizer: Any, task: Task, text: str | None, seed: int
) -> Language:
    description = "English sentences" if text is None else "the given text"
    size = min(WINDOW, context_length(before))
    try:
        tokens = text_tokens(tokenizer, HELD_OUT if text is None else text)
        windows = [tokens[start : start + size] for start in range(0, len(tokens) - 1, size)]
    except ValueError:
        if text is not None:
            raise
        description = "transcripts, the only words it knows"
        losses = draw_losses(task, 8, seed=seed)
        batch, _ = transcripts(tokenizer, task, losses, np.zeros((8, task.rounds), int))
        windows = [transcript.tokens[:size] for transcript in batch]
    sums = np.zeros(3)
    for tokens in windows:
        first = _log_probabilities(before, tokens)
        second = _log_probabilities(after, tokens)
        target = torch.tensor(tokens[1:], device=first.device)[:, None]
        divergence = (second.exp() * (second - first)).sum()
        entropies = [-logs.gather(-1, target).sum() for logs in (first, second)]
        sums += torch.stack([*entropies, divergence]).cpu().numpy()
    count = sum(map(len, windows)) - len(windows)
    first_perplexity, second_perplexity = np.exp(sums[:2] / count).tolist()
    return Language(description, count, first_perplexity, second_perplexity, float(sums[2]) / count)


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
    batch, pieces = transcripts(tokenizer, task, losses, actions, rounds)
    longest = max(map(len, pieces.names)) + 2
    valid = 0
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for transcript in batch:
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
    return valid / len(batch)
