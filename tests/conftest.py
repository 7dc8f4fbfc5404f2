"""What tests share: how properties are tried, pages as a browser shows them, and a count of compilations."""

import contextlib
import html
import json
import re
import shutil
import signal
import subprocess
from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax
import pytest
from hypothesis import HealthCheck, settings

# the same examples in every run, none kept on disk; the first example compiles, so none has a deadline
settings.register_profile(
    "regrax",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # float64 for all examples alike
)
settings.load_profile("regrax")

# a shell's background jobs ignore Ctrl-C, and so would the commands that tests start and interrupt
signal.signal(signal.SIGINT, signal.default_int_handler)

MEASURE = """<pre id="measured"></pre><script>
document.getElementById("measured").textContent = JSON.stringify({
  figures: [...document.querySelectorAll("svg")].map(svg => {
    const box = svg.getBoundingClientRect();
    const marks = svg.querySelectorAll("path, line, polyline, circle, rect, polygon").length;
    return [svg.dataset.figure || svg.getAttribute("aria-label"), box.width, box.height, marks];
  }),
  overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
});
</script>"""


class Browsed(NamedTuple):
    """What a browser made of a page."""

    figures: list  # of [name, width, height, number of marks]
    overflow: int  # pixels that the page is wider than the window
    console: list[str]


@pytest.fixture
def browse(tmp_path):
    """Open a page in headless Chromium, measure it, and keep a screenshot under `out/screenshots`."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("Chromium is not installed: the page is not opened in a browser")
    return partial(_browse, chromium, tmp_path)


def _browse(chromium, folder, page, name, *, size=(1200, 2400), dark=False):
    measured = folder / f"{name}.html"
    measured.write_text(page.replace("</body>", MEASURE + "</body>"))
    shots = Path(__file__).parent.parent / "out" / "screenshots"
    shots.mkdir(parents=True, exist_ok=True)
    quiet = (
        "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync --hide-scrollbars"
    )
    quiet += " --disable-background-networking --disable-component-update --enable-logging=stderr"
    command = [chromium, "--headless", *quiet.split(), f"--user-data-dir={folder / 'profile'}"]
    command += [f"--window-size={size[0]},{size[1]}"]
    command += ["--blink-settings=preferredColorScheme=0"] if dark else []
    dumped = _run([*command, "--dump-dom", measured.as_uri()])
    _run([*command, f"--screenshot={shots / name}.png", measured.as_uri()])
    found = json.loads(html.unescape(re.search(r'id="measured">(.*?)</pre>', dumped.stdout)[1]))
    console = [line for line in dumped.stderr.splitlines() if "CONSOLE" in line]
    return Browsed(found["figures"], found["overflow"], console)


def _run(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


@pytest.fixture
def compilations():
    """A context manager that counts the programs jax compiles inside its block: `[count]`, final when it ends."""
    return _compilations


@contextlib.contextmanager
def _compilations():
    count = [0]

    def listen(event, *_, **__):
        count[0] += event == "/jax/core/compile/backend_compile_duration"

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield count
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
