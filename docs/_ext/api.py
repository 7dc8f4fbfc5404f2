"""A page per package with the docstring of every public name, read from the source without importing it.

Docstrings are Markdown, as the pages are. The build fails if a name has no page or no docstring.
"""

import logging
import re
from collections.abc import Iterator
from pathlib import Path

import griffe
from sphinx.errors import ExtensionError

SOURCE = Path(__file__).parent.parent.parent / "src"
PACKAGES = {
    "games": "Games, play, gaps, equilibria",
    "games.zoo": "The zoo of games",
    "learners": "Learners",
    "regret": "Regret",
    "simplex": "The simplex",
    "domains": "Domains",
    "theory": "Theory",
    "attention": "Attention models",
    "training": "Training",
    "checkpoints": "Checkpoints",
    "experiments": "Experiments",
    "experiments.runs": "Runs",
    "experiments.sweep": "Sweeps",
    "experiments.tournament": "Tournaments",
    "agents": "Agents",
    "agents.audit": "Audit",
    "agents.llm": "Language models",
    "paper": "The paper",
    "paper.certify": "Certificates",
    "torch": "PyTorch",
    "show.plots": "Figures",
    "show.report": "Pages",
    "show.explorer": "The explorer",
    "specs": "Specs",
    "sharding": "Sharding",
    "distributed": "Several processes",
    "": "The front door",
}
FENCE = "`" * 6
logging.getLogger("griffe").setLevel(logging.ERROR)  # that a class's arguments are its fields


def load() -> griffe.Module:
    """The package as its source says it is."""
    return griffe.load(
        "regrax", search_paths=[SOURCE], docstring_parser="google", resolve_aliases=True
    )  # pyright: ignore[reportReturnType]


def public_names(package: griffe.Module) -> list[str]:
    """Return the names that a package imports as themselves, or that a module lists in `__all__` or defines."""
    source = Path(str(package.filepath))
    stub = source.with_suffix(".pyi")
    if package.exports is not None and not stub.exists():
        return sorted(map(str, package.exports), key=str.lower)
    members = package.members.items()
    text = (stub if stub.exists() else source).read_text("utf-8")
    names = []
    for name, member in members:
        is_defined = not member.is_alias and not name.startswith("_")
        is_imported = re.search(rf"\b{name} as {name}\b", text) or _from_star(member)
        if is_imported or (is_defined and source.name != "__init__.py"):
            names.append(name)
    return sorted((n for n in names if not package[n].is_module), key=str.lower)


def _from_star(member: griffe.Object | griffe.Alias) -> bool:
    return member.is_alias and bool(member.wildcard_imported)


def entries(regrax: griffe.Module) -> dict[str, list[str]]:
    """Every public name, by the package whose page it is on; the front door has those of no other package."""
    every = {package: public_names(_module(regrax, package)) for package in PACKAGES}
    every["games"] = [name for name in every["games"] if name not in every["games.zoo"]]
    elsewhere = {name for package, names in every.items() if package for name in names}
    every[""] = [name for name in every[""] if name not in elsewhere]
    return every


def _module(regrax: griffe.Module, package: str) -> griffe.Module:
    return regrax[package] if package else regrax


def page(regrax: griffe.Module, package: str, names: list[str], front: set[str]) -> str:
    """The page of a package."""
    module = _module(regrax, package)
    head = [f"# {PACKAGES[package]}", f"`{_path(package)}`", _text(module)]
    return "\n\n".join([*head, *(_entry(module[name], package, name, front) for name in names)])


def _path(*parts: str) -> str:
    return ".".join(["regrax", *filter(None, parts)])


def _file(package: str) -> str:
    return package.replace(".", "-") or "front"


def _entry(thing: griffe.Object, package: str, name: str, front: set[str]) -> str:
    path = _path(package, name)
    also = f"Also `regrax.{name}`.\n\n" if package and name in front else ""
    if thing.is_function:
        body = (
            f"{FENCE}{{py:function}} {path}{_signature(thing)}\n\n{also}{_documented(thing, path)}"
        )
    elif thing.is_class:
        body = f"{FENCE}{{py:class}} {path}{_signature(thing)}\n\n{also}{_documented(thing, path)}"
        body += "".join(_methods(thing))
    else:
        body = f"{FENCE}{{py:data}} {path}\n\n{also}{_text(thing)}"
    return f"{body}\n{FENCE}"


