"""`regrax bench-agents`: run an agent through a fixed benchmark."""

from json import dumps

from regrax.cli.options import Folder, Json, Requests
from regrax.cli.shared import print_result, progress_bar, read_learner, write_text


def bench_agents(
    agent: str,
    /,
    *,
    out: Folder,
    episodes: int = 20,
    seed: int = 0,
    json: Json = False,
    requests: Requests = Requests(),
) -> None:
    """Run an agent through eight tasks, next to classical learners.

    The tasks have 20 rounds: random, biased, switching and adversarial
    losses, two of them also with bandit feedback, and two games against
    Hedge. A share of 0 is uniform play, 1 the best possible policy.

    Example uses:
        regrax bench-agents 'agent("http://127.0.0.1:8000")' --out bench
        regrax bench-agents 'agent("python:student:play")' --out student

    Args:
        agent: Spec of an agent: agent("URL"), agent("python:module:function") or llm("folder").
        out: Folder for results.json, report.html, the answers, and a log of every task.
        episodes: Number of episodes per task.
        seed: Seed of the losses and of the sampled actions.
    """
    from regrax.agents import benchmark
    from regrax.show.report import benchmark_page

    learner = read_learner(agent)
    out.mkdir(parents=True, exist_ok=True)
    settings = requests.open(out / "answers", "")
    with progress_bar(hidden=json) as show:
        result = benchmark(learner, out, episodes, seed=seed, on_progress=show, **settings)
    summary = {**result.to_dict(), "out": str(out)}
    write_text(out / "results.json", dumps(summary, allow_nan=False))
    write_text(out / "report.html", benchmark_page(result))
    print_result(f"{result}\nreport: {out}/report.html", json, summary)
