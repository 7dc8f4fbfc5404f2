"""`regrax audit`: the regret of the agents in a log."""

from pathlib import Path

from regrax.cli.inputs import Json, LogOptions, Output
from regrax.cli.output import Bar, print_lines, print_result


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
        result = audit_log(log, bar.move, **form.read())
    if html is not None:
        from regrax._files import write_output
        from regrax.show.report import audit_page

        write_output(html, audit_page(result, log.name).encode("utf-8", "replace"))
    if not json and result.format not in ("rows", form.format):
        print_lines(f"format: {result.format} (guessed; --format sets it)")
    print_result(result, json, {"log": str(log), **result.to_dict()})
