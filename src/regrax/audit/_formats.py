r"""Files to rows: JSON lines, CSV and Parquet, read a few thousand rows at a time.

A row is a `regrax.audit._rows.Row`, decoded by msgspec; a row that cannot be read is, in its place, the reason why. In
CSV the numbers of every action are columns `losses.rock`, `losses.paper`, ..., or one column `losses` of JSON lists; an
empty cell is a field that is not there.
"""

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path
from typing import IO, Any

import msgspec

from regrax.audit._layout import Layout
from regrax.audit._rows import VECTORS, Row, reason, typed
from regrax.audit._text import short

ROWS_PER_CHUNK = 4096  # held as Python objects at once
MAX_LINE_BYTES = 1 << 20
MAX_CHUNK_BYTES = 1 << 26
MAX_RECORD_BYTES = 1 << 24  # of a line that holds a whole episode

DECODER = msgspec.json.Decoder(Row)
Numbered = tuple[int, Row | str]
Record = tuple[int, Any]
"""A line's number, and its row, its parsed value, or why it has none."""


def read_rows(path: Path, layout: Layout | None = None) -> Iterator[tuple[list[Numbered], float]]:
    """The rows of a log with their line numbers, in chunks, and the share of the file that is read.

    The file's ending says how it is read, and a layout what its records are.

    >>> import tempfile
    >>> log = Path(tempfile.mkdtemp()) / "log.jsonl"
    >>> _ = log.write_text('{"round": 1}\\nnonsense\\n')
    >>> [(line, row if isinstance(row, str) else row.round) for line, row in next(read_rows(log))[0]]
    [(1, 1), (2, 'not JSON: Expecting value at character 1')]
    """
    kind = path.suffix.lower()
    if kind not in READERS:
        known = ", ".join(READERS)
        raise ValueError(f"a log must end in {known}, got {path.name}")
    with path.open("rb") as file:
        reader, size = READERS[kind], path.stat().st_size or 1
        if layout is not None and reader is _json_rows:
            reader = _json_records
        records = reader(file)
        rows = (_typed(one) for one in records) if layout is None else _unfolded(records, layout)
        while chunk := list(_chunk(rows, file)):
            yield chunk, min(file.tell() / size, 1.0)


def _chunk(rows: Iterator[Numbered], file: IO[bytes]) -> Iterator[Numbered]:
    """The next rows: as many as are held at once, fewer if their lines are long."""
    start = file.tell()
    for number, row in enumerate(islice(rows, ROWS_PER_CHUNK), 1):
        yield row
        if number % 16 == 0 and file.tell() - start > MAX_CHUNK_BYTES:
            return


def _typed(record: Record) -> Numbered:
    """JSON lines are rows already; of CSV and Parquet the types are checked here."""
    number, value = record
    return number, typed(value) if isinstance(value, dict) else value


def _unfolded(records: Iterator[Record], layout: Layout) -> Iterator[Numbered]:
    seen: Counter[str] = Counter()
    for number, value in records:
        for row in [value] if isinstance(value, str) else layout.unfold(value, seen):
            yield number, row if isinstance(row, str) else typed(row)


