"""Commands print what they printed before: keys, lengths, texts and integers exactly, floats to a tolerance.

The outputs are kept in `tests/golden`, and `python -m tests.golden.rewrite [NAME ...]` writes them anew. Those that
take seconds to trace are marked slow; `pytest tests/cli/test_golden.py` runs all.
"""

import json
import math

import pytest
from tests.golden.commands import COMMANDS, HERE, file_of, output

pytestmark = pytest.mark.usefixtures("as_users_run_it")


def differences(value, golden, command, where=""):
    """Every place where a value differs from the golden one, with both."""
    if isinstance(value, dict) and isinstance(golden, dict) and value.keys() == golden.keys():
        pairs = [(f"{where}.{key}", value[key], golden[key]) for key in golden]
    elif isinstance(value, list) and isinstance(golden, list) and len(value) == len(golden):
        pairs = [(f"{where}[{i}]", *both) for i, both in enumerate(zip(value, golden, strict=True))]
    else:
        return (
            []
            if equal_enough(value, golden, command)
            else [f"{where}: {value!r}, golden {golden!r}"]
        )
    return [line for at, one, two in pairs for line in differences(one, two, command, at)]


def equal_enough(value, golden, command):
    """Floats to the command's tolerance, anything else exactly."""
    if type(value) is float and type(golden) is float:
        return math.isclose(value, golden, rel_tol=command.relative, abs_tol=command.absolute)
    return type(value) is type(golden) and value == golden


MARKED = [
    pytest.param(name, marks=[pytest.mark.slow] if command.slow else [])
    for name, command in COMMANDS.items()
]


@pytest.mark.parametrize("name", MARKED)
def test_a_command_prints_what_it_printed_before(name, tmp_path):
    golden = json.loads(file_of(name).read_text())
    assert differences(output(COMMANDS[name], tmp_path), golden, COMMANDS[name]) == []


def test_nothing_else_is_kept_and_nothing_of_a_machine():
    files = sorted(HERE.glob("*.json"))
    assert files == sorted(file_of(name) for name in COMMANDS)
    for file in files:
        text = file.read_text()
        assert "/tmp" not in text
        assert "seconds" not in text


def test_a_difference_is_told_by_its_place():
    command = COMMANDS["play-hedge"]
    golden = {"a": [1.0, {"b": 2}], "c": "x"}
    assert differences({"a": [1.0 + 1e-12, {"b": 2}], "c": "x"}, golden, command) == []
    assert differences({"a": [1.1, {"b": 2}], "c": "x"}, golden, command) == [
        ".a[0]: 1.1, golden 1.0"
    ]
    assert differences({"c": "x", "a": golden["a"]}, golden, command) == []
    assert differences({"a": golden["a"]}, golden, command) != []
    assert differences({"a": [1.0], "c": "x"}, golden, command) != []
    assert differences(True, 1, command) != []
