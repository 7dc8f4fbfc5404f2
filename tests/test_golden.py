"""Commands print what they printed before: keys, lengths, texts and integers exactly, floats to a tolerance.

The outputs are kept in `tests/golden`, and `python -m tests.golden.rewrite [NAME ...]` writes them anew. Those that
take seconds to trace are marked slow; `pytest tests/test_golden.py` runs all.
"""

import json
import math

import pytest
from tests.golden.commands import COMMANDS, HERE, file_of, output

pytestmark = pytest.mark.usefixtures("as_users_run_it")


def differences(value, kept, command, where=""):
    """Every place where a value differs from the one that is kept, with both."""
    if isinstance(value, dict) and isinstance(kept, dict) and value.keys() == kept.keys():
        pairs = [(f"{where}.{key}", value[key], kept[key]) for key in kept]
    elif isinstance(value, list) and isinstance(kept, list) and len(value) == len(kept):
        pairs = [(f"{where}[{i}]", *both) for i, both in enumerate(zip(value, kept, strict=True))]
    else:
        return [] if alike(value, kept, command) else [f"{where}: {value!r}, kept {kept!r}"]
    return [line for at, one, two in pairs for line in differences(one, two, command, at)]


def alike(value, kept, command):
    """Floats to the command's tolerance, anything else exactly."""
    if type(value) is float and type(kept) is float:
        return math.isclose(value, kept, rel_tol=command.relative, abs_tol=command.absolute)
    return type(value) is type(kept) and value == kept


MARKED = [
    pytest.param(name, marks=[pytest.mark.slow] if command.slow else [])
    for name, command in COMMANDS.items()
]


@pytest.mark.parametrize("name", MARKED)
def test_a_command_prints_what_it_printed_before(name, tmp_path):
    kept = json.loads(file_of(name).read_text())
    assert differences(output(COMMANDS[name], tmp_path), kept, COMMANDS[name]) == []


def test_nothing_else_is_kept_and_nothing_of_a_machine():
    files = sorted(HERE.glob("*.json"))
    assert files == sorted(file_of(name) for name in COMMANDS)
    for file in files:
        text = file.read_text()
        assert "/tmp" not in text
        assert "seconds" not in text


def test_a_difference_is_told_by_its_place():
    command = COMMANDS["play-hedge"]
    kept = {"a": [1.0, {"b": 2}], "c": "x"}
    assert differences({"a": [1.0 + 1e-12, {"b": 2}], "c": "x"}, kept, command) == []
    assert differences({"a": [1.1, {"b": 2}], "c": "x"}, kept, command) == [".a[0]: 1.1, kept 1.0"]
    assert differences({"c": "x", "a": kept["a"]}, kept, command) == []
    assert differences({"a": kept["a"]}, kept, command) != []
    assert differences({"a": [1.0], "c": "x"}, kept, command) != []
    assert differences(True, 1, command) != []
