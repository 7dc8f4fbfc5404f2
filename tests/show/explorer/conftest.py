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
    contexts, complaints, asked = [], [], []

    def open_page(link="", *, url=None, **window):
        contexts.append(
            chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **window})
        )
        opened = contexts[-1].new_page()
        opened.on("console", lambda message: complaints.append(message.text))
        opened.on("pageerror", lambda error: complaints.append(str(error)))
        opened.on("request", lambda request: asked.append(request.url))
        opened.goto((url or explorer_file.as_uri()) + link)
        return opened

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    here = ("file:", "data:", "blob:", "http://127.0.0.1:", "about:")
    assert [url for url in asked if not url.startswith(here)] == []


@pytest.fixture
def opened(browse_explorer):
    """The page as it opens from disk."""
    return browse_explorer()
