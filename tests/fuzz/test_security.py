"""Every promise of SECURITY.md names a test that exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMED = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", (ROOT / "SECURITY.md").read_text())


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_a_documented_promise_names_its_test(file, test):
    assert f"def {test}(" in (ROOT / file).read_text() if test else (ROOT / file).exists()
    assert len(NAMED) >= 8
