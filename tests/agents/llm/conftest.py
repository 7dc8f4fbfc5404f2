"""Most of these tests need the extra `llm-train`; all of them meet errors as users do."""

from importlib.util import find_spec
from pathlib import Path

import pytest

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