def _lines(file: IO[bytes], longest: int = MAX_LINE_BYTES) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers; of one that is too long only as much as shows that it is."""
    mark = b"\xef\xbb\xbf"
    for number in count(1):
        line = rest = file.readline(longest + 1)
        while len(rest) >= longest and not rest.endswith(b"\n"):
            rest = file.readline(longest)
        if not line:
            return
        yield number, line.removeprefix(mark)
        mark = b""


def _json_rows(file: IO[bytes]) -> Iterator[Numbered]:
    stripped = ((number, line.strip()) for number, line in _lines(file))
    return ((number, json_row(line)) for number, line in stripped if line)


def _json_records(file: IO[bytes]) -> Iterator[Record]:
    for number, line in _lines(file, MAX_RECORD_BYTES):
        if line.strip():
            too_long = len(line) > MAX_RECORD_BYTES
            yield number, f"longer than {MAX_RECORD_BYTES:,} bytes" if too_long else _parsed(line)


def _parsed(line: bytes) -> Any:
    try:
        value = msgspec.json.decode(line)
        return [value] if isinstance(value, str) else value  # a text would be a reason
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _lenient(line)


def json_row(line: bytes) -> Row | str:
    """The row that a line of JSON holds, or why it holds none."""
    if len(line) > MAX_LINE_BYTES:
        return f"longer than {MAX_LINE_BYTES:,} bytes"
    try:
        return DECODER.decode(line)
    except msgspec.ValidationError as error:
        return reason(error)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = _lenient(line)
        return value if isinstance(value, str) else typed(value)


def _lenient(line: bytes) -> Any:
    """As the standard library reads it, which takes NaN and halves of characters and says where a line is broken."""
    try:
        value = json.loads(line.decode())
        return "a row must be object, got str" if isinstance(value, str) else value
    except UnicodeDecodeError as error:
        return f"not UTF-8 text: byte {error.start + 1} is {line[error.start]:#04x}"
    except json.JSONDecodeError as error:
        return f"not JSON: {error.msg} at character {error.pos + 1}"
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, or brackets
        return f"not JSON that can be read: {short(error)}"


def _csv_rows(file: IO[bytes]) -> Iterator[Record]:
    reader = csv.reader(_text(file), strict=True)
    header = _csv_header(reader)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield reader.line_num, f"not CSV: {error}"
        else:
            if cells:
                yield reader.line_num, _csv_row(header, cells)


def _text(file: IO[bytes]) -> Iterator[str]:
    """Lines as text; what is not UTF-8 is kept in a form that `_csv_row` refuses."""
    for _, line in _lines(file):
        text = "\udcff" if len(line) > MAX_LINE_BYTES else line.decode(errors="surrogateescape")
        yield text.replace("\0", "\udcff")


def _csv_header(reader: Iterator[list[str]]) -> list[str]:
    try:
        header = [name.strip() for name in next(reader, [])]
    except csv.Error as error:
        raise ValueError(f"the first line must name the columns in CSV: {error}") from None
    twice = sorted(name for name, times in Counter(header).items() if times > 1)
    if twice:
        raise ValueError(f"every column must have its own name, got {twice[0][:60]} twice")
    return header


def _csv_row(header: list[str], cells: list[str]) -> dict[str, Any] | str:
    if len(cells) != len(header):
        return f"a row must have {len(header)} cells, one per column, got {len(cells)}"
    if any("\udc80" <= letter <= "\udcff" for cell in cells for letter in cell):
        return "not UTF-8 text"
    row: dict[str, Any] = {}
    for name, cell in zip(header, cells, strict=True):
        field, dot, action = name.partition(".")
        value = _csv_value(cell.strip())
        if value is None:
            continue
        if dot and field in VECTORS:
            row.setdefault(field, {})[action] = value
        else:
            row[name] = value
    return row


def _csv_value(cell: str) -> Any:
    """What a cell says: nothing, a number, a JSON list or object, or text."""
    if not cell:
        return None
    for read in (int, float):
        try:
            return read(cell)
        except ValueError:
            pass
    if cell[0] in "[{":
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            pass
    return cell


def _parquet_rows(file: IO[bytes]) -> Iterator[Record]:
    try:
        from pyarrow import ArrowException  # pyright: ignore[reportMissingImports]
        from pyarrow.parquet import ParquetFile  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError:
        raise ValueError(
            "reading .parquet needs pyarrow, but it is not installed: pip install 'regrax[pyarrow]'"
        ) from None
    number = 0
    try:
        for batch in ParquetFile(file).iter_batches(batch_size=ROWS_PER_CHUNK):
            for row in batch.to_pylist():
                number += 1
                yield number, row
    except (ArrowException, OSError, ValueError, UnicodeDecodeError) as error:
        where = f" after row {number}" if number else ""
        what = f"{Path(file.name).name} is not a readable Parquet file{where}"
        raise ValueError(f"{what}: {short(error)}") from None


Reader = Callable[[IO[bytes]], Iterator[Record]]
READERS: dict[str, Reader] = {
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), _json_rows),
    ".csv": _csv_rows,
    ".parquet": _parquet_rows,
}