def _methods(thing: griffe.Object) -> Iterator[str]:
    for name, member in thing.members.items():
        if not name.startswith("_") and not member.is_alias and member.docstring:
            kind = "method" if member.is_function else "attribute"
            signature = _signature(member) if member.is_function else ""
            yield f"\n\n```{{py:{kind}}} {name}{signature}\n{_text(member).replace('```', '~~~')}\n```"


def _signature(thing: griffe.Object) -> str:
    parts, keyword_only = [], False
    for one in _parameters(thing):
        if one.name == "self":
            continue
        if one.kind is griffe.ParameterKind.keyword_only and not keyword_only:
            keyword_only = True
            parts.append("*")
        stars = {"variadic positional": "*", "variadic keyword": "**"}.get(one.kind.value, "")
        keyword_only |= stars == "*"
        note = f": {one.annotation}" if one.annotation is not None else ""
        default = f" = {one.default}" if one.default is not None and not stars else ""
        parts.append(f"{stars}{one.name}{note}{default}")
    returns = getattr(thing, "returns", None)
    return f"({', '.join(parts)})" + (f" -> {returns}" if returns is not None else "")


def _parameters(thing: griffe.Object) -> griffe.Parameters:
    """Of a function, or of how a class is made: by its own constructor, or by a base's that it names as its own."""
    made = thing.all_members.get("__init__") if thing.is_class else None
    return thing.mro()[0].parameters if made and made.is_attribute else thing.parameters


def _documented(thing: griffe.Object, path: str) -> str:
    if thing.docstring is None:
        raise ExtensionError(f"{path} is public and has no docstring")
    return _text(thing)


def _text(thing: griffe.Object) -> str:
    """The docstring as Markdown: arguments as a list, examples fenced."""
    if thing.docstring is None:
        return ""
    parts = []
    for section in thing.docstring.parsed:
        if section.kind is griffe.DocstringSectionKind.parameters:
            parts.append(
                "\n".join(f"- **{one.name}**: {_joined(one.description)}" for one in section.value)
            )
        elif section.kind is griffe.DocstringSectionKind.text:
            parts.append(_fenced(section.value))
        else:
            parts.append(_fenced(_raw(section)))
    return "\n\n".join(parts)


def _raw(section: griffe.DocstringSection) -> str:
    if section.kind is griffe.DocstringSectionKind.examples:
        return "\n".join(text for _, text in section.value)
    if section.kind is griffe.DocstringSectionKind.admonition:
        return f"{section.title or section.value.kind.title()}: {section.value.contents}"
    return "\n".join(f"{one.name}: {one.description}" for one in section.value)


def _joined(text: str) -> str:
    return " ".join(text.split())


def _fenced(text: str) -> str:
    """Examples, `>>>` to the next empty line, as code."""
    return re.sub(r"(^>>> .*?)(?=\n\n|\Z)", r"~~~pycon\n\1\n~~~", text, flags=re.M | re.S)


def write_pages(app) -> None:
    """The pages, beside those written by hand; a file whose text is the same is left as it is."""
    regrax = load()
    front = set(public_names(regrax))
    every = entries(regrax)
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    pages = {_file(p): page(regrax, p, names, front) for p, names in every.items()}
    pages["index"] = _index(every, front)
    for name, text in pages.items():
        file = folder / f"{name}.md"
        if not file.exists() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")


def _index(every: dict[str, list[str]], front: set[str]) -> str:
    rows = [
        f"| [{PACKAGES[package]}]({_file(package)}.md) | "
        + ", ".join(f"[`{name}`](#{_path(package, name)})" for name in names if name in front)
        + f" | {len(names)} |"
        for package, names in every.items()
    ]
    text = (
        "Every public name, from its docstring. Those in the second column are also names of `regrax` itself: "
        "`rx.play` is `regrax.games.play`.\n[The reference](../reference.md) says in a line each what they are."
    )
    tree = "\n".join(map(_file, every))
    table = "\n".join(["| package | in `regrax` | names |", "|---|---|---|", *rows])
    return f"# API\n\n{text}\n\n{table}\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n"


def setup(app):
    """Pages are written before Sphinx looks for sources."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
