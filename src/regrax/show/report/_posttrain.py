"""The page of a post-trained language model: regret before and after, elsewhere, and what became of its language."""

import math
from typing import TYPE_CHECKING, Any

from regrax.show.report._chart import Chart, Series
from regrax.show.report._page import Section, Table, render
from regrax.show.report._svg import number

if TYPE_CHECKING:
    from regrax.agents.llm import Comparison, Player, Setting


BASELINES: dict[str, dict[str, Any]] = {
    "uniform": {"color": 6},
    "Hedge at k*": {"color": 2},
    "best possible": {"color": 3},
}
STYLES = {**BASELINES, "before": {"color": 0, "style": "dashed"}, "after": {"color": 0}}
"""How each player's curves are drawn, the last on top."""


def posttrain_page(comparison: "Comparison", model: str, method: str) -> str:
    """The self-contained HTML page."""
    before, after = comparison.player("before"), comparison.player("after")
    task, players = comparison.task, comparison.trained_on.players
    squares = [f"{one.name} {_squared(one)}" for one in players if one.name in BASELINES]
    lead = [
        f"{model}, trained by {method} on {task.name}: {task.d} actions, {task.rounds} rounds, "
        f"{task.feedback} feedback.",
        f"Regret went from {_regret(before)} to {_regret(after)}, "
        f"squared regret from {_squared(before)} to {_squared(after)} "
        f"(mean and standard error over {comparison.sequences:,} sequences of losses that were not trained on).",
        f"Squared regret of others on these losses: {', '.join(squares)}.",
    ]
    sections = [part(comparison) for part in (_own, _elsewhere, _language, _exploration)]
    return render("Post-training report", lead, sections, "Written by regrax posttrain.")


def _regret(one: "Player") -> str:
    return _with_error(one.regret, one.regret_error)


def _squared(one: "Player") -> str:
    return _with_error(one.squared, one.squared_error)


def _with_error(value: float, error: float) -> str:
    """A mean to the second digit of its standard error.

    >>> _with_error(1.6785, 0.1804), _with_error(23.42, 5.4), _with_error(0.5, 0.0)
    ('1.68 ± 0.18', '23.4 ± 5.4', '0.5 ± 0')
    """
    if not error:
        return f"{number(value)} ± 0"
    decimals = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{decimals}f} ± {error:.{decimals}f}"


def _own(comparison: "Comparison") -> Section:
    charts = [_chart(comparison, name) for name in ("regret", "squared regret")]
    losses = (
        "each model on the losses that its own play brought about, the others on those of the model after"
        if comparison.reactive
        else "everyone on the same losses"
    )
    text = [
        f"Means over all rounds so far, {losses}, as the text rounds them. On losses that favour no "
        "action every policy has the same expected regret: there squared regret tells them apart."
    ]
    rows = [[one.name, _regret(one), _squared(one)] for one in comparison.trained_on.players]
    table = Table(("player", "regret", "squared regret"), rows)
    return Section("regret", "Before and after", text, charts, [table])


def _chart(comparison: "Comparison", measure: str) -> Chart:
    name = "curve" if measure == "regret" else "squared_curve"
    rounds = list(range(1, comparison.task.rounds + 1))
    curves = {one.name: getattr(one, name) for one in comparison.trained_on.players}
    series = [
        Series(player, rounds, curves[player], **style)
        for player, style in STYLES.items()
        if player in curves
    ]
    return Chart(name, f"{measure.capitalize()} by round", "round", measure, series)


def _elsewhere(comparison: "Comparison") -> Section:
    names = [one.name for one in comparison.trained_on.players if one.name != "best possible"]
    others = comparison.elsewhere
    text = [
        "Squared regret on other horizons, numbers of actions and losses than those trained on; "
        "Hedge has the step that is best for Gaussian losses of that size."
    ]
    text += [f"{one.name} cannot be told: {one.problem}." for one in others if one.problem]
    rows = [_setting(one, names) for one in others]
    return Section("elsewhere", "Elsewhere", text, tables=[Table(("setting", *names), rows)])


def _setting(setting: "Setting", names: list[str]) -> list[str]:
    squares = [_squared(one) for one in setting.players if one.name in names]
    return [setting.name, *(squares or ["–"] * len(names))]  # noqa: RUF001


def _language(comparison: "Comparison") -> Section:
    language = comparison.language
    rows = [
        ["freely drawn answers that name an action", *(f"{v:.1%}" for v in comparison.valid)],
        ["perplexity", number(language.before), number(language.after)],
    ]
    text = (
        f"On {language.text} ({language.tokens:,} tokens), the distribution of a token has moved by a KL divergence of "
        f"{number(language.kl)} on average. Training reads the action names only, and nothing holds the rest in place "
        "but a small rate, few parameters (LoRA) or the KL term: rising perplexity is language that is being lost."
    )
    return _measures("language", "Its language", text, rows)


def _exploration(comparison: "Comparison") -> Section:
    titles = {
        "suffix_failure": "suffix failures at half of the rounds",
        "minimum_fraction": "minimum fraction, times actions",
        "greedy_fraction": "greedy fraction",
    }
    both = comparison.exploration
    rows = [[title, *(number(getattr(e, n)) for e in both)] for n, title in titles.items()]
    text = (
        "Of drawn actions (Krishnamurthy et al. 2024): how often the best action is never played again after half of "
        "the rounds, how near play is to uniform (1), how often the leader so far is played."
    )
    return _measures("exploration", "Exploration", text, rows)


def _measures(name: str, title: str, text: str, rows: list[list[str]]) -> Section:
    return Section(name, title, [text], tables=[Table(("measure", "before", "after"), rows)])
