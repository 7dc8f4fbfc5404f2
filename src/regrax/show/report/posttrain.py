"""Post-training report: regret before and after, other settings, language ability, and exploration."""

import math
from typing import TYPE_CHECKING, Any

from regrax.show.report.charts import Chart, Series, number
from regrax.show.report.page import Section, Table, render

if TYPE_CHECKING:
    from regrax.agents.llm import Comparison, Player

STYLES: dict[str, dict[str, Any]] = {
    "uniform": {"color": 6},
    "Hedge at k*": {"color": 2},
    "best possible": {"color": 3},
    "before": {"color": 0, "style": "dashed"},
    "after": {"color": 0},
}
"""Style of each player's curves; the last is drawn on top."""


def posttrain_page(comparison: "Comparison", model: str, method: str) -> str:
    """Render a comparison of a model before and after training as a self-contained HTML page.

    Args:
        comparison: Result of `rx.llm.compare`.
        model: Name of the model.
        method: Name of the training method.
    """
    before = comparison.player("before")
    after = comparison.player("after")
    task = comparison.task
    baselines = [
        f"{player.name} {_squared(player)}"
        for player in comparison.trained_on.players
        if player.name not in ("before", "after")
    ]
    lead = [
        f"{model}, trained by {method} on {task.name}: {task.d} actions, {task.rounds} rounds, "
        f"{task.feedback} feedback.",
        f"Regret went from {_regret(before)} to {_regret(after)}, "
        f"squared regret from {_squared(before)} to {_squared(after)} "
        f"(mean and standard error over {comparison.sequences:,} fresh loss sequences).",
        f"Squared regret of baselines on these losses: {', '.join(baselines)}.",
    ]
    parts = (_own, _elsewhere, _language, _exploration)
    sections = [part(comparison) for part in parts]
    return render("Post-training report", lead, sections, "Written by regrax posttrain.")


def _regret(player: "Player") -> str:
    return _with_error(player.regret, player.regret_error)


def _squared(player: "Player") -> str:
    return _with_error(player.squared, player.squared_error)


def _with_error(value: float, error: float) -> str:
    """Format a mean with its standard error to two digits.

    >>> _with_error(1.6785, 0.1804), _with_error(23.42, 5.4), _with_error(0.5, 0.0)
    ('1.68 ± 0.18', '23.4 ± 5.4', '0.5 ± 0')
    """
    if not error:
        return f"{number(value)} ± 0"
    decimals = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{decimals}f} ± {error:.{decimals}f}"


def _own(comparison: "Comparison") -> Section:
    losses = "with all players on the same losses"
    if comparison.reactive:
        losses = "with each model on the losses that its play caused, and baselines on those of the trained model"
    text = [
        f"Means over all rounds so far, {losses}, rounded as in the text. If the losses favour no action, all "
        "policies have the same expected regret, and only squared regret distinguishes them."
    ]
    players = comparison.trained_on.players
    rows = [[player.name, _regret(player), _squared(player)] for player in players]
    table = Table(("player", "regret", "squared regret"), rows)
    charts = [
        _chart(comparison, "curve", "regret"),
        _chart(comparison, "squared_curve", "squared regret"),
    ]
    return Section("regret", "Before and after", text, charts, [table])


def _chart(comparison: "Comparison", name: str, measure: str) -> Chart:
    rounds = range(1, comparison.task.rounds + 1)
    curves = {player.name: getattr(player, name) for player in comparison.trained_on.players}
    series = [
        Series(player, rounds, curves[player], **style)
        for player, style in STYLES.items()
        if player in curves
    ]
    return Chart(name, f"{measure.capitalize()} by round", "round", measure, series)


def _elsewhere(comparison: "Comparison") -> Section:
    players = comparison.trained_on.players
    names = [player.name for player in players if player.name != "best possible"]
    text = [
        "Squared regret for horizons, numbers of actions and losses that differ from training. "
        "Hedge uses the best step for Gaussian losses of that size."
    ]
    rows = []
    for setting in comparison.elsewhere:
        if setting.problem:
            text.append(f"{setting.name} could not be measured: {setting.problem}.")
        squares = [_squared(player) for player in setting.players if player.name in names]
        rows.append([setting.name, *(squares or ["n/a"] * len(names))])
    table = Table(("setting", *names), rows)
    return Section("elsewhere", "Other settings", text, tables=[table])


def _language(comparison: "Comparison") -> Section:
    language = comparison.language
    rows = [
        ["sampled answers that name an action", *(f"{share:.1%}" for share in comparison.valid)],
        ["perplexity", number(language.before), number(language.after)],
    ]
    text = (
        f"On {language.text} ({language.tokens:,} tokens), training changed the token distribution by a KL "
        f"divergence of {number(language.kl)} on average. Training uses only the names of actions. Other language "
        "ability is protected by a small learning rate, few trained parameters (LoRA) or the KL penalty. If "
        "perplexity rises, the model is losing language ability."
    )
    table = Table(("measure", "before", "after"), rows)
    return Section("language", "Language", [text], tables=[table])


def _exploration(comparison: "Comparison") -> Section:
    titles = {
        "suffix_failure": "suffix failures from the halfway point",
        "minimum_fraction": "minimum fraction, times actions",
        "greedy_fraction": "greedy fraction",
    }
    rows = []
    for name, title in titles.items():
        rows.append([title, *(number(getattr(own, name)) for own in comparison.exploration)])
    text = (
        "Exploration measures of sampled actions (Krishnamurthy et al. 2024): how often the best action is never "
        "played in the second half, how close play is to uniform (1), and how often the best action so far is played."
    )
    table = Table(("measure", "before", "after"), rows)
    return Section("exploration", "Exploration", [text], tables=[table])
