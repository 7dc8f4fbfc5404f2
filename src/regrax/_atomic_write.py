"""Files written whole or not at all: to a temporary name beside the target, then renamed."""

import os
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write `data` to `path`; a reader sees the old file or the new one, never a part.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "numbers.json"
    >>> write_whole(target, b"{}")
    >>> target.read_bytes()
    b'{}'
    """
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with aside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)
