"""Words left behind, and where they still are: `python -m tools.words [ROOT]`; ends with 1 if there are any.

Searched are the texts and names that others read: in modules every name that is public (functions, classes, parameters,
fields, constants) and every string (messages, docstrings), in tests the same, on pages and in scripts everything. The
code once had words of its own; those of the field stand beside them.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROSE = {
    r"whole numbers?": "integer",
    r"heard": "callback, on_round, on_progress",
    r"came(?! from)": "got",
    r"but (?:is|are|came|got|has none)": "got",
    r"what came": "got",
    r"nearest is": "did you mean",
    r"no \w+ is named": "unknown",
    r"(?:regret|loss|payoff|once|rounds|operations|ms|bytes|\d) an? (?:round|step|second|seed|episode)(?! of)": "per",
    r"an? (?:line|row|key|file|curve|point|bar) an? \w+": "per",
    r"rivals?": "baseline",
    r"spools?": "spill buffer",
    r"(?:order of|the \w+) rooms?": "package, layer",
}
NAMES = {
    r"(?:found|kept|told|heard|came|aim|fresh|made_objective)": "what it is",
    r"(?:LARGEST|SMALL|MANY|FEW|SHOWN|LONGEST|MOST|KEPT|HELD|BIG)": "unit and meaning, as in MAX_LP_ENTRIES",
    r"(?:Correlated|nearest|Model|Training|h)": "CorrelatedProfile, nearest_equilibrium, TrainableLearner, surrogate",
    r"(?:plays_on|policies_of|rivals?|spool|surroundings|recipes|making|robin|beyond|compiling)": "see the changelog",
}
READ = ("src/**/*.py", "src/**/*.js", "tests/**/*.py", "docs/*.md", "examples/*.py", "*.md")
SKIPPED = {"CHANGELOG.md", "words.py"}  # these name the old words to say what became of them
PROSE_WORDS = re.compile("|".join(rf"\b{one}\b" for one in PROSE), re.I)
NAME_WORDS = re.compile("|".join(NAMES))
Hit = tuple[str, int, str]


def names_of(nodes: list[ast.AST]) -> Iterator[tuple[str, int]]:
    """The names that a module gives to what others use: not those of local variables."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield from ((arg.arg, arg.lineno) for arg in [*node.args.args, *node.args.kwonlyargs])
        body = node.body if isinstance(node, ast.Module | ast.ClassDef) else []
        for one in body:
            targets = one.targets if isinstance(one, ast.Assign) else []
            targets = [one.target] if isinstance(one, ast.AnnAssign) else targets
            yield from ((t.id, t.lineno) for t in targets if isinstance(t, ast.Name))


def strings_of(nodes: list[ast.AST]) -> Iterator[tuple[str, int]]:
    """Every string: messages, docstrings, labels."""
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, node.lineno
        if isinstance(node, ast.JoinedStr):  # a number stands for what is filled in
            parts = [p.value if isinstance(p, ast.Constant) else "0" for p in node.values]
            yield "".join(map(str, parts)), node.lineno


def hits_of(path: Path) -> Iterator[Hit]:
    """Where a file still uses a word that was left behind.

    >>> import tempfile
    >>> page = Path(tempfile.mkdtemp()) / "page.md"
    >>> _ = page.write_text("Rounds must be a whole number.")
    >>> [(line, word) for _, line, word in hits_of(page)]
    [(1, 'whole number')]
    """
    source = path.read_text()
    if path.suffix != ".py":
        texts = [(line, number) for number, line in enumerate(source.split("\n"), 1)]
    else:
        nodes = list(ast.walk(ast.parse(source)))
        names = list(names_of(nodes))
        yield from ((str(path), line, name) for name, line in names if NAME_WORDS.fullmatch(name))
        texts = [*strings_of(nodes), *((name.replace("_", " "), line) for name, line in names)]
    for text, line in texts:
        for word in PROSE_WORDS.finditer(text):
            yield str(path), line + text[: word.start()].count("\n"), word[0]


def left_behind(root: Path = ROOT) -> list[Hit]:
    """Every use in the tree."""
    files = [path for pattern in READ for path in sorted(root.glob(pattern))]
    return [hit for path in files if path.name not in SKIPPED for hit in hits_of(path)]


if __name__ == "__main__":
    hits = left_behind(Path(sys.argv[1]) if sys.argv[1:] else ROOT)
    for file, line, word in hits:
        print(f"{file}:{line}: {word}")
    sys.exit(bool(hits))
