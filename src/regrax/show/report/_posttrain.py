"""The page of a post-trained language model: regret before and after, elsewhere, and what became of its language."""

import math
from typing import TYPE_CHECKING, Any

from regrax.show.report._chart import Chart, Series
from regrax.show.report._page import Section, Table, render
from regrax.show.report._svg import number

if TYPE_CHECKING:
    from regrax.llm import Comparison, Player, Setting


STYLES: dict[str, dict[str, Any]] = {
    "uniform": {"color": 6},
    "Hedge at k*": {"color": 2},
    "best possible": {"color": 3},
    "before": {"color": 0, "style": "dashed"},
    "after": {"color": 0},
}
"""How each player's curves are drawn, the last on top."""
REFERENCES = ("uniform", "Hedge at k*", "best possible")


def posttrain_page(comparison: "Comparison", model: str, method: str) -> str:
    """The self-contained HTML page."""
    before, after = comparison.player("before"), comparison.player("after")
    task = comparison.task
    lead = [
        f"{model}, trained by {method} on {task.name}: {task.d} actions, {task.rounds} rounds, "
        f"{task.feedback} feedback.",
        f"Regret went from {_with_error(before.regret, before.regret_error)} to "
        f"{_with_error(after.regret, after.regret_error)}, squared regret from "
        f"{_with_error(before.squared, before.squared_error)} to {_with_error(after.squared, after.squared_error)} "
        f"(mean and standard error over {comparison.sequences:,} sequences of losses that were not trained on).",
    ]
    others = [one for one in comparison.trained_on.players if one.name in REFERENCES]
    squares = [f"{one.name} {_with_error(one.squared, one.squared_error)}" for one in others]
    lead.append(f"Squared regret of others on these losses: {', '.join(squares)}.")
    sections = [
        _own(comparison),
        _elsewhere(comparison),
        _language(comparison),
        _exploration(comparison),
    ]
    return render("Post-training report", lead, sections, "Written by regrax posttrain.")


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
    charts = [
        _chart(comparison, "curve", "Regret by round", "regret"),
        _chart(comparison, "squared_curve", "Squared regret by round", "squared regret"),
    ]
    losses = (
        "each model on the losses that its own play brought about, the others on those of the model after"
        if comparison.reactive
        else "everyone on the same losses"
    )
    text = [
        f"Means over all rounds so far, {losses}, as the text rounds them. On losses that favour no "
        "action every policy has the same expected regret: there squared regret tells them apart."
    ]
    rows = [_row(one) for one in comparison.trained_on.players]
    table = Table(("player", "regret", "squared regret"), rows)
    return Section("regret", "Before and after", text, charts, [table])


def _chart(comparison: "Comparison", name: str, title: str, measure: str) -> Chart:
    rounds = list(range(1, comparison.task.rounds + 1))
    players = {one.name: one for one in comparison.trained_on.players}
    series = [
        Series(player, rounds, getattr(players[player], name), **style)
        for player, style in STYLES.items()
        if player in players
    ]
    return Chart(name, title, "round", measure, series)


def _row(one: "Player") -> list[str]:
    return [
        one.name,
        _with_error(one.regret, one.regret_error),
        _with_error(one.squared, one.squared_error),
    ]


def _elsewhere(comparison: "Comparison") -> Section:
    names = [one.name for one in comparison.trained_on.players if one.name != "best possible"]
    rows = [_setting(one, names) for one in comparison.elsewhere]
    text = [
        "Squared regret on other horizons, numbers of actions and losses than those trained on; "
        "Hedge has the step that is best for Gaussian losses of that size."
    ]
    text += [
        f"{one.name} cannot be told: {one.problem}." for one in comparison.elsewhere if one.problem
    ]
    columns = ("setting", *names)
    return Section("elsewhere", "Elsewhere", text, tables=[Table(columns, rows)])


def _setting(setting: "Setting", names: list[str]) -> list[str]:
    if setting.problem:
        return [setting.name, *["–"] * len(names)]  # noqa: RUF001
    by_name = {one.name: one for one in setting.players}
    cells = [_with_error(by_name[n].squared, by_name[n].squared_error) for n in names]
    return [setting.name, *cells]


def _language(comparison: "Comparison") -> Section:
    language = comparison.language
    rows = [
        [
            "freely drawn answers that name an action",
            *(f"{value:.1%}" for value in comparison.valid),
        ],
        ["perplexity", number(language.before), number(language.after)],
    ]
    text = [
        f"On {language.text} ({language.tokens:,} tokens), the distribution of a token has moved by a KL divergence of "
        f"{number(language.kl)} on average. Training reads the action names only, and nothing holds the rest in place "
        "but a small rate, few parameters (LoRA) or the KL term: rising perplexity is language that is being lost."
    ]
    columns = ("measure", "before", "after")
    return Section("language", "Its language", text, tables=[Table(columns, rows)])


def _exploration(comparison: "Comparison") -> Section:
    before, after = comparison.exploration
    rows = [
        [title, number(getattr(before, name)), number(getattr(after, name))]
        for title, name in (
            ("suffix failures at half of the rounds", "suffix_failure"),
            ("minimum fraction, times actions", "minimum_fraction"),
            ("greedy fraction", "greedy_fraction"),
        )
    ]
    text = [
        "Of drawn actions (Krishnamurthy et al. 2024): how often the best action is never played again after half of "
        "the rounds, how near play is to uniform (1), how often the leader so far is played."
    ]
    columns = ("measure", "before", "after")
    return Section("exploration", "Exploration", text, tables=[Table(columns, rows)])
