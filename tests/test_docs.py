"""The pages: what the site's build does not run is run here, commands can be parsed, and everything is found."""

import contextlib
import io
import json
import re
import shlex
import tomllib
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest
from tools import jobs
from tools.links import broken_links

import regrax as rx
from regrax.cli.app import build_app
from regrax.experiments.sweep import read_sweep

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = {page.stem: page.read_text() for page in sorted(DOCS.glob("*.md"))}
README = (ROOT / "README.md").read_text()
FENCE = re.compile(r"^```(\S+) ?(\w*)\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", re.M | re.S)
COMMAND = re.compile(r"^(?:    |!|\S*run )(?:\$ )?regrax ((?:.*\\\n)*.*)$", re.M)
THIRTY = re.compile(r"^### (\d+)\. ", re.M)
ELSEWHERE = {"llm"}  # tests/agents/llm/test_documented.py runs its block
PEERS = {"gambit": "pygambit", "openspiel": "pyspiel"}

pytestmark = pytest.mark.usefixtures("as_users_run_it")


def marked_blocks():
    """A test per block that needs a library the build does not have."""
    for page, text in PAGES.items():
        for number, (kind, mark, code, output) in enumerate(FENCE.findall(text)):
            if kind == "python" and page not in ELSEWHERE:
                assert mark == "extras", f"a block of {page}.md is run by nobody: {code}"
                yield pytest.param(code, output, id=f"{page}-{number}", marks=pytest.mark.extras)


def run(code, folder):
    printed = io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        names = {"__name__": "docs"}
        exec("import jax, numpy as np, regrax as rx", names)
        exec(compile(code, "docs", "exec"), names)
    return printed.getvalue()


@pytest.mark.parametrize(("code", "output"), list(marked_blocks()))
def test_blocks_with_extras_print_what_the_page_says(code, output, tmp_path):
    try:
        printed = run(code, tmp_path)
    except ImportError as error:
        pytest.skip(str(error))
    assert not output or printed == output


@pytest.mark.extras
@pytest.mark.parametrize("file", jobs.programs(), ids=lambda file: file.stem)
def test_a_job_prints_what_its_page_shows(file):
    needs = file.stem.partition("_")[2]
    pytest.importorskip(PEERS.get(needs, needs))
    kept = json.loads((jobs.JOBS / "results.json").read_text())[file.stem]
    assert jobs.count_lines(file) == kept["lines"]
    assert jobs.run(file)[0] == kept["output"]


(FIRST_EXAMPLE,) = re.findall(r"^```python\n(.*?)^```", README, re.M | re.S)


def test_the_first_example_is_short_and_uses_real_names():
    assert sum(bool(line) for line in FIRST_EXAMPLE.splitlines()) <= 15
    for name in re.findall(r"\brx\.([\w.]+)", FIRST_EXAMPLE):
        assert attrgetter(name)(rx)


@pytest.mark.slow
def test_the_first_example_prints_what_the_readme_says(tmp_path):
    (printed,) = re.findall(r"^```text\n(.*?)^```", README, re.M | re.S)
    assert run(FIRST_EXAMPLE, tmp_path) == printed


def commands():
    for page, text in {**PAGES, "README": README}.items():
        for found in COMMAND.findall(text):
            yield pytest.param(found.replace("\\\n", " "), id=f"{page}: {found[:40]}")


@pytest.mark.parametrize("command", list(commands()))
def test_every_command_on_the_pages_can_be_parsed(command):
    tokens = shlex.split(command, comments=True)
    build_app(tokens).parse_args(tokens)


def test_the_sweep_on_its_page_can_be_read(tmp_path):
    (text,) = re.findall(r"^```toml\n(.*?)^```", PAGES["sweep"], re.M | re.S)
    assert tomllib.loads(text)["seeds"] == 3
    (tmp_path / "sweep.toml").write_text(text)
    assert len(read_sweep(tmp_path / "sweep.toml")) == 3 * 3 * 2 * 2 + 3 * 3 * 2


