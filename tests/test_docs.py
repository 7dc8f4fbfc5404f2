"""The pages: blocks that the site's build does not run, commands, links, and whether everything can be found."""

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
KINDS = ("tutorials", "how-to", "explanation", "reference")
FILES = [
    *sorted(DOCS.glob("*.md")),
    *(page for kind in KINDS for page in sorted((DOCS / kind).glob("*.md"))),
]
PAGES = {str(page.relative_to(DOCS).with_suffix("")): page.read_text() for page in FILES}
README = (ROOT / "README.md").read_text()
FENCE = re.compile(r"^```(\S+) ?(\w*)\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", re.M | re.S)
COMMAND = re.compile(r"^(?:    |!|\S*run )(?:\$ )?regrax ((?:.*\\\n)*.*)$", re.M)
ELSEWHERE = {"how-to/llm"}  # tests/agents/llm/test_documented.py runs its unmarked block
PEERS = {"gambit": "pygambit", "openspiel": "pyspiel"}

pytestmark = pytest.mark.usefixtures("as_users_run_it")


def marked_blocks():
    """A test per block that needs a library the build does not have."""
    for page, text in PAGES.items():
        for number, (kind, mark, code, output) in enumerate(FENCE.findall(text)):
            if kind == "python" and (mark or page not in ELSEWHERE):
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
    (text,) = re.findall(r"^```toml\n(.*?)^```", PAGES["how-to/sweeps"], re.M | re.S)
    assert tomllib.loads(text)["seeds"] == 3
    (tmp_path / "sweep.toml").write_text(text)
    assert len(read_sweep(tmp_path / "sweep.toml")) == 3 * 3 * 2 * 2 + 3 * 3 * 2


def test_the_sweep_page_states_the_number_of_sequences(tmp_path):
    (tmp_path / "sweep.toml").write_text('model = "linear"')
    (cell,) = read_sweep(tmp_path / "sweep.toml")
    assert f"used for evaluation ({cell.sequences:,} by default)" in PAGES["how-to/sweeps"]


def test_the_training_page_states_the_number_of_steps():
    config = rx.TrainConfig("linear", actions=3, horizon=20)
    assert f"trained for {rx.sweep.completed(config).steps} steps" in PAGES["how-to/train"]


def test_the_dynamics_page_prints_what_it_says(tmp_path):
    cells = re.findall(r"^```\{code-cell\}\n(.*?)^```", PAGES["explanation/dynamics"], re.M | re.S)
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


WISHES = """
how-to/import-export: rx.games.bimatrix(
how-to/equilibria: rx.nash_equilibria(
how-to/simulate: play.policies[0].shape
how-to/gallery: rx.plots.plot_phase(
how-to/simulate: rx.external_regret(actions, batch)
how-to/simulate: for seed in range(100)
how-to/own-learner: rx.round_robin(learners
how-to/import-export: to_latex()
how-to/gallery: rx.animate(
how-to/import-export: from_openspiel
how-to/train: pip install 'regrax[torch]'
how-to/train: regret_loss(losses=losses, logits=
how-to/train: mask=mask
how-to/simulate: exp3_ix
how-to/audit: rx.audit.Layout(
how-to/agents: agent("http://
how-to/audit: rx.compare_logs(
how-to/train: import wandb
how-to/llm: rx.llm.environment(task)
how-to/llm: rx.llm.transcript_lines(
how-to/gallery: ## In a notebook
how-to/gallery: , ax=ax)
how-to/gallery: frames=40
how-to/explorer: regrax explore --out
how-to/gallery: slide.pdf
tutorials/attention: regrax reproduce --quick --actions 2
explanation/step-size: rx.theory.step_size(
class/index: Exercise
how-to/simulate: rx.Agent(student)
explanation/dynamics: dynamics-compared.png
"""


def test_thirty_wishes_are_found_in_two_clicks():
    wishes = [wish.split(": ", 1) for wish in WISHES.strip().splitlines()]
    assert len(wishes) == 30
    notebooks = "".join(file.read_text() for file in (DOCS / "class").glob("*.ipynb"))
    for page, code in wishes:
        assert f"]({page}.md" in PAGES["index"], page
        assert code in PAGES.get(page, notebooks), (page, code)


def test_every_page_is_reachable_from_the_front_page():
    assert "docs/index.md" in README
    listed = set(re.findall(r"^[\w/-]+$", PAGES["index"], re.M)) | {"index"}
    assert set(PAGES) <= listed


def test_claims_of_the_theory_name_tests_that_exist():
    tests = "".join(file.read_text() for file in (ROOT / "tests").rglob("test_*.py"))
    footnotes = re.findall(r"^\[\^(\w+)\]: (.*(?:\n  .*)*)", PAGES["explanation/theory"], re.M)
    assert len(footnotes) > 30
    for label, text in footnotes:
        assert f"[^{label}]" in PAGES["explanation/theory"].replace(f"[^{label}]:", "")
        assert all(f"def {name}(" in tests for name in re.findall(r"`(test_\w+)`", text)), text


def test_class_notebooks_have_exercises_and_no_output():
    notebooks = sorted((DOCS / "class").glob("*.ipynb"))
    assert len(notebooks) == 3
    for file in notebooks:
        cells = json.loads(file.read_text())["cells"]
        assert sum("**Exercise" in "".join(cell["source"]) for cell in cells) >= 3
        assert not any(cell.get("outputs") for cell in cells)


def test_the_gallery_has_a_dozen_pictures():
    page = PAGES["how-to/gallery"]
    shown = re.findall(r"\{glue\}`([\w-]+)`", page)
    assert len(shown) >= 12
    assert shown == re.findall(r'^thumbnail\("([\w-]+)"', page, re.M)


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
    text, folder = (README, ROOT) if page == "README" else (PAGES[page], (DOCS / page).parent)
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", re.sub(r"```.*?```", "", text, flags=re.S)):
        made = link.startswith(("http", "api/")) or "/api/" in link
        assert made or (folder / link).exists(), link
