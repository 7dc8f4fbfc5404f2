r"""Log file formats: JSON lines, a single JSON document, CSV and Parquet, read a few thousand rows at a time.

A row that cannot be read is replaced by the reason. In CSV, losses are in columns `losses.rock`, `losses.paper`, ...,
or in one column `losses` of JSON lists; an empty cell is a missing field.
"""

import csv
import json
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

import msgspec

from regrax.agents.audit.layouts import Layout
from regrax.agents.audit.rows import VECTORS, Row, as_row, short, type_error

ROWS_PER_CHUNK = 4096
MAX_LINE_BYTES = 1 << 20
MAX_CHUNK_BYTES = 1 << 26
MAX_RECORD_BYTES = 1 << 24  # for a line with a full episode, or a file with a single JSON document

Numbered = tuple[int, Row | str]  # line number, and the row or why it cannot be read
Record = tuple[int, Any]  # line number, and a row, a parsed value or the reason


def read_rows(path: Path, layout: Layout | None = None) -> Iterator[tuple[list[Numbered], float]]:
    """Yield the rows of a log in chunks with their line numbers, and the fraction of the file read so far.

    Args:
        path: the log, whose suffix determines its format.
        layout: how to convert records to rows; by default every record is a row.

    >>> import tempfile
    >>> log = Path(tempfile.mkdtemp()) / "log.jsonl"
    >>> _ = log.write_text('{"round": 1}\\nnonsense\\n')
    >>> [(line, row if isinstance(row, str) else row.round) for line, row in next(read_rows(log))[0]]
    [(1, 1), (2, 'not JSON: Expecting value at character 1')]
    """
    suffix = path.suffix.lower()
    if suffix not in READERS:
        raise ValueError(f"a log file must end in {', '.join(READERS)}, got {path.name}")
    size = path.stat().st_size or 1
    with path.open("rb") as file:
        chunk: list[Numbered] = []
        start = 0
        for numbered in _rows(READERS[suffix](file, layout), layout):
            chunk.append(numbered)
            if len(chunk) == ROWS_PER_CHUNK or file.tell() - start > MAX_CHUNK_BYTES:
                yield chunk, min(file.tell() / size, 1.0)
                chunk = []
                start = file.tell()
        yield chunk, 1.0


def _rows(records: Iterator[Record], layout: Layout | None) -> Iterator[Numbered]:
    names: Counter[str] = Counter()
    for number, value in records:
        if isinstance(value, Row | str):
            yield number, value
        elif layout is None:
            yield number, as_row(value)
        else:
            for fields in layout.unfold(value, names):
                yield number, fields if isinstance(fields, str) else as_row(fields)


def _lines(file: IO[bytes], longest: int = MAX_LINE_BYTES) -> Iterator[tuple[int, bytes]]:
    """Yield numbered lines; a line that is too long is cut after `longest + 1` bytes."""
    for number, line in enumerate(iter(partial(file.readline, longest + 1), b""), 1):
        rest = line
        while len(rest) >= longest and not rest.endswith(b"\n"):
            rest = file.readline(longest)
        yield number, line.removeprefix(BOM_UTF8) if number == 1 else line


def _json_records(file: IO[bytes], layout: Layout | None) -> Iterator[Record]:
    """Yield the records of JSON lines or of a single JSON document, which may be an array or a multi-line record."""
    longest = MAX_LINE_BYTES if layout is None else MAX_RECORD_BYTES
    decoder = msgspec.json.Decoder(Row) if layout is None else msgspec.json.Decoder()
    first = next((line.strip() for _, line in _lines(file, longest) if line.strip()), b"")
    file.seek(0)
    is_json = _is_json(first)
    is_lines = is_json and not first.startswith(b"[")
    if not is_lines:
        document = _document(file, is_json, longest)
        file.seek(0)
        if document is not None:
            yield from enumerate(document, 1)
            return
    for number, line in _lines(file, longest):
        text = line.strip()
        if not is_lines and text.endswith(b"},") and _is_json(text[:-1]):
            raise ValueError(
                f"{Path(file.name).name} must be JSON lines or a complete JSON document, "
                f"got an array element on line {number}"
            )
        if text:
            yield number, _decoded(text, decoder, longest)


