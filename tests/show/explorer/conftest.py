"""The explorer's kernel as node runs it, and as Python would have it."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

KERNEL = Path(__file__).parents[3] / "explorer" / "src" / "kernel"
RUNNER = Path(__file__).parent / "kernel_runner.mjs"


@pytest.fixture(scope="session")
def kernel():
    """Ask the kernel several things at once: a list of questions gives a list of answers."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed: the kernel is not run")

    def ask(*questions):
        command = [node, str(RUNNER), str(KERNEL)]
        done = subprocess.run(
            command, input=json.dumps(questions), capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)

    return ask


QUIET = (
    "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update "
    "--disable-sync --no-first-run"
)


class Watched:
    """A page, and everything it said or asked for that it should not have."""

    def __init__(self, page):
        self.page, self.complaints, self.asked = page, [], []
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))

    @property
    def outside(self):
        """Requests that left the machine."""
        here = ("file:", "data:", "blob:", "http://127.0.0.1:", "about:")
        return [url for url in self.asked if not url.startswith(here)]


@pytest.fixture(scope="session")
def explorer_file(tmp_path_factory):
    """The page as `regrax explore --out` writes it."""
    from regrax.show.explorer import page

    path = tmp_path_factory.mktemp("explorer") / "explorer.html"
    path.write_text(page())
    return path


@pytest.fixture(scope="session")
def chromium():
    """Headless Chromium, driven by Playwright."""
    executable = shutil.which("chromium") or shutil.which("chromium-browser")
    if executable is None:
        pytest.skip("Chromium is not installed: the explorer is not opened in a browser")
    driver = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=QUIET.split())
        yield browser
        browser.close()


@pytest.fixture
def browse_explorer(chromium, explorer_file):
    """Open the page (at a link, in a kind of window); at the end nothing may have complained or left the machine."""
    opened = []

    def open_page(link="", *, url=None, **window):
        window = {"viewport": {"width": 1280, "height": 900}, **window}
        context = chromium.new_context(**window)
        watched = Watched(context.new_page())
        opened.append((context, watched))
        watched.page.goto((url or explorer_file.as_uri()) + link)
        return watched.page

    yield open_page
    for context, watched in opened:
        context.close()
        assert watched.complaints == []
        assert watched.outside == []
