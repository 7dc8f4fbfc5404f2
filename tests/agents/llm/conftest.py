"""Most of these tests need the extra `llm-train`; all of them meet errors as users do."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from regrax.cli import main

HERE = Path(__file__).parent
PLAIN = {"test_task.py", "test_environments.py"}
EXTRAS = sorted({file.name for file in HERE.glob("test_*.py")} - PLAIN)
NEEDED = ("torch", "transformers", "accelerate", "peft", "trl")
collect_ignore = [] if all(map(find_spec, NEEDED)) else ["models.py", *EXTRAS]


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent == HERE and item.path.name in EXTRAS:
            item.add_marker(pytest.mark.extras)


@pytest.fixture(autouse=True)
def without_type_checks(as_users_run_it):
    """Users meet the library's own errors."""


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """A folder with a tiny model that knows English letters, its tokenizer and its task."""
    import torch
    from tests.agents.llm.models import byte_pairs, tiny

    from regrax.agents.llm import save_model, scenario

    path, tokenizer = tmp_path_factory.mktemp("models") / "tiny", byte_pairs()
    save_model(path, tiny("llama", tokenizer, torch.float32), tokenizer, scenario("routes", 4))
    return path


@pytest.fixture
def one_line_error(capsys):
    """A function that runs a command which must fail, and returns its error of one line."""

    def run(*arguments):
        with pytest.raises(SystemExit, match="2"):
            main(list(arguments))
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        return said

    return run