def _document(file: IO[bytes], first_is_json: bool, longest: int) -> list[Any] | None:
    """Return the records of a file that is one JSON document, or None if it may be JSON lines."""
    data = file.read(MAX_RECORD_BYTES + 1).removeprefix(BOM_UTF8)
    is_array = data.lstrip().startswith(b"[") and not first_is_json
    name = Path(file.name).name
    if len(data) > MAX_RECORD_BYTES:
        if is_array:
            raise ValueError(
                f"{name} must be JSON lines, one record per line, because a JSON array may have at most "
                f"{MAX_RECORD_BYTES:,} bytes (to convert it: jq -c '.[]' {name})"
            )
        return None
    try:
        value = json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        if is_array:
            raise ValueError(f"{name} must be a complete JSON array: {short(error)}") from None
        return None
    if isinstance(value, list):
        return [_not_text(record) for record in value]
    return [_not_text(value)] if len(data) <= longest else None


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line.decode())
    except (ValueError, RecursionError):
        return False
    return True


def _not_text(value: Any) -> Any:
    """Return a parsed value; a string is replaced, since it would be mistaken for the reason why a row is missing."""
    return "a row must be of type object, got str" if isinstance(value, str) else value


def _decoded(line: bytes, decoder: msgspec.json.Decoder[Any], longest: int) -> Any:
    if len(line) > longest:
        return f"longer than {longest:,} bytes"
    try:
        return _not_text(decoder.decode(line))
    except msgspec.ValidationError as error:
        return type_error(error)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    # the standard library accepts NaN and unpaired surrogates, and reports where a line is broken
    try:
        return _not_text(json.loads(line.decode()))
    except UnicodeDecodeError as error:
        return f"not UTF-8 text: byte {error.start + 1} is {line[error.start]:#04x}"
    except json.JSONDecodeError as error:
        return f"not JSON: {error.msg} at character {error.pos + 1}"
    except (ValueError, RecursionError) as error:  # thousands of digits or brackets
        return f"unreadable JSON: {short(error)}"


def _csv_rows(file: IO[bytes], _layout: Layout | None) -> Iterator[Record]:
    reader = csv.reader(_csv_lines(file), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
    except csv.Error as error:
        raise ValueError(f"the first line of a CSV file must name the columns: {error}") from None
    for name, count in Counter(header).items():
        if count > 1:
            raise ValueError(f"column names must be unique, got {name[:60]} twice")
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            if str(error) == "unexpected end of data":  # all lines after the quote form one cell
                name = Path(file.name).name
                raise ValueError(
                    f"{name} must close every quote, but one is open at the end"
                ) from None
            yield reader.line_num, f"not CSV: {error}"
            continue
        if cells:
            yield reader.line_num, _csv_row(header, cells)


def _csv_lines(file: IO[bytes]) -> Iterator[str]:
    """Yield lines as text; a lone surrogate marks a long line, a null character, or bytes that are not UTF-8."""
    for _, line in _lines(file):
        text = "\udcff" if len(line) > MAX_LINE_BYTES else line.decode(errors="surrogateescape")
        yield text.replace("\0", "\udcff")


def _csv_row(header: list[str], cells: list[str]) -> dict[str, Any] | str:
    if len(cells) != len(header):
        return f"a row must have {len(header)} cells, one per column, got {len(cells)}"
    if any("\udc80" <= letter <= "\udcff" for letter in "".join(cells)):
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
    """Parse a cell as a number, a JSON list or a JSON object, and otherwise return it as text."""
    readers = (json.loads,) if cell[0] in "[{" else (int, float)
    for read in readers:
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
        for batch in ParquetFile(file).iter_batches(batch_size=ROWS_PER_CHUNK):
            for row in batch.to_pylist():
                number += 1
                yield number, row
    except (ArrowException, OSError, ValueError, UnicodeDecodeError) as error:
        where = f" after row {number}" if number else ""
        raise ValueError(
            f"{Path(file.name).name} is not a readable Parquet file{where}: {short(error)}"
        ) from None


READERS: dict[str, Callable[[IO[bytes], Layout | None], Iterator[Record]]] = {
    ".jsonl": _json_records,
    ".ndjson": _json_records,
    ".json": _json_records,
    ".csv": _csv_rows,
    ".parquet": _parquet_rows,
}
