"""Post-training report: regret before and after, other settings, language ability, and exploration."""

import math
from typing import TYPE_CHECKING, Any

from regrax._text import number
from regrax.show.report.charts import Chart, Interval, Intervals, Series
from regrax.show.report.page import Answer, Section, Table, render

if TYPE_CHECKING:
    from regrax.agents.llm import Comparison

NORMAL = 1.96  # standard errors in half a 95% interval
STYLES: dict[str, dict[str, Any]] = {
    "uniform": {"color": 6},
    "Hedge(1.0)": {"color": 1},
    "Hedge at k*": {"color": 2},
    "best possible": {"color": 3},
    "before": {"color": 0, "style": "dashed"},
    "after": {"color": 0},
}
"""Style of each player's curves; the last is drawn on top."""


def posttrain_page(comparison: "Comparison", model: str, method: str) -> str:
    """Render a comparison of a model before and after training as a self-contained HTML page.

    Args:
        comparison: Result of `rx.llm.compare_models`.
        model: Name of the model.
        method: Name of the training method.
    """
    task = comparison.task
    own = comparison.trained_on
    lead = [
        f"{model}, trained by {method} on {task.name}: {task.d} actions, {task.rounds} rounds, "
        f"{task.feedback} feedback. Means and standard errors are over {comparison.sequences:,} "
        "loss sequences that were not used in training.",
        f"It has come {_with_error(own, 'share', 100)}% of the way from uniform play to Hedge.",
    ]
    sections = [_own(comparison), _policy(comparison)]
    if comparison.elsewhere:
        sections.append(_elsewhere(comparison))
    sections += [_language(comparison), _exploration(comparison)]
    answers = [_answer(comparison)]
    footer = "Written by regrax posttrain."
    return render("Post-training report", lead, sections, footer, answers=answers)


def _answer(comparison: "Comparison") -> Answer:
    """Compare squared regret before and after; overlapping 95% intervals cannot be told apart."""
    before = comparison.player("before")
    after = comparison.player("after")
    text = f"After training, squared regret is {_with_error(after, 'squared')}"
    then = _with_error(before, "squared")
    change = after.squared - before.squared
    if abs(change) <= NORMAL * (before.squared_error + after.squared_error):
        text += f", not distinguishable from before ({then})."
        return Answer(text, "no clear difference")
    if change < 0:
        return Answer(f"{text}, down from {then}.", "better", "good")
    return Answer(f"{text}, up from {then}.", "worse", "bad")


def _with_error(measured: Any, name: str, scale: int = 1) -> str:
    """Format a mean with its standard error to two digits, such as 1.68 ± 0.18 or 23.4 ± 5.4."""
    value = scale * getattr(measured, name)
    error = scale * getattr(measured, f"{name}_error")
    if not error:
        return f"{number(value)} ± 0"
    decimals = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{decimals}f} ± {error:.{decimals}f}"


def _own(comparison: "Comparison") -> Section:
    losses = "All players face the same losses."
    if comparison.reactive:
        losses = "Each model faces the losses that its play caused, and baselines those of the trained model."
    text = [
        f"{losses} If the losses favour no action, all policies have the same expected regret, and only squared "
        "regret distinguishes them."
    ]
    rows = []
    bars = []
    for player in comparison.trained_on.players:
        rows.append([player.name, *(_with_error(player, name) for name in ("regret", "squared"))])
        half = NORMAL * player.squared_error
        ends = player.squared - half, player.squared + half
        bars.append(Interval(player.name, player.squared, *ends, STYLES[player.name]["color"]))
    caption = "Means and 95% intervals."
    table = Table(("player", "regret", "squared regret"), rows)
    charts = [
        Intervals("squared", "Squared regret", "squared regret", bars, False, caption),
        _chart(comparison, "curve", "regret"),
        _chart(comparison, "squared_curve", "squared regret"),
    ]
    return Section("regret", "Before and after", text, charts, [table])


def _policy(comparison: "Comparison") -> Section:
    after = comparison.player("after")
    text = [
        "Hedge with step k plays the softmax of -k times the sums of past losses, so the log-odds of two actions are "
        "-k times the difference of their sums. "
        f"The Hedge nearest to the trained model has step {number(after.step)}; the mean total variation between the "
        f"two is {number(after.distance)}."
    ]
    rows = [[own.name, own.step, own.distance] for own in comparison.trained_on.players]
    series = []
    for name, pairs in zip(("before", "after"), comparison.odds, strict=True):
        if pairs:
            gaps, odds = zip(*pairs, strict=True)
            series.append(Series(name, gaps, odds, **STYLES[name]))
            if name == "after":
                nearest = [-after.step * gap for gap in gaps]
                series.insert(0, Series(f"Hedge({after.step:.2f})", gaps, nearest, color=2))
    charts = [_chart(comparison, "leader", "weight on the leader")]
    if series:
        axes = ("difference of past losses", "mean log-odds")
        charts.append(Chart("odds", "Log-odds of two actions", *axes, series))
    table = Table(("player", "nearest step", "total variation"), rows)
    return Section("policy", "What it plays", text, charts, [table])


def _chart(comparison: "Comparison", name: str, measure: str) -> Chart:
    rounds = range(1, comparison.task.rounds + 1)
    players = {player.name: player for player in comparison.trained_on.players}
    series = []
    for player, style in STYLES.items():
        if player in players:
            series.append(Series(player, rounds, getattr(players[player], name), **style))
    return Chart(name, f"{measure.capitalize()} by round", "round", measure, series)


def _elsewhere(comparison: "Comparison") -> Section:
    players = comparison.trained_on.players
    names = [player.name for player in players if player.name != "best possible"]
    text = [
        "Horizons, numbers of actions, wordings and losses that differ from training. The gain is the regret before "
        "minus that after, with the standard error of the differences on the same losses. "
        "k* is the best step for Gaussian losses of that size."
    ]
    regrets = []
    squares = []
    for setting in comparison.elsewhere:
        if setting.problem:
            text.append(f"{setting.name} could not be measured: {setting.problem}.")
            continue
        shown = [player for player in setting.players if player.name in names]
        cells = [_with_error(player, "regret") for player in shown]
        regrets.append([setting.name, *cells, _with_error(setting, "gain")])
        squares.append([setting.name, *(_with_error(player, "squared") for player in shown)])
    tables = [
        Table(("regret", *names, "gain"), regrets),
        Table(("squared regret", *names), squares),
    ]
    return Section("elsewhere", "Other settings", text, tables=tables)


def _language(comparison: "Comparison") -> Section:
    language = comparison.language
    rows = [
        ["sampled answers that name an action", *(f"{share:.1%}" for share in comparison.valid)],
        ["perplexity", language.before, language.after],
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
        rows.append([title, *(getattr(own, name) for own in comparison.exploration)])
    text = (
        "Exploration measures of sampled actions (Krishnamurthy et al. 2024): how often the best action is never "
        "played in the second half, how close play is to uniform (1), and how often the best action so far is played."
    )
    table = Table(("measure", "before", "after"), rows)
    return Section("exploration", "Exploration", [text], tables=[table])
