r"""Files to rows: JSON lines, CSV and Parquet, read a few thousand rows at a time.

msgspec decodes each row into a `Row`; a row that cannot be read is replaced by the reason why. In CSV the losses of the
actions are columns `losses.rock`, `losses.paper`, ..., or one column `losses` of JSON lists; an empty cell is a missing
field.
"""

import csv
import json
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any

import msgspec

from regrax.agents.audit._layout import Layout
from regrax.agents.audit._rows import VECTORS, Row, reason, typed
from regrax.agents.audit._text import short

ROWS_PER_CHUNK = 4096  # held as Python objects at once
MAX_LINE_BYTES = 1 << 20
MAX_CHUNK_BYTES = 1 << 26
MAX_RECORD_BYTES = (
    1 << 24
)  # of a line that holds a whole episode, and of a file that is one JSON document

ROW, RECORD = msgspec.json.Decoder(Row), msgspec.json.Decoder()
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
        raise ValueError(f"a log must end in {', '.join(READERS)}, got {path.name}")
    with path.open("rb") as file:
        size, records = path.stat().st_size or 1, READERS[kind](file, layout)
        rows = _rows(records, layout)
        while chunk := _chunk(rows, file):
            yield chunk, min(file.tell() / size, 1.0)


def _chunk(rows: Iterator[Numbered], file: IO[bytes]) -> list[Numbered]:
    """The next rows: as many as are held at once, fewer if their lines are long."""
    chunk, start = [], file.tell()
    for some in iter(lambda: list(islice(rows, 16)), []):
        chunk += some
        if len(chunk) >= ROWS_PER_CHUNK or file.tell() - start > MAX_CHUNK_BYTES:
            break
    return chunk


def _rows(records: Iterator[Record], layout: Layout | None) -> Iterator[Numbered]:
    """The rows of every record; JSON lines without a layout are rows already."""
    seen: Counter[str] = Counter()
    for number, value in records:
        rows = [value] if layout is None or isinstance(value, str) else layout.unfold(value, seen)
        for row in rows:
            yield number, row if isinstance(row, (Row, str)) else typed(row)


