"""`regrax audit`: the regret of the agents in a log."""

from pathlib import Path
from typing import Any

from regrax.cli.inputs import Json, LogOptions, Output
from regrax.cli.output import Bar, counted, interval, listed, print_json, print_table, print_text

MAX_PRINTED_AGENTS = 20
MAX_PRINTED_ACTIONS = 20
MAX_PRINTED_CONTEXTS = 20


def audit(
    log: Path,
    /,
    *,
    html: Output = None,
    json: Json = False,
    form: LogOptions = LogOptions(),
) -> None:
    """Measure the regret of the agents in a log.

    The log has one record per round and agent, with the action played and the losses.

    Example uses:
        regrax audit log.jsonl --html report.html
        regrax audit games.csv --game chicken --fields episode=game_id

    Args:
        log: JSON lines (.jsonl, .ndjson, .json), .csv, .parquet or an Inspect log (.eval); text may be gzipped.
        html: Write a report to this file.
    """
    from regrax.agents.audit import audit_log

    with Bar(hidden=json) as bar:
        found = audit_log(log, bar.move, **form.read())
    if html is not None:
        from regrax._files import write_output
        from regrax.show.report import audit_page

        write_output(html, audit_page(found, log.name).encode("utf-8", "replace"))
    result = {"log": str(log), **found.to_dict()}
    if json:
        print_json(result)
        return
    if found.format not in ("rows", form.format):
        print_text(f"format: {found.format} (guessed; --format sets it)")
    _print(result)


def _print(result: dict[str, Any]) -> None:
    agents = result["agents"]
    for agent in agents[:MAX_PRINTED_AGENTS]:
        _print_agent(agent)
    if len(agents) > MAX_PRINTED_AGENTS:
        verdicts = [agent["learning"]["verdict"] for agent in agents]
        counts = listed(
            f"{verdicts.count(verdict):,} {verdict}" for verdict in dict.fromkeys(verdicts)
        )
        print_text(f"showing {MAX_PRINTED_AGENTS} of {len(agents):,} agents: {counts}")
    if result["gaps"] is not None:
        names = {"CCE": "cce_gap", "CE, pairwise": "ce_gap", "swap": "swap_gap"}
        rows = [[label, result["gaps"][name]] for label, name in names.items()]
        print_table(("equilibrium gap", "per round"), rows, "If the agents played one game")
    print_text(
        f"{counted(result['rows'], 'row')} read, {counted(result['bad_rows'], 'bad row')} left out"
    )
    if result["bad"]:
        print_table(("first line", "rows", "reason"), _bad_rows(result["bad"]))


def _print_agent(agent: dict[str, Any]) -> None:
    played = f"{counted(agent['rounds'], 'round')} in {counted(agent['episodes'], 'episode')}"
    title = f"{_short(agent['agent'])}: {played}, {len(agent['actions'])} actions, "
    title += f"{agent['feedback']} feedback"
    measures = {f"{kind} regret": measure for kind, measure in agent["regret"].items()}
    for action, measure in agent["against"].items():
        measures[f"regret against {_short(action)}"] = measure
    measures["loss"] = agent["loss"]
    rows = [[name, *_cells(value)] for name, value in measures.items()]
    columns = ("measure", "per round", "per episode", "95 % interval, per episode")
    print_table(columns, rows, title)
    print_text(_short(agent["learning"]["words"]))
    if agent["fractions"]:
        ranked = sorted(agent["fractions"].items(), key=lambda item: -item[1])
        shares = [f"{_short(name)} {share:.1%}" for name, share in ranked[:MAX_PRINTED_ACTIONS]]
        print_text(f"played: {listed(shares)}")
    if agent["answers"]:
        counts = [f"{_short(name)} {count:,}" for name, count in sorted(agent["answers"].items())]
        print_text(f"answers by parser: {listed(counts)}")
    if agent["exploration"]:
        from regrax.agents.audit import explored

        print_text(f"exploration: {explored(agent['exploration'])}")
    if agent["worst_swap"]:
        print_text(f"worst swap: {_short(agent['worst_swap']['words'])}")
    print()
    if agent["contexts"]:
        _print_contexts(agent["contexts"])
    if agent["baselines"]:
        own = {kind: measure["total"] for kind, measure in agent["regret"].items()}
        own["loss_per_round"] = agent["loss_per_round"]
        rows = []
        for name, values in {"this agent": own, **agent["baselines"]}.items():
            rows.append([name, values["loss_per_round"], values["external"], values["swap"]])
        columns = (
            "on the same losses",
            "loss per round",
            "regret per episode",
            "swap regret per episode",
        )
        print_table(columns, rows)
    if agent["learning"]["tests"]:
        rows = []
        for name, test in agent["learning"]["tests"].items():
            rows.append([name, f"{test['p_value']:.3g}", f"{100 * test['false_alarms']:.3g}"])
        print_table(("published test", "p-value", "false alarms at 5 %, in %"), rows)
    for note in agent["notes"]:
        print_text(f"note: {_short(note)}")


def _bad_rows(bad: list[dict[str, str]]) -> list[list[Any]]:
    """List each kind of reason once, with its first line and the number of rows."""
    rows: dict[str, list[Any]] = {}
    for entry in bad:
        spans = [span.partition("-") for span in entry["lines"].split(", ")]
        count = sum(int(last or first) - int(first) + 1 for first, _, last in spans)
        kind = entry["reason"].partition(", got ")[0]
        row = rows.setdefault(kind, [spans[0][0], 0, entry["reason"]])
        row[1] += count
    return list(rows.values())


def _print_contexts(found: dict[str, Any]) -> None:
    by_regret = sorted(found["contexts"], key=lambda context: -context["regret"]["total"])
    rows = [["best policy", "", "", *_cells(found["regret"])]]
    for context in by_regret[:MAX_PRINTED_CONTEXTS]:
        facts = [_short(context["context"]), _short(context["best"]), context["rounds"]]
        rows.append([*facts, *_cells(context["regret"])])
    columns = ("per round", "per episode", "95 % interval, per episode")
    title = f"{len(by_regret)} contexts, most regret first"
    print_table(("regret by context", "best action", "rounds", *columns), rows, title)
    rows = []
    for name, saved in found["saved"].items():
        rows.append([name, found["replayed"][name]["per_round"], *_cells(saved)])
    columns = ("saved per round", "saved per episode", "95 % interval, per episode")
    print_table(("replayed on this log", "loss per round", *columns), rows)


def _cells(measure: dict[str, Any]) -> list[Any]:
    limits = interval(measure["low"], measure["high"])
    return [measure["per_round"], measure["total"], limits]


def _short(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:297]}..."