def test_the_sweep_page_states_the_number_of_sequences(tmp_path):
    (tmp_path / "sweep.toml").write_text('model = "linear"')
    (cell,) = read_sweep(tmp_path / "sweep.toml")
    assert f"a\nmodel is measured ({cell.sequences:,})" in PAGES["sweep"]


def test_the_training_page_states_the_number_of_steps():
    config = rx.TrainConfig("linear", actions=3, horizon=20)
    assert f"{rx.sweep.completed(config).steps} steps each" in PAGES["training"]


def test_the_dynamics_page_prints_what_it_says(tmp_path):
    cells = re.findall(r"^```\{code-cell\}\n(.*?)^```", PAGES["dynamics"], re.M | re.S)
    stays, leaves = (
        np.array(re.findall(r"(\d+) rounds: .* ([\d.]+), .* ([\d.]+)", run(cell, tmp_path)), float)
        for cell in cells
        if '"jordan"' in cell
    )
    assert (stays[:, 1] > 0.35).all()  # the Nash gap stays
    assert (np.diff(stays[:, 2]) < 0).all()  # and regret per round falls
    assert (np.diff(leaves[:, 1]) < 0).all()  # or the other way round
    assert (leaves[:, 2] > 0.99).all()


NAMED = re.compile(r"`(?:python )?([\w./-]+\.(?:py|mjs|js))(?:::\w+)?`")


@pytest.mark.parametrize("page", [*PAGES, "README"])
def test_files_named_on_a_page_exist(page):
    for name in NAMED.findall(README if page == "README" else PAGES[page]):
        folders = (ROOT, ROOT / "src" / "regrax", DOCS)
        tests = (ROOT / "tests").rglob(name)  # which some pages name without their folders
        assert any((folder / name).exists() for folder in folders) or any(tests), name


def test_the_cookbook_has_thirty_recipes_with_code():
    text = PAGES["wishes"]
    assert [int(number) for number in THIRTY.findall(text)] == list(range(1, 31))
    parts = re.split(r"^### ", text, flags=re.M)[1:]
    assert sum("```" in part or ".ipynb" in part for part in parts) == 30


def test_every_page_is_reachable_from_the_front_page():
    front = PAGES["index"]
    assert "docs/index.md" in README
    listed = set(re.findall(r"^[\w/-]+$", front, re.M)) | {"index"}
    assert set(PAGES) <= listed


def test_class_notebooks_have_exercises_and_no_output():
    notebooks = sorted((DOCS / "class").glob("*.ipynb"))
    assert len(notebooks) == 3
    for file in notebooks:
        cells = json.loads(file.read_text())["cells"]
        assert sum("**Exercise" in "".join(cell["source"]) for cell in cells) >= 3
        assert not any(cell.get("outputs") for cell in cells)


def test_the_gallery_has_a_dozen_pictures():
    assert len(re.findall(r"^## \d+\. ", PAGES["gallery"], re.M)) >= 12


def test_broken_links_are_found(tmp_path):
    page = '<a href="b.html#there">b</a><a href="#gone">c</a><script src="https://x.org/y.js"></script>'
    (tmp_path / "a.html").write_text(page)
    (tmp_path / "b.html").write_text('<p id="there"></p><a href="https://x.org">x</a>')
    wrong, count = broken_links(tmp_path)
    assert [line.partition(": ")[2] for line in wrong] == [
        "loads https://x.org/y.js",
        "links to #gone",
    ]
    assert count == 2


@pytest.mark.parametrize("page", [*PAGES, "README"])
def test_links_of_a_page_lead_to_project_files(page):
    text, folder = (README, ROOT) if page == "README" else (PAGES[page], DOCS)
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", re.sub(r"```.*?```", "", text, flags=re.S)):
        made = link.startswith(("http", "api/")) or "/api/" in link
        assert made or (folder / link).exists(), link
