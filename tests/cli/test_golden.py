"""Commands print what they printed before: keys, lengths, texts and integers exactly, floats to a tolerance.

Where actions are drawn at random any finite float will do; tests/test_against_numpy.py compares distributions.

The outputs are in `tests/golden`; `python -m tests.golden.rewrite [NAME ...]` writes them again. Commands that take
seconds to compile are marked slow.
"""

import json

import pytest
from tests.golden.commands import COMMANDS, HERE, file_of, output

pytestmark = pytest.mark.usefixtures("as_users_run_it")


def assert_alike(value, golden, command, where=""):
    """Compare nested lists and dictionaries; a failure names the place."""
    assert type(value) is type(golden), where
    if isinstance(golden, dict):
        assert value.keys() == golden.keys(), where
        for key in golden:
            assert_alike(value[key], golden[key], command, f"{where}.{key}")
    elif isinstance(golden, list):
        assert len(value) == len(golden), where
        for index, (mine, other) in enumerate(zip(value, golden, strict=True)):
            assert_alike(mine, other, command, f"{where}[{index}]")
    elif isinstance(golden, float):
        assert value == pytest.approx(golden, rel=command.relative, abs=command.absolute), where
    else:
        assert value == golden, where


MARKED = [
    pytest.param(name, marks=[pytest.mark.slow] if command.slow else [])
    for name, command in COMMANDS.items()
]


@pytest.mark.parametrize("name", MARKED)
def test_a_command_prints_what_it_printed_before(name, tmp_path):
    golden = json.loads(file_of(name).read_text())
    assert_alike(output(COMMANDS[name], tmp_path), golden, COMMANDS[name])


def test_every_golden_file_belongs_to_a_command():
    assert sorted(HERE.glob("*.json")) == sorted(file_of(name) for name in COMMANDS)
