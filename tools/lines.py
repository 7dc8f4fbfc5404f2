"""Count lines and tokens of code: `python -m tools.lines [ROOT] [--json]`, where ROOT defaults to `src/regrax`.

Blank lines, comments and docstrings do not count. A docstring is a string that is the first statement of a module, a
class or a function; all other strings count, including those after an attribute. Lines of `.pyi` stubs and of other
text files have their own columns.
"""

import argparse
import ast
import io
import json
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("src/regrax")
COLUMNS = ("files", "lines", "tokens", "stub_lines", "data_lines")
NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def docstring_starts(source: str) -> set[tuple[int, int]]:
    """Return the positions of docstrings: (line, column in characters)."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, DOCUMENTED)]
    first = [node.body[0] for node in nodes if ast.get_docstring(node, clean=False) is not None]
    return {(statement.lineno, statement.col_offset) for statement in first}


def code_tokens(source: str) -> Iterator[tokenize.TokenInfo]:
    """Yield the tokens that count."""
    docstrings = docstring_starts(source)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NOT_CODE and token.start not in docstrings:
            yield token


def count(source: str) -> tuple[int, int]:
    """Count lines and tokens of code.

    >>> count('def f():\\n    "Docstring."\\n\\n    # comment\\n    return [\\n        1,\\n    ]\\n')
    (4, 10)
    """
    tokens = list(code_tokens(source))
    lines = {line for token in tokens for line in range(token.start[0], token.end[0] + 1)}
    return len(lines), len(tokens)


def count_file(file: Path) -> Counter[str]:
    """Count a file, in the columns of the table."""
    source = file.read_text("utf-8", "replace")
    if file.suffix not in (".py", ".pyi"):
        return Counter(data_lines=len(source.splitlines()))
    lines, tokens = count(source)
    return (
        Counter(stub_lines=lines)
        if file.suffix == ".pyi"
        else Counter(files=1, lines=lines, tokens=tokens)
    )


def by_package(root: Path = ROOT) -> dict[str, Counter[str]]:
    """Sum the counts of every folder and module directly under `root`; `total` is last."""
    packages: dict[str, Counter[str]] = {}
    for file in sorted(path for path in root.rglob("*") if path.is_file()):
        if "__pycache__" not in file.parts:
            name = file.relative_to(root).parts[0]
            packages.setdefault(name, Counter()).update(count_file(file))
    return {**packages, "total": sum(packages.values(), Counter())}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=Path, default=ROOT)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = {
        name: {column: counts[column] for column in COLUMNS}
        for name, counts in by_package(options.root).items()
    }
    if options.json:
        return print(json.dumps(rows, indent=1))
    print(f"{'':16}" + "".join(f"{column:>12}" for column in COLUMNS))
    for name, row in rows.items():
        print(f"{name:16}" + "".join(f"{number:12,}" for number in row.values()))


if __name__ == "__main__":
    main()
