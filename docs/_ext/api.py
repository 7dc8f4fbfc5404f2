"""A page per package with the docstring of every public name, read from the source without importing it.

Docstrings are Markdown, as the pages are. The build fails if a name has no page or no docstring.
"""

import ast
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
    "": "Top-level names",
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
    """Every public name, by the package whose page it is on; the top level has those of no other package."""
    every = {package: public_names(_module(regrax, package)) for package in PACKAGES}
    every["games"] = [name for name in every["games"] if name not in every["games.zoo"]]
    elsewhere = {name for package, names in every.items() if package for name in names}
    every[""] = [name for name in every[""] if name not in elsewhere]
    return every


def _module(regrax: griffe.Module, package: str) -> griffe.Module:
    return regrax[package] if package else regrax


def page(regrax: griffe.Module, package: str, names: list[str], front: dict[str, str]) -> str:
    """The page of a package."""
    module = _module(regrax, package)
    head = [f"# {PACKAGES[package]}", f"`{_path(package)}`", _text(module)]
    return "\n\n".join([*head, *(_entry(module[name], package, name, front) for name in names)])


def front_names(regrax: griffe.Module) -> dict[str, str]:
    """Map the object behind each name of `regrax` to that name."""
    return {regrax[name].canonical_path: name for name in public_names(regrax)}


def _path(*parts: str) -> str:
    return ".".join(["regrax", *filter(None, parts)])


def _file(package: str) -> str:
    return package.replace(".", "-") or "front"


def _entry(thing: griffe.Object, package: str, name: str, front: dict[str, str]) -> str:
    path = _path(package, name)
    alias = front.get(thing.canonical_path)
    also = f"Also `regrax.{alias}`.\n\n" if package and alias else ""
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
    if thing.is_class:
        return _constructor(thing)
    returns = "" if thing.returns is None else f" -> {thing.returns}"
    return f"({_arguments(thing.parameters)}){returns}"


def _arguments(parameters: griffe.Parameters) -> str:
    texts = []
    only_keywords = False
    for parameter in parameters:
        if parameter.name == "self":
            continue
        if parameter.kind is griffe.ParameterKind.keyword_only and not only_keywords:
            only_keywords = True
            texts.append("*")
        stars = {"variadic positional": "*", "variadic keyword": "**"}.get(parameter.kind.value, "")
        only_keywords |= stars == "*"
        default = "" if stars else parameter.default
        texts.append(stars + _argument(parameter.name, parameter.annotation, default))
    return ", ".join(texts)


def _argument(name: str, annotation: object, default: object) -> str:
    note = f": {annotation}" if annotation is not None else ""
    return f"{name}{note} = {default}" if default else f"{name}{note}"


def _constructor(thing: griffe.Class) -> str:
    """Return the signature of a class: of its `__init__` or its base's, otherwise its fields in order.

    Abstract classes and exceptions have none.
    """
    family = [thing, *thing.mro()]
    for owner in family:
        made = owner.members.get("__init__")
        if made is not None and made.is_function:
            return f"({_arguments(made.parameters)})"
    if any(str(base).endswith("Error") for base in thing.bases):
        return ""
    fields = {}
    for owner in reversed(family):
        for name, member in owner.members.items():
            if member.is_attribute and _is_field(member):
                fields[name] = _argument(name, member.annotation, _default(member.value))
    has_abstract_methods = any(
        "abstractmethod" in member.labels for member in thing.members.values() if member.is_function
    )
    return "" if has_abstract_methods else f"({', '.join(fields.values())})"


def _is_field(member: griffe.Attribute) -> bool:
    """True unless a class attribute is shared by all instances, computed, or set by the class itself."""
    is_shared = "instance-attribute" not in member.labels or str(member.annotation) == "ClassVar"
    return not is_shared and "init=False" not in str(member.value)


def _default(value: object) -> str:
    """Return the default of a field: its value, or the argument `default` of a call such as `field(...)`."""
    text = "" if value is None else str(value)
    if not re.match(r"[\w.]*(field|_option|_static)\(", text):
        return text
    call = ast.parse(text, mode="eval").body
    given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    if "default_factory" in given:
        return f"{given['default_factory']}()"
    return given.get("default", "" if given else "...")


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
    front = front_names(regrax)
    every = entries(regrax)
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    pages = {_file(p): page(regrax, p, names, front) for p, names in every.items()}
    pages["index"] = _index(regrax, every, front)
    for name, text in pages.items():
        file = folder / f"{name}.md"
        if not file.exists() or file.read_text("utf-8") != text:
            file.write_text(text, "utf-8")


def _index(regrax: griffe.Module, every: dict[str, list[str]], front: dict[str, str]) -> str:
    rows = []
    for package, names in every.items():
        module = _module(regrax, package)
        top = [name for name in names if module[name].canonical_path in front]
        links = ", ".join(f"[`{name}`](#{_path(package, name)})" for name in top)
        rows.append(f"| [{PACKAGES[package]}]({_file(package)}.md) | {links} | {len(names)} |")
    text = (
        "This is the reference of every public name. The names in the second column can also be imported from "
        "`regrax` itself. For example, `rx.play` is `regrax.games.play`."
    )
    tree = "\n".join(map(_file, every))
    table = "\n".join(["| package | in `regrax` | names |", "|---|---|---|", *rows])
    return f"# API\n\n{text}\n\n{table}\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n"


def setup(app):
    """Pages are written before Sphinx looks for sources."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
