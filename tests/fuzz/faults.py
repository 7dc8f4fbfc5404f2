"""Faults seeded into readers: every guard that is written in them, switched off one at a time.

A guard is an `if` that raises, fails or gives a reason; an `except` that turns an error into a refusal; and a call of
`checks`. A fault is planted by giving the function that holds the guard other code, and taken out by giving it its own.
"""

import ast
import contextlib
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

NEVER = "ZeroDivisionError"  # raised by no reader


class Fault(NamedTuple):
    """A guard that is switched off."""

    module: str
    function: str  # qualified name
    line: int
    guard: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line} in {self.function}, {self.guard}"


def faults_of(module: str) -> list[Fault]:
    """A fault per guard in the functions of a module."""
    found = []
    for name, node in _functions(_tree(module)):
        for inner in ast.walk(node):
            if guard := _guard(inner):
                found.append(Fault(module, name, inner.lineno, guard))
    return found


@contextlib.contextmanager
def planted(fault: Fault) -> Iterator[None]:
    """The program with the fault."""
    tree = _tree(fault.module)
    for node in ast.walk(tree):
        if getattr(node, "lineno", 0) == fault.line and _guard(node) == fault.guard:
            _switch_off(node)
    file = import_module(fault.module).__file__ or ""
    code = _code(compile(ast.fix_missing_locations(tree), file, "exec"), fault.function)
    function = _function(fault)
    forget = getattr(_named(fault), "cache_clear", lambda: None)
    own, function.__code__ = function.__code__, code
    try:
        forget()
        yield
    finally:
        function.__code__ = own
        forget()


def _tree(module: str) -> ast.Module:
    return ast.parse(Path(import_module(module).__file__ or "").read_text())


def _functions(node: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The outermost functions and methods with their qualified names."""
    for inner in node.body:
        if isinstance(inner, ast.FunctionDef):
            yield prefix + inner.name, inner
        elif isinstance(inner, ast.ClassDef):
            yield from _functions(inner, f"{prefix}{inner.name}.")


def _guard(node: Any) -> str | None:
    """What a guard looks for, if this is one."""
    match node:
        case ast.If(test=test, body=[*_, ast.Raise()]):
            return f"if {ast.unparse(test)}"
        case ast.If(test=test, body=[*_, ast.Expr(ast.Call(func=ast.Attribute(attr="fail")))]):
            return f"if {ast.unparse(test)}"
        case ast.If(test=test, body=[*_, ast.Return(ast.JoinedStr() | ast.Constant())]):
            return f"if {ast.unparse(test)}"
        case ast.ExceptHandler(type=ast.expr() as caught):
            return f"except {ast.unparse(caught)}"
        case ast.Expr(ast.Call(func=ast.Attribute(value=ast.Name(id="checks"), attr=name))):
            # `instance` is about the type of an argument, which no file decides: test_bad_input.py
            return None if name == "instance" else ast.unparse(node)
    return None


def _switch_off(node: Any) -> None:
    match node:
        case ast.If():
            node.test = ast.Constant(False)
        case ast.ExceptHandler():
            node.type = ast.Name(NEVER, ast.Load())
        case ast.Expr():
            node.value = ast.Constant(None)


def _code(outer: CodeType, name: str) -> CodeType:
    """The code of a function inside of that of its module."""
    inside = [const for const in outer.co_consts if isinstance(const, CodeType)]
    for code in inside:
        if code.co_qualname == name:
            return code
        if name.startswith(f"{code.co_qualname}."):
            return _code(code, name)
    raise LookupError(name)


def _named(fault: Fault) -> Any:
    """What is called by the function's name, its decorators around it."""
    found: Any = import_module(fault.module)
    for part in fault.function.split("."):
        found = vars(found)[part]
        found = getattr(found, "fget", None) or getattr(found, "__func__", found)
    return found


def _function(fault: Fault) -> Any:
    """The function itself, beneath its decorators."""
    return inspect.unwrap(_named(fault))
