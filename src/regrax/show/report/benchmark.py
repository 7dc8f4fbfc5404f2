"""Benchmark report: an agent's results in every task, next to those of classical learners."""

from regrax import _checks as checks
from regrax._text import counted
from regrax.agents import Benchmark
from regrax.agents.audit import shown
from regrax.agents.suite import TaskResult
from regrax.show.plots.sheets import number
from regrax.show.report.audit import interval
from regrax.show.report.charts import Chart, Series
from regrax.show.report.page import Answer, Section, Table, render


def benchmark_page(result: Benchmark) -> str:
    """Render the result of `regrax.agents.benchmark` as a self-contained HTML page."""
    checks.instance("result", result, Benchmark, "the result of benchmark")
    tasks = list(dict.fromkeys(row.task for row in result.rows))
    own = [result.of_task(task)[0] for task in tasks]
    share = sum(row.share for row in own) / len(own)
    finding = f"has come {share:.0%} of the way from uniform play to the best possible policy"
    if share < 0:
        finding = f"does worse than uniform play, with a share of {share:.0%}"
    answer = f"{shown(result.agent)} {finding}, on average over {counted(len(tasks), 'task')}."
    lead = [f"{counted(result.episodes, 'episode').capitalize()} of each task."]
    if result.spent.answers:
        answers = counted(result.spent.answers, "answer")
        unusable = counted(sum(row.unanswered for row in own), "round")
        lead.append(
            f"{answers}, {result.spent.tokens:,} tokens, cost {number(result.spent.cost)}; "
            f"{unusable} without a usable answer."
        )
    text = [
        "The share is 0 for uniform play and 1 for the best possible policy. In the task random, where no policy has a "
        "lower expected loss than another, it is that of squared regret; elsewhere it is that of the loss. The best "
        "possible policy sees every loss, also in the bandit tasks, so no agent can reach it there. With few "
        "episodes, luck can bring an agent above 1."
    ]
    x = range(1, len(tasks) + 1)
    references = [[row.share for row in result.of_task(task)[1]] for task in tasks]
    points = {
        "best classical learner": [max(shares) for shares in references],
        "worst classical learner": [min(shares) for shares in references],
        "this agent": [row.share for row in own],
    }
    series = [
        Series(label, x, shares, style="points", color=2 - place)
        for place, (label, shares) in enumerate(points.items())
    ]
    listed = ", ".join(f"{place} {task}" for place, task in zip(x, tasks, strict=True))
    chart = Chart("share", "Share of the way", "task", "share", series, caption=f"Tasks: {listed}.")
    columns = ("task", "regret per round", "95% interval", "share", "verdict")
    agents = [[row.task, *_cells(row)] for row in own]
    others = [
        [row.task, row.agent, *_cells(row)] for task in tasks for row in result.of_task(task)[1]
    ]
    sections = [
        Section("agent", "The agent", text, [chart], [Table(columns, agents)]),
        Section(
            "references",
            "Classical learners",
            tables=[Table((columns[0], "learner", *columns[1:]), others)],
        ),
    ]
    footer = "Written by regrax bench-agents."
    return render("Benchmark", lead, sections, footer, answers=[Answer(answer)])


def _cells(row: TaskResult) -> list[str]:
    regret = number(row.regret_per_round)
    return [regret, interval(row.low, row.high), f"{row.share:.1%}", row.verdict]
