"""Measure the explorer's frame times and the time of 10,000 rounds: `python -m benchmarks.explorer`.

It opens the page in headless Chromium and exits with 1 if 95 % of ten seconds' frames do not stay below `MAX_FRAME_MS`
of processor time, from the rounds to the painted picture, or if 10,000 rounds take more than `MAX_ROUNDS_MS`.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Page, sync_playwright

from regrax.show.explorer import page

MAX_FRAME_MS = 1000 / 60
MAX_ROUNDS_MS = 2000
QUIET = "--no-sandbox --disable-gpu --disable-background-networking --disable-sync --no-first-run"
TRACED = ["devtools.timeline", "disabled-by-default-devtools.timeline", "toplevel"]
TO_THE_END = """() => new Promise((done) => {
    const began = performance.now();
    const { app } = regrax;
    app.goTo(10000);
    const look = () => app.run.round === 10000 && !app.dirty
        ? done(performance.now() - began)
        : requestAnimationFrame(look);
    look();
})"""


@contextmanager
def opened() -> Iterator[Page]:
    """Open the page that `regrax explore --out` writes in Chromium."""
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "explorer.html"
        file.write_text(page())
        browser = playwright.chromium.launch(executable_path=executable, args=QUIET.split())
        shown = browser.new_page(viewport={"width": 1280, "height": 900})
        shown.goto(file.as_uri())
        yield shown
        browser.close()


def choose(shown: Page, game: str, horizon: int) -> None:
    """Select Hedge against Hedge in a game, with the page's controls."""
    shown.select_option("#game", game)
    for seat in range(2):
        shown.select_option(f"[data-seat='{seat}'] select", "hedge")
    shown.fill("#horizon", str(horizon))
    shown.press("#horizon", "Enter")


def frame_times(events: list[dict[str, Any]]) -> np.ndarray:
    """Return milliseconds of every frame: processor time of the page's thread, and wall time."""
    threads = {
        (e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"
    }
    main = [e for e in events if threads.get((e["pid"], e["tid"])) == "CrRendererMain"]
    starts = np.sort([e["ts"] for e in main if e["name"] == "FireAnimationFrame"])
    times = np.zeros((2, len(starts)))
    for event in main:
        frame = np.searchsorted(starts, event.get("ts", 0) + event.get("dur", 0)) - 1
        if event["name"] == "RunTask" and frame >= 0:
            times[:, frame] += event.get("tdur", 0) / 1000, event.get("dur", 0) / 1000
    return times


def frames(shown: Page) -> np.ndarray:
    """Return the frame times of ten seconds of play at T = 1,000, where a play takes six seconds."""
    choose(shown, "weighted-rps", 1000)
    shown.evaluate("document.getElementById('where').scrollIntoView({ behavior: 'instant' })")
    browser = shown.context.browser
    assert browser is not None
    browser.start_tracing(page=shown, categories=TRACED)
    shown.wait_for_timeout(10_000)
    return frame_times(json.loads(browser.stop_tracing())["traceEvents"])


def main() -> int:
    """Print the times; return 1 if one of them is too long."""
    with opened() as shown:
        processor, clock = frames(shown)
    for name, times in (("processor", processor), ("clock", clock)):
        median, most, nearly_all = np.percentile(times, [50, 95, 99])
        print(
            f"{name}: {len(times)} frames, {median:.1f} ms; 95 %: {most:.1f}; 99 %: {nearly_all:.1f}"
        )
    with opened() as shown:
        choose(shown, "shapley", 10_000)
        took = shown.evaluate(TO_THE_END)
    print(f"10,000 rounds: {took:.0f} ms")
    return int(np.percentile(processor, 95) > MAX_FRAME_MS or took > MAX_ROUNDS_MS)


if __name__ == "__main__":
    sys.exit(main())
