"""One self-contained page from its modules: no bundler, no network, and a policy that lets nothing else run.

Every module of `web/src` becomes a function that returns what it exports, in the order in which they import
each other; style sheet and script are named in the page's content security policy by their hashes.
"""

import base64
import hashlib
import html
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from regrax.games import Game
from regrax.show.explorer._zoo import described, fits, zoo_games

ROOT = Path(__file__).parent / "web" / "src"
ENTRY = ROOT / "page" / "main.js"
MAX_PAGE_BYTES = 700_000

_IMPORT = re.compile(r'^import\s*\{([^}]*)\}\s*from\s*"(\.[^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const) (\w+))", re.MULTILINE)


def page(game: Game | None = None) -> str:
    """The whole page as text; `game` is what it opens with.

    >>> text = page()
    >>> text.startswith("<!doctype html>") and len(text) < MAX_PAGE_BYTES
    True
    """
    if game is not None and not fits(game):
        raise ValueError(
            f"the page takes games of 2 or 3 players with at most 6 actions each, got {game} of sizes {game.sizes}"
        )
    template, style = ((ROOT / "page" / name).read_text() for name in ("index.html", "style.css"))
    data = {"zoo": _zoo(), "game": None if game is None else described(game)}
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    parts = {"POLICY": _policy(style, bundle()), "STYLE": style, "SCRIPT": bundle()}
    parts["DATA"] = text.replace("<", "\\u003c")  # so that it cannot end its element
    return re.sub(r"\s*%%([A-Z]+)%%\s*", lambda match: parts[match[1]], template)


@cache
def _zoo() -> list[dict[str, Any]]:
    return [described(game) for game in zoo_games()]


def _policy(style: str, script: str) -> str:
    """Only this script and this style sheet; pictures made in the page; no connection anywhere."""
    hashed = f"script-src {_hash(script)}; style-src {_hash(style)}"
    rest = "img-src data: blob:; base-uri 'none'; form-action 'none'"
    return html.escape(f"default-src 'none'; {hashed}; {rest}")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def bundle() -> str:
    """All modules as one script, those that others import first.

    >>> "import " in bundle().split("(() => {")[0]
    False
    """
    ordered: dict[Path, str] = {}
    _visit(ENTRY, ordered, ())
    return '"use strict";\n' + "".join(ordered.values())


def _visit(path: Path, ordered: dict[Path, str], within: tuple[Path, ...]) -> None:
    if path in within:
        raise ValueError(f"modules must not import each other in a circle, got {path.name}")
    if path in ordered:
        return
    text = path.read_text()
    for _, where in _IMPORT.findall(text):
        _visit((path.parent / where).resolve(), ordered, (*within, path))
    ordered[path] = _wrapped(path, text)


def _wrapped(path: Path, text: str) -> str:
    """A module as a function: what it imports are constants, what it exports is returned."""

    def constants(match: re.Match[str]) -> str:
        names = " ".join(match[1].split()).replace(" as ", ": ").rstrip(",")
        return f"const {{ {names} }} = {_variable((path.parent / match[2]).resolve())};\n"

    exports = ", ".join(_EXPORT.findall(text))
    body = _EXPORT.sub("", _IMPORT.sub(constants, text))
    if re.search(r"^(?:import|export)\b", body, re.MULTILINE):
        raise ValueError(f"{path.name} must import and export by name, one statement per line")
    return f"const {_variable(path)} = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();\n"


def _variable(path: Path) -> str:
    """The constant that holds a module: `kernel_games`."""
    return f"{path.parent.name}_{path.stem}".replace("-", "_")
