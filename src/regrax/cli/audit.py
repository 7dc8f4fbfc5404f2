"""`regrax audit`: the regret of the agents in a log."""

from pathlib import Path

from regrax.cli.options import Json, LogOptions, Output
from regrax.cli.shared import print_result, progress_bar, write_text


def audit(
    log: Path,
    /,
    *,
    html: Output = None,
    json: Json = False,
    form: LogOptions = LogOptions(),
) -> None:
    """Measure the regret of the agents in a log.

    The log has one record per round and agent, with the action played
    and the losses.

    Example uses:
        regrax audit log.jsonl --html report.html
        regrax audit games.csv --game chicken --fields episode=game_id

    Args:
        log: JSON lines (.jsonl, .ndjson, .json), .csv, .parquet or an Inspect log (.eval); text may be gzipped.
        html: Write a report to this file.
    """
    from regrax.agents.audit import audit_log

    with progress_bar(hidden=json) as show:
        result = audit_log(log, lambda *at: show(at), **form.read())
    if html is not None:
        from regrax.show.report import audit_page

        write_text(html, audit_page(result, log.name))
    text = str(result)
    if result.format not in ("rows", form.format):
        text = f"format: {result.format} (guessed; --format sets it)\n{text}"
    print_result(text, json, {"log": str(log), **result.to_dict()})
