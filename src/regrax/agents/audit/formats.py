r"""Log file formats: JSON lines, JSON documents, CSV, Parquet and logs of Inspect, read a few thousand rows at a time.

Text may be compressed with gzip. A log of Inspect is a JSON document, or a zip file (`.eval`) of JSON documents, one
for each sample; samples are read without their events. A row that cannot be read is replaced by the reason. In CSV,
losses are in columns `losses.rock`, `losses.paper`, ..., or in one column `losses` of JSON lists; an empty cell is a
missing field.
"""

import csv
import gzip
import io
import json
import zipfile
import zlib
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any

import msgspec

from regrax.agents.audit.layouts import Layout
from regrax.agents.audit.rows import VECTORS, Numbered, Row, as_row, short, type_error

ROWS_PER_CHUNK = 4096
MAX_LINE_BYTES = 1 << 20
MAX_CHUNK_BYTES = 1 << 26
MAX_RECORD_BYTES = 1 << 24  # for a line with a full episode, or a file with a single JSON document
MAX_SAMPLE_BYTES = 1 << 26  # for a sample of Inspect with its events, which are skipped
MAX_INSPECT_BYTES = 1 << 28  # for a log of Inspect that is a single JSON document
MAX_EXPANSION = 300  # times its size that a compressed file may expand to, beyond MAX_RECORD_BYTES
PEEKED_RECORDS = 100  # records among which the first readable one shows the format

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
    size = path.stat().st_size or 1
    with path.open("rb") as raw:
        reader, file = _opened(path, raw, size)
        chunk: list[Numbered] = []
        start = 0
        for numbered in _rows(reader(file, layout), layout):
            chunk.append(numbered)
            if len(chunk) == ROWS_PER_CHUNK or file.tell() - start > MAX_CHUNK_BYTES:
                yield chunk, min(raw.tell() / size, 1.0)
                chunk = []
                start = file.tell()
        yield chunk, 1.0


def first_record(path: Path) -> Any:
    """Return the first record of a log that can be read, or None."""
    with path.open("rb") as raw:
        reader, file = _opened(path, raw, path.stat().st_size)
        for _, value in islice(reader(file, Layout()), PEEKED_RECORDS):
            if isinstance(value, dict):
                return value
    return None


def _opened(path: Path, raw: IO[bytes], size: int) -> tuple["Reader", IO[bytes]]:
    """Choose the reader for a file by its suffixes, and decompress the file if it is compressed."""
    is_zipped = path.suffix.lower() == ".gz"
    suffix = Path(path.stem if is_zipped else path.name).suffix.lower()
    if suffix not in READERS or (is_zipped and suffix in BINARY):
        raise ValueError(
            f"a log file must end in {', '.join(READERS)}, all but {' and '.join(BINARY)} also with .gz, "
            f"got {path.name}"
        )
    file = io.BufferedReader(_Unzipped(raw, size)) if is_zipped else raw
    return READERS[suffix], file


class _Unzipped(io.RawIOBase):
    """A gzip file that raises ValueError if it is broken or expands too much."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self.name = file.name
        self.mode = "rb"
        self.limit = MAX_RECORD_BYTES + MAX_EXPANSION * size
        self.stream = gzip.GzipFile(fileobj=file)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self.stream.seek(offset, whence)

    def readinto(self, buffer: Any, /) -> int:
        name = Path(self.name).name
        try:
            count = self.stream.readinto(buffer)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"{name} is not a readable gzip file: {short(error)}") from None
        if self.stream.tell() > self.limit:
            raise ValueError(f"{name} expands to more than {MAX_EXPANSION:,} times its size")
        return count


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
    if _is_inspect(file):
        yield from _inspect_document(file)
        return
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


class _Sample(msgspec.Struct):
    """The fields of a sample of Inspect that are read."""

    id: Any = None
    epoch: Any = None
    input: Any = None
    target: Any = None
    messages: Any = None
    scores: Any = None
    metadata: Any = None
    store: Any = None


class _Eval(msgspec.Struct):
    model: str = "agent"


class _InspectLog(msgspec.Struct):
    eval: _Eval
    samples: list[_Sample] | None = None


def _is_inspect(file: IO[bytes]) -> bool:
    start = file.read(1 << 10)
    file.seek(0)
    return all(name in start for name in (b'"version"', b'"status"', b'"eval"'))


def _inspect_document(file: IO[bytes]) -> Iterator[Record]:
    name = Path(file.name).name
    log = _inspect_part(file, MAX_INSPECT_BYTES, _InspectLog, name)
    for number, sample in enumerate(log.samples or (), 1):
        yield number, {"model": log.eval.model, **msgspec.structs.asdict(sample)}


def _inspect_records(file: IO[bytes], _layout: Layout | None) -> Iterator[Record]:
    """Yield the samples of a zip file of Inspect; it may be compressed with Zstandard, which zipfile may not know."""
    with suppress(ModuleNotFoundError):
        import zipfile_zstd  # noqa: F401  # pyright: ignore[reportMissingImports]
    name = Path(file.name).name
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError) as error:
        raise ValueError(f"{name} is not a readable zip file: {short(error)}") from None
    members = [member for member in archive.namelist() if member.startswith("samples/")]
    expanded = sum(archive.getinfo(member).file_size for member in members)
    if expanded > MAX_RECORD_BYTES + MAX_EXPANSION * Path(file.name).stat().st_size:
        raise ValueError(f"{name} expands to more than {MAX_EXPANSION:,} times its size")
    # the header is written when a run ends
    header = "header.json" if "header.json" in archive.namelist() else "_journal/start.json"
    model = _inspect_member(archive, header, _InspectLog, name).eval.model
    for number, member in enumerate(members, 1):
        try:
            sample = _inspect_member(archive, member, _Sample, name)
        except ValueError as error:
            yield number, str(error)
        else:
            yield number, {"model": model, **msgspec.structs.asdict(sample)}


def _inspect_member(archive: zipfile.ZipFile, member: str, kind: Any, name: str) -> Any:
    where = f"{name}, {short(member)}"
    try:
        with archive.open(member) as file:
            return _inspect_part(file, MAX_SAMPLE_BYTES, kind, where)
    except NotImplementedError:  # zipfile's error for a compression that it does not know
        raise ValueError(
            f"reading {name} needs zipfile-zstd, but it is not installed: pip install 'regrax[inspect]'"
        ) from None
    except ValueError:
        raise
    except Exception as error:  # whatever zipfile and its decompressors raise for a broken file
        raise ValueError(f"{where} cannot be read: {short(error)}") from None


def _inspect_part(file: Any, limit: int, kind: Any, where: str) -> Any:
    data = file.read(limit + 1)
    if len(data) > limit:
        raise ValueError(f"{where} must have at most {limit:,} bytes")
    try:
        return msgspec.json.decode(data, type=kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"{where}: {type_error(error)}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:  # the standard library accepts NaN and unpaired surrogates
        return msgspec.convert(json.loads(data.decode()), kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"{where}: {type_error(error)}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where} is not readable JSON: {short(error)}") from None


Reader = Callable[[IO[bytes], Layout | None], Iterator[Record]]
BINARY = (".parquet", ".eval")
READERS: dict[str, Reader] = {
    ".jsonl": _json_records,
    ".ndjson": _json_records,
    ".json": _json_records,
    ".csv": _csv_rows,
    ".parquet": _parquet_rows,
    ".eval": _inspect_records,
}
