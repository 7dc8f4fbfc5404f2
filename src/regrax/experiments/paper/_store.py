"""Results on disk: each finished piece is written at once, aside and renamed, under a name that its settings decide.

A piece is found again only if its settings are the same, so a repeated run does what is missing or has changed.
"""

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from regrax._atomic_write import write_whole


class Store:
    """A folder of finished pieces.

    >>> import tempfile
    >>> store = Store(Path(tempfile.mkdtemp()))
    >>> store.piece("square", {"x": 3}, lambda: 9)["numbers"]
    9
    >>> store.piece("square", {"x": 3}, lambda: "not computed again")["numbers"]
    9
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def piece(
        self, name: str, settings: dict[str, Any], compute: Callable[[], Any]
    ) -> dict[str, Any]:
        """A piece with its `settings`, `numbers` and `seconds`: read, or computed and kept."""
        path = self.path(name, settings, ".json")
        if not path.exists():
            start = time.perf_counter()
            numbers = compute()
            piece = {
                "settings": settings,
                "numbers": numbers,
                "seconds": time.perf_counter() - start,
            }
            write_whole(path, json.dumps(piece, allow_nan=False).encode())
        return json.loads(path.read_text())

    def path(self, name: str, settings: dict[str, Any], suffix: str) -> Path:
        """Where a piece with these settings is kept."""
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]
        return self.folder / f"{name}-{digest}{suffix}"
