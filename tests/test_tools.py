"""The project's counters count what they say."""

import json
import subprocess
import sys

import jax
import jax.numpy as jnp
from tools import lines
from tools.compilations import count_compilations
from tools.journey import functions_of, record_code

MODULE = '''"""Docstring
of two lines."""

# comment
TEXT = """a string

of three lines"""


class A:
    """Docstring."""

    field: int  # comment
    """A string after an attribute counts."""

    def method(self):
        """Docstring."""
        return (
            self.field
        )
'''


def test_lines_without_docstrings_comments_and_blanks(tmp_path):
    assert lines.count(MODULE)[0] == 3 + 3 + 4
    assert lines.count("x = 1; y = 2\n") == (1, 7)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "new.py").write_text(MODULE)
    (tmp_path / "package" / "new.pyi").write_text("x: int\n")
    (tmp_path / "style.css").write_text("a {\n}\n")
    counted = lines.by_package(tmp_path)
    assert counted["package"]["lines"] == counted["total"]["lines"] == 10
    assert counted["package"]["stub_lines"] == 1
    assert counted["style.css"]["data_lines"] == 2


def test_only_new_compilations_are_counted():
    @jax.jit
    def double(x):
        return 2 * x

    inputs = [jnp.ones(3), jnp.ones(3), jnp.ones(4)]
    with count_compilations() as programs:
        for x in inputs:
            double(x)
    assert programs == {"jit(double)": 2}


def test_only_functions_that_ran_are_counted(tmp_path):
    file = tmp_path / "made.py"
    source = "class A:\n    x = 1\n\ndef f():\n    return 1\n\ndef g():\n    return 2\n\nf()\nf()\n"
    with record_code() as ran:
        exec(compile(source, str(file), "exec"), {"__name__": "made"})
    assert functions_of(tmp_path, ran) == {(str(file), "f")}


def test_a_journey_is_reported_from_a_fresh_process():
    command = [sys.executable, "-m", "tools.journey", "--json", "--", "step-size", "--help"]
    report = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert report["exit"] == 0
    assert report["compilations"] == 0
    assert report["jax"] is False
    assert 0 < report["files"] <= report["functions"]
    assert report["files"] <= report["modules"]
