"""The house rules that a machine can check: every public name exported once, documented, with an example."""

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest

import regrax

SOURCE = Path(regrax.__file__).parent
DOCS = SOURCE.parent.parent / "docs"
PUBLIC = [(room, name) for room, names in regrax._EXPORTS.items() for name in names]
NO_EXAMPLE = {"Learner", "Model", "Trajectory"}  # abstract, or only made by others


def test_every_exported_name_is_where_it_says():
    for room, name in PUBLIC:
        assert getattr(regrax, name) is getattr(import_module(f"regrax.{room}"), name)
    assert set(regrax.__all__) <= set(dir(regrax))
    with pytest.raises(AttributeError, match="has no attribute 'nope'"):
        _ = regrax.nope


def test_no_name_is_exported_twice():
    names = [name for _, name in PUBLIC]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("room", sorted(regrax._EXPORTS))
def test_exports_come_from_the_rooms_own_list(room):
    assert set(regrax._EXPORTS[room]) <= set(import_module(f"regrax.{room}").__all__)


@pytest.mark.parametrize(("room", "name"), PUBLIC)
def test_every_public_name_has_a_docstring_with_an_example(room, name):
    doc = inspect.getdoc(getattr(regrax, name))
    assert doc
    assert ">>>" in doc or name in NO_EXAMPLE


def test_every_public_name_is_in_the_docs():
    reference = (DOCS / "reference.md").read_text()
    for _, name in PUBLIC:
        assert f"`{name}`" in reference, name


def test_every_module_introduces_itself():
    for path in SOURCE.rglob("*.py"):
        assert ast.get_docstring(ast.parse(path.read_text())), path


def test_core_rooms_do_no_input_or_output():
    pure = (
        "simplex.py",
        "regret.py",
        "checks.py",
        "devices.py",
        "learners",
        "games",
        "theory",
        "attention",
        "training",
        "certify",
    )
    for path in SOURCE.rglob("*.py"):
        if path.relative_to(SOURCE).parts[0] in pure:
            calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
            names = {n.func.id for n in calls if isinstance(n.func, ast.Name)}
            assert not names & {"print", "open", "input"}, path