def _lines(file: IO[bytes], longest: int = MAX_LINE_BYTES) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers; of one that is too long only as much as shows that it is."""
    for number, line in enumerate(iter(partial(file.readline, longest + 1), b""), 1):
        rest = line
        while len(rest) >= longest and not rest.endswith(b"\n"):
            rest = file.readline(longest)
        yield number, line.removeprefix(BOM_UTF8) if number == 1 else line


def _json_records(file: IO[bytes], layout: Layout | None) -> Iterator[Record]:
    """The records of JSON lines, or of one JSON document: an array of records, or a record over several lines."""
    decoder, longest = (ROW, MAX_LINE_BYTES) if layout is None else (RECORD, MAX_RECORD_BYTES)
    first = next((line.strip() for _, line in _lines(file, longest) if line.strip()), b"")
    starts_with_record = _is_json(first) and not first.startswith(b"[")
    file.seek(0)
    if (
        not starts_with_record
        and (document := _document(file, _is_json(first), longest)) is not None
    ):
        yield from enumerate(document, 1)
        return
    for number, line in _lines(file, longest):
        text = line.strip()
        if not starts_with_record and text.endswith(b"},") and _is_json(text[:-1]):
            raise ValueError(
                f"{Path(file.name).name} must be JSON lines or one whole JSON document, "
                f"got an element of an array in line {number}"
            )
        if text:
            yield number, _decoded(text, decoder, longest)


def _document(file: IO[bytes], lines: bool, longest: int) -> list[Any] | None:
    """The records of a file that is one JSON document; None if it may be JSON lines, of which the first may be bad."""
    data = file.read(MAX_RECORD_BYTES + 1).removeprefix(BOM_UTF8)
    file.seek(0)
    is_array = data.lstrip().startswith(b"[") and not lines
    name = Path(file.name).name
    if len(data) > MAX_RECORD_BYTES:
        if is_array:
            raise ValueError(
                f"{name} must be JSON lines, a record per line: a JSON array is read up to "
                f"{MAX_RECORD_BYTES:,} bytes (jq -c '.[]' {name} writes its lines)"
            )
        return None
    try:
        value = json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        if is_array:
            raise ValueError(f"{name} must be a whole JSON array: {short(error)}") from None
        return None
    if not isinstance(value, list) and len(data) > longest:
        return None
    records = value if isinstance(value, list) else [value]
    return [_not_text(record) for record in records]


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line.decode())
    except (ValueError, RecursionError):
        return False
    return True


def _not_text(value: Any) -> Any:
    """The value; a text is the reason why it is not a record."""
    return "a row must be object, got str" if isinstance(value, str) else value


def _decoded(line: bytes, decoder: msgspec.json.Decoder[Any], longest: int) -> Any:
    """The row or the value that a line of JSON holds, or why it holds none."""
    if len(line) > longest:
        return f"longer than {longest:,} bytes"
    try:
        value = decoder.decode(line)
        return [value] if isinstance(value, str) else value  # a text would be a reason
    except msgspec.ValidationError as error:
        return reason(error)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _lenient(line)


def _lenient(line: bytes) -> Any:
    """As the standard library reads it, which takes NaN and halves of characters and says where a line is broken."""
    try:
        return _not_text(json.loads(line.decode()))
    except UnicodeDecodeError as error:
        return f"not UTF-8 text: byte {error.start + 1} is {line[error.start]:#04x}"
    except json.JSONDecodeError as error:
        return f"not JSON: {error.msg} at character {error.pos + 1}"
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, or brackets
        return f"not JSON that can be read: {short(error)}"


def _csv_rows(file: IO[bytes], _layout: Layout | None) -> Iterator[Record]:
    reader = csv.reader(_text(file), strict=True)
    header, cells = _csv_header(reader), []
    while cells is not None:
        try:
            cells = next(reader, None)
            if cells:
                yield reader.line_num, _csv_row(header, cells)
        except csv.Error as error:
            if str(error) == "unexpected end of data":  # everything since has been one cell
                name = Path(file.name).name
                raise ValueError(
                    f"{name} must close every quote, got one open at its end"
                ) from None
            yield reader.line_num, f"not CSV: {error}"


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
    for name, cell in zip(header, map(str.strip, cells), strict=True):
        field, dot, action = name.partition(".")
        if cell and dot and field in VECTORS:
            row.setdefault(field, {})[action] = _csv_value(cell)
        elif cell:
            row[name] = _csv_value(cell)
    return row


def _csv_value(cell: str) -> Any:
    """What a cell says: a number, a JSON list or object, or text."""
    for read in (json.loads,) if cell[0] in "[{" else (int, float):
        try:
            return read(cell)
        except (ValueError, RecursionError):
            pass
    return cell


def _parquet_rows(file: IO[bytes], _layout: Layout | None) -> Iterator[Record]:
    try:
        from pyarrow import ArrowException  # pyright: ignore[reportMissingImports]
        from pyarrow.parquet import ParquetFile  # pyright: ignore[reportMissingImports]
    except ModuleNotFoundError:
        raise ValueError(
            "reading .parquet needs pyarrow, but it is not installed: pip install 'regrax[pyarrow]'"
        ) from None
    number = 0
    try:
        batches = ParquetFile(file).iter_batches(batch_size=ROWS_PER_CHUNK)
        for number, row in enumerate((row for b in batches for row in b.to_pylist()), 1):
            yield number, row
    except (ArrowException, OSError, ValueError, UnicodeDecodeError) as error:
        where = f" after row {number}" if number else ""
        what = f"{Path(file.name).name} is not a readable Parquet file{where}"
        raise ValueError(f"{what}: {short(error)}") from None


READERS: dict[str, Callable[[IO[bytes], Layout | None], Iterator[Record]]] = {
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), _json_records),
    ".csv": _csv_rows,
    ".parquet": _parquet_rows,
}
