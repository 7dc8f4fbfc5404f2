"""Run every comparison: `python -m benchmarks [--repeats N] [--out FOLDER] [ROW ...]`.

Writes `RESULTS.md`, `results.json` and `growth.png`. Given names of rows, or parts of
names, it measures and prints only those; `felt` measures only the time of commands and first calls.
"""

import argparse
import json
import sys
from pathlib import Path

from benchmarks import felt, special
from benchmarks.growth import curves, draw, too_steep
from benchmarks.measure import Result, measure
from benchmarks.page import line, page
from benchmarks.rows import rows

FELT_REPEATS = 3


def main() -> None:
    """Measure all rows, print each one, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", help="only rows whose name contains one of these")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    parser.add_argument("--long", action="store_true", help="felt: the whole reproduction as well")
    options = parser.parse_intermixed_args()
    if options.rows[:1] == ["felt"]:
        felt.measure(min(options.repeats, FELT_REPEATS), options.long, options.rows[1:])
        return
    chosen = [row for row in rows() if not options.rows or any(w in row.name for w in options.rows)]
    results: list[Result] = []
    for row in chosen:
        results.append(measure(row, options.repeats))
        print(line(results[-1]), flush=True)
    if options.rows:
        return
    results.append(special.exact_against_monte_carlo(options.repeats))
    print(line(results[-1]), flush=True)
    starting = special.start_up(options.repeats)
    growth = curves(3)
    draw(growth, options.out / "growth.png")
    waited = felt.measure(FELT_REPEATS, options.long)
    (options.out / "RESULTS.md").write_text(page(results, starting, growth, waited))
    numbers = {
        "rows": [result.to_dict() for result in results],
        "start_up": starting,
        "growth": growth,
        "felt": waited,
    }
    kept = options.out / "results.json"
    before = json.loads(kept.read_text()).get("felt", []) if kept.exists() else []
    kept.write_text(json.dumps(numbers, indent=1) + "\n")
    missed = [result.name for result in results if result.missed]
    slower = felt.slower(before, waited)
    told = [f"behind what is asked for: {', '.join(missed)}"] if missed else []
    steep = too_steep(growth)
    told += [f"time grows faster than rounds: {', '.join(steep)}"] if steep else []
    told += [f"{felt.REGRESSION} times slower than before: {', '.join(slower)}"] if slower else []
    sys.exit("; ".join(told) or 0)


if __name__ == "__main__":
    main()
