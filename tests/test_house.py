"""The rules of the project that a machine can check: every public name exported once, documented, with an example."""

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest
from tools.words import left_behind

import regrax

SOURCE = Path(regrax.__file__).parent
DOCS = SOURCE.parent.parent / "docs"
STUB = ast.parse(Path(regrax.__file__).with_suffix(".pyi").read_text())
IMPORTS = [
    (node.module, alias.name)
    for node in STUB.body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
]
DOORS = (None, "experiments", "show")
PACKAGES = [(home, name) for home, name in IMPORTS if home in DOORS]
PUBLIC = [(home, name) for home, name in IMPORTS if home not in DOORS]
NO_EXAMPLE = {
    "BanditLearner",
    "HostLearner",
    "Learner",
    "TrainableLearner",
    "Trajectory",
}  # abstract, or only made by others
ARGUMENTS = re.compile(r"^(?:Args|Attributes):\n((?: .*\n|\n(?= ))+)", re.M)
ARGUMENT = re.compile(r"^    (\w+(?:, \w+)*): \S", re.M)
EXTRAS = {"torch": "torch", "llm": "trl"}
MODULES = [f"{home}.{name}" if home else name for home, name in PACKAGES]
MODULES += ["experiments.paper", "show.explorer", "show.report"]
PRIVATE = re.compile(r"^\s*(?:from|import) (regrax(?:\.\w+)*?)\._\w+", re.M)


def test_typed_and_run_time_names_are_the_same():
    names = [name for _, name in IMPORTS]
    assert len(names) == len(set(names))
    assert set(dir(regrax)) - {"__version__"} == set(regrax.__all__) == set(names)
    with pytest.raises(AttributeError, match="No regrax attribute nope"):
        _ = regrax.nope


@pytest.mark.parametrize(("home", "name"), PACKAGES)
def test_every_package_of_the_front_door_opens(home, name):
    assert getattr(regrax, name) is import_module(
        f"regrax.{home}.{name}" if home else f"regrax.{name}"
    )


@pytest.mark.parametrize(("home", "name"), PUBLIC)
def test_every_exported_name_comes_from_the_door_of_its_package(home, name):
    package = import_module(f"regrax.{home}")
    assert name in package.__all__
    assert getattr(regrax, name) is getattr(package, name)


def test_packages_import_each_other_only_by_their_doors():
    for path in SOURCE.rglob("*.py"):
        own = ".".join(["regrax", *path.relative_to(SOURCE).parent.parts])
        for package in PRIVATE.findall(path.read_text()):
            assert package in ("regrax", own) or own.startswith(f"{package}."), (path, package)


def test_no_function_shadows_a_module():
    for path in SOURCE.rglob("*.py"):
        package = ".".join(["regrax", *path.relative_to(SOURCE).parent.parts])
        door = import_module(package)
        assert path.stem == "__init__" or inspect.ismodule(getattr(door, path.stem, door)), path


@pytest.mark.parametrize(("home", "name"), PUBLIC)
def test_every_public_name_has_a_docstring_with_an_example(home, name):
    doc = inspect.getdoc(getattr(regrax, name))
    assert doc
    assert ">>>" in doc or name in NO_EXAMPLE


def check_arguments(documented):
    """More than three parameters are listed, each with what it means, and before the example."""
    names = [name for name in inspect.signature(documented).parameters if name != "_"]
    if len(names) > 3:
        doc = inspect.getdoc(documented) + "\n"
        listed = ARGUMENTS.search(doc)
        assert listed, documented
        assert set(", ".join(ARGUMENT.findall(listed[1])).split(", ")) == set(names), documented
        assert doc.find(">>>") == -1 or listed.start() < doc.find(">>>"), documented


@pytest.mark.parametrize(
    "module", [m if m not in EXTRAS else pytest.param(m, marks=pytest.mark.extras) for m in [*MODULES, "torch"]]
)  # fmt: skip
def test_public_names_with_more_than_three_parameters_list_them(module):
    if module in EXTRAS:
        pytest.importorskip(EXTRAS[module], reason=f"the extra of regrax.{module} is not installed")
    package = import_module(f"regrax.{module}")
    for name in getattr(package, "__all__", dir(package)):
        public = getattr(package, name)
        own = callable(public) and getattr(public, "__module__", "").startswith("regrax")
        if own and not (isinstance(public, type) and issubclass(public, Exception)):
            check_arguments(public)


def test_every_public_name_is_in_the_docs():
    reference = (DOCS / "reference.md").read_text()
    for _, name in PUBLIC:
        assert f"`{name}`" in reference, name


def test_words_left_behind_are_in_no_name_message_page_or_test():
    assert left_behind() == []


def test_the_page_on_architecture_names_what_is_there():
    page = (DOCS / "architecture.md").read_text()
    named = re.findall(r"`([\w/]+\.py)` `([\w.]+)`", page)
    assert len(named) > 30
    for file, name in named:
        assert name in names_in(SOURCE / file), (file, name)


def names_in(file):
    """Functions, classes and methods of a module, the methods after their class and a dot."""
    found = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = [one for one in node.body if isinstance(one, ast.FunctionDef)]
            found |= {f"{node.name}.{one.name}" for one in methods}
    return found


def test_every_module_introduces_itself():
    for path in SOURCE.rglob("*.py"):
        assert ast.get_docstring(ast.parse(path.read_text())), path


def test_the_core_does_no_input_or_output():
    pure = (
        "simplex.py",
        "regret.py",
        "_checks.py",
        "sharding.py",
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
