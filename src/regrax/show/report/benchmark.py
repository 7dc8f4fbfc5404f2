"""Benchmark report: an agent's results in every task, next to those of classical learners."""

from regrax import _checks as checks
from regrax._text import counted, interval, listed, number
from regrax.agents import Benchmark
from regrax.agents.audit import shown
from regrax.show.report.charts import Chart, Series
from regrax.show.report.page import Answer, Section, Table, render


def benchmark_page(result: Benchmark) -> str:
    """Render the result of `regrax.agents.benchmark` as a self-contained HTML page."""
    checks.instance("result", result, Benchmark, "the result of benchmark")
    own = [row for row in result.rows if not row.is_reference]
    others = [row for row in result.rows if row.is_reference]
    tasks = [row.task for row in own]
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
    shares = [[row.share for row in others if row.task == task] for task in tasks]
    points = {
        "best classical learner": list(map(max, shares)),
        "worst classical learner": list(map(min, shares)),
        "this agent": [row.share for row in own],
    }
    series = [
        Series(label, x, ys, style="points", color=2 - place)
        for place, (label, ys) in enumerate(points.items())
    ]
    names = listed(f"{place} {task}" for place, task in zip(x, tasks, strict=True))
    chart = Chart("share", "Share of the way", "task", "share", series, caption=f"Tasks: {names}.")
    agents = []
    learners = []
    for row in result.rows:
        limits = interval(row.low, row.high)
        cells = [row.regret_per_round, limits, f"{row.share:.1%}", row.verdict]
        if row.is_reference:
            learners.append([row.task, row.agent, *cells])
        else:
            agents.append([row.task, *cells])
    columns = ("regret per round", "95% interval", "share", "verdict")
    own_table = Table(("task", *columns), agents)
    others_table = Table(("task", "learner", *columns), learners)
    sections = [
        Section("agent", "The agent", text, [chart], [own_table]),
        Section("references", "Classical learners", tables=[others_table]),
    ]
    footer = "Written by regrax bench-agents."
    return render("Benchmark", lead, sections, footer, answers=[Answer(answer)])
