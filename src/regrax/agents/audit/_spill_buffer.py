"""Numbers kept in bounded memory: what does not fit goes to an unnamed temporary file and is read back in pieces."""

import tempfile
import weakref
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

MAX_MEMORY_BYTES = 1 << 23  # bytes in memory before they are written out

Group = tuple[str, str]  # agent, episode


class SpillBuffer:
    """Rows of numbers by group, in the order they were added.

    >>> buffer = SpillBuffer(held=64)
    >>> for row in range(5):
    ...     buffer.add(("a", "0"), np.full((1, 4), float(row)))
    >>> buffer.rows(("a", "0")), [piece[:, 0].tolist() for piece in buffer.pieces(("a", "0"), 2)]
    (5, [[0.0, 1.0], [2.0, 3.0], [4.0]])
    """

    def __init__(self, held: int = MAX_MEMORY_BYTES) -> None:
        self._limit, self._bytes = held, 0
        self._held: dict[Group, list[np.ndarray]] = {}
        self._written: dict[Group, list[tuple[int, int, int]]] = {}  # where, rows, numbers in each
        self._rows: dict[Group, int] = {}
        self._file = tempfile.SpooledTemporaryFile(1)  # noqa: SIM115 - on disk once it holds a byte
        weakref.finalize(self, self._file.close)

    def rows(self, group: Group) -> int:
        """How many rows a group has."""
        return self._rows[group]

    def add(self, group: Group, block: Float[np.ndarray, "n k"]) -> None:
        """Append rows to a group."""
        self._held.setdefault(group, []).append(block)
        self._rows[group] = self._rows.get(group, 0) + len(block)
        self._bytes += block.nbytes
        if self._bytes > self._limit:
            self._spill()

    def pieces(self, group: Group, most: int) -> Iterator[Float[np.ndarray, "n k"]]:
        """The rows of a group, `most` at a time (fewer in the last piece)."""
        waiting: list[np.ndarray] = []
        ready = 0
        for block in self._blocks(group, most):
            waiting.append(block)
            ready += len(block)
            while ready >= most:
                joined = np.concatenate(waiting)
                yield joined[:most]
                waiting, ready = [joined[most:]], ready - most
        if ready:
            yield np.concatenate(waiting)

    def _blocks(self, group: Group, most: int) -> Iterator[np.ndarray]:
        for place, rows, width in self._written.get(group, ()):
            for start in range(0, rows, most):
                self._file.seek(place + 8 * width * start)
                data = self._file.read(8 * width * min(most, rows - start))
                yield np.frombuffer(data).reshape(-1, width)
        yield from self._held.get(group, ())

    def _spill(self) -> None:
        place = self._file.seek(0, 2)
        for group, blocks in self._held.items():
            rows = np.concatenate(blocks)
            self._file.write(rows.data)
            self._written.setdefault(group, []).append((place, *rows.shape))
            place += rows.nbytes
        self._held, self._bytes = {}, 0
