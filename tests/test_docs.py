"""The code of the docs runs: every block of these pages, section by section, in an empty folder."""

import builtins
import re
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest

import regrax as rx
from regrax.cli import main

DOCS = Path(__file__).parent.parent / "docs"
PAGES = ("wishes", "dynamics", "step-size")
BLOCK = re.compile(r"^```(python|sh) ?(\w*)\n(.*?)^```", re.M | re.S)
THIRTY = re.compile(r"^### (\d+)\. ", re.M)

pytestmark = pytest.mark.usefixtures("as_users_run_it")


def sections():
    """A test per section and mark: the blocks of a section share a folder."""
    for page in PAGES:
        for section in re.split(r"^(?=#+ )", (DOCS / f"{page}.md").read_text(), flags=re.M):
            blocks, title = BLOCK.findall(section), section.splitlines()[:1]
            for mark in dict.fromkeys(mark for _, mark, _ in blocks):
                chosen = [(kind, code) for kind, own, code in blocks if own == mark]
                marks = [getattr(pytest.mark, mark)] if mark else []
                yield pytest.param(chosen, id=f"{page}: {title[0].strip('# ')}", marks=marks)


@pytest.mark.parametrize("blocks", list(sections()))
def test_the_blocks_of_a_section_run(blocks, tmp_path, monkeypatch, request):
    logged = []
    if any("wandb" in code for _, code in blocks):  # a service elsewhere: what it is told is kept
        log = SimpleNamespace(init=lambda **_: None, log=lambda row, step: logged.append(step))
        monkeypatch.setitem(sys.modules, "wandb", log)
    monkeypatch.setattr(builtins, "input", lambda _: "rock")
    monkeypatch.chdir(tmp_path)
    for kind, code in blocks:
        try:
            (run_python if kind == "python" else run_commands)(code)
        except ImportError as error:
            if not request.node.get_closest_marker("extras"):
                raise
            pytest.skip(str(error))
    assert logged == ([10, 20, 30, 40] if "wandb" in str(blocks) else [])


def run_python(code):
    exec(compile(code, "docs", "exec"), {"rx": rx, "np": np, "jax": jax, "__name__": "docs"})


def run_commands(code):
    for line in code.splitlines():
        command, *arguments = shlex.split(line)
        assert command == "regrax"
        main(arguments)


def test_the_thirty_are_all_there_and_few_wait():
    text = (DOCS / "wishes.md").read_text()
    assert [int(number) for number in THIRTY.findall(text)] == list(range(1, 31))
    parts = re.split(r"^### ", text, flags=re.M)[1:]
    assert sum(bool(BLOCK.search(part)) for part in parts) >= 27


def test_the_pages_are_two_clicks_from_the_first():
    first = (DOCS.parent / "README.md").read_text()
    for page in PAGES:
        assert f"docs/{page}.md" in first or f"({page}.md)" in (DOCS / "wishes.md").read_text()


def test_the_pictures_of_the_pages_are_there():
    for page in PAGES:
        for link in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", (DOCS / f"{page}.md").read_text()):
            assert (DOCS / link).is_file(), link
