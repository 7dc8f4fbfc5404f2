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
from regrax.agents.audit.rows import VECTORS, Numbered, Row, convert_checked, short, type_error

ROWS_PER_CHUNK = 4096
MAX_LINE_BYTES = 1 << 20
MAX_CHUNK_BYTES = 1 << 26
MAX_RECORD_BYTES = 1 << 24  # for a line with a full episode, or a file with a single JSON document
MAX_SAMPLE_BYTES = 1 << 26  # for a sample of Inspect with its events, which are skipped
MAX_INSPECT_BYTES = 1 << 28  # for a log of Inspect that is a single JSON document
MAX_EXPANSION = 300  # times its size that a compressed file may expand to, beyond MAX_RECORD_BYTES
PEEKED_RECORDS = 100  # records among which the first readable one shows the format

Record = tuple[int, Row | dict[str, Any] | str]  # line number, and a row, its fields or the reason
Reader = Callable[[IO[bytes], bool], Iterator[Record]]  # True: a record is a row


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
    names: Counter[str] = Counter()
    with path.open("rb") as raw:
        reader, file = _opened(path, raw)
        chunk: list[Numbered] = []
        start = 0
        for number, record in reader(file, layout is None):
            records: Any = [record]
            if layout is not None and isinstance(record, dict):
                records = layout.unfold(record, names)
            for row in records:
                if isinstance(row, dict):
                    row = _checked(partial(convert_checked, row, Row))
                chunk.append((number, row))
                if len(chunk) == ROWS_PER_CHUNK or file.tell() - start > MAX_CHUNK_BYTES:
                    yield chunk, min(raw.tell() / size, 1.0)
                    chunk = []
                    start = file.tell()
        yield chunk, 1.0


def first_record(path: Path) -> Any:
    """Return the first record of a log that can be read, or None."""
    with path.open("rb") as raw:
        reader, file = _opened(path, raw)
        records = [record for _, record in islice(reader(file, False), PEEKED_RECORDS)]
    return next((record for record in records if isinstance(record, dict)), None)


def _opened(path: Path, raw: IO[bytes]) -> tuple[Reader, IO[bytes]]:
    """Choose the reader for a file by its suffixes, and decompress the file if it is compressed."""
    is_zipped = path.suffix.lower() == ".gz"
    suffix = Path(path.stem if is_zipped else path.name).suffix.lower()
    if suffix not in READERS or (is_zipped and suffix in BINARY):
        raise ValueError(
            f"a log file must end in {', '.join(READERS)}, all but {' and '.join(BINARY)} also with .gz, "
            f"got {path.name}"
        )
    return READERS[suffix], io.BufferedReader(_Unzipped(raw, path)) if is_zipped else raw


class _Unzipped(io.RawIOBase):
    """A gzip file that raises ValueError if it is broken or expands too much."""

    mode = "rb"

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self.name = str(path)
        self.limit = MAX_RECORD_BYTES + MAX_EXPANSION * path.stat().st_size
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


def _lines(file: IO[bytes], longest: int = MAX_LINE_BYTES) -> Iterator[tuple[int, bytes]]:
    """Yield numbered lines; a line that is too long is cut after `longest + 1` bytes."""
    for number, line in enumerate(iter(partial(file.readline, longest + 1), b""), 1):
        rest = line
        while len(rest) >= longest and not rest.endswith(b"\n"):
            rest = file.readline(longest)
        yield number, line.removeprefix(BOM_UTF8) if number == 1 else line


def _json_records(file: IO[bytes], is_row: bool) -> Iterator[Record]:
    """Yield the records of JSON lines or of a single JSON document, which may be an array or a multi-line record."""
    start = file.read(1 << 10)
    file.seek(0)
    if all(name in start for name in (b'"version"', b'"status"', b'"eval"')):
        log = _decoded(file, MAX_INSPECT_BYTES, _InspectLog, Path(file.name).name)
        for number, sample in enumerate(log.samples or (), 1):
            yield number, {"model": log.eval.model, **msgspec.structs.asdict(sample)}
        return
    longest = MAX_LINE_BYTES if is_row else MAX_RECORD_BYTES
    decoder: Any = msgspec.json.Decoder(Row if is_row else dict[str, Any])
    first = next((line.strip() for _, line in _lines(file, longest) if line.strip()), b"")
    file.seek(0)
    is_json = _is_json(first)
    is_lines = is_json and not first.startswith(b"[")
    if not is_lines:
        document = _document(file, is_json, longest)
        file.seek(0)
        if document is not None:
            for number, record in enumerate(document, 1):
                yield number, _checked(partial(convert_checked, record, decoder.type))
            return
    for number, line in _lines(file, longest):
        text = line.strip()
        if not is_lines and text.endswith(b"},") and _is_json(text[:-1]):
            raise ValueError(
                f"{Path(file.name).name} must be JSON lines or a complete JSON document, "
                f"got an array element on line {number}"
            )
        if len(text) > longest:
            yield number, f"longer than {longest:,} bytes"
        elif text:
            yield number, _checked(partial(_parsed, text, decoder))


def _document(file: IO[bytes], first_is_json: bool, longest: int) -> list[Any] | None:
    """Return the records of a file that is one JSON document, or None if it may be JSON lines."""
    data = file.read(MAX_RECORD_BYTES + 1).removeprefix(BOM_UTF8)
    is_array = data.lstrip().startswith(b"[") and not first_is_json
    name = Path(file.name).name
    if is_array and len(data) > MAX_RECORD_BYTES:
        raise ValueError(
            f"{name} must be JSON lines, one record per line, because a JSON array may have at most "
            f"{MAX_RECORD_BYTES:,} bytes (to convert it: jq -c '.[]' {name})"
        )
    try:
        value = json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        if is_array:
            raise ValueError(f"{name} must be a complete JSON array: {short(error)}") from None
        return None
    if isinstance(value, list):
        return value
    return [value] if len(data) <= longest else None


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line.decode())
    except (ValueError, RecursionError):
        return False
    return True


def _checked(read: Callable[[], Any]) -> Any:
    """Return what a function returns, or the reason why it fails."""
    try:
        return read()
    except ValueError as error:
        return str(error)


def _parsed(data: bytes, decoder: msgspec.json.Decoder[Any]) -> Any:
    """Parse JSON as the decoder's type; raise ValueError with the reason."""
    try:
        return decoder.decode(data)
    except msgspec.ValidationError as error:
        raise ValueError(type_error(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    # the standard library accepts NaN and unpaired surrogates, and reports where a line is broken
    try:
        value = json.loads(data.decode())
    except UnicodeDecodeError as error:
        byte = f"byte {error.start + 1} is {data[error.start]:#04x}"
        raise ValueError(f"not UTF-8 text: {byte}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at character {error.pos + 1}") from None
    except (ValueError, RecursionError) as error:  # thousands of digits or brackets
        raise ValueError(f"unreadable JSON: {short(error)}") from None
    return convert_checked(value, decoder.type)


def _decoded(file: IO[bytes], limit: int, kind: Any, where: str) -> Any:
    """Parse a whole file of JSON as a type."""
    data = file.read(limit + 1)
    if len(data) > limit:
        raise ValueError(f"{where} must have at most {limit:,} bytes")
    try:
        return _parsed(data, msgspec.json.Decoder(kind))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _csv_rows(file: IO[bytes], _is_row: bool) -> Iterator[Record]:
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
                open_quote = "must close every quote, but one is open at the end"
                raise ValueError(f"{Path(file.name).name} {open_quote}") from None
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


def _parquet_rows(file: IO[bytes], _is_row: bool) -> Iterator[Record]:
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


def _inspect_records(file: IO[bytes], _is_row: bool) -> Iterator[Record]:
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

    def read(member: str, kind: Any) -> Any:
        where = f"{name}, {short(member)}"
        try:
            with archive.open(member) as part:
                return _decoded(part, MAX_SAMPLE_BYTES, kind, where)
        except NotImplementedError:  # zipfile's error for a compression that it does not know
            raise ValueError(
                f"reading {name} needs zipfile-zstd, but it is not installed: pip install 'regrax[inspect]'"
            ) from None
        except ValueError:
            raise
        except Exception as error:  # whatever zipfile and its decompressors raise for a broken file
            raise ValueError(f"{where} cannot be read: {short(error)}") from None

    # the header is written when a run ends
    header = "header.json" if "header.json" in archive.namelist() else "_journal/start.json"
    model = read(header, _InspectLog).eval.model
    for number, member in enumerate(members, 1):
        sample = _checked(partial(read, member, _Sample))
        if isinstance(sample, _Sample):
            sample = {"model": model, **msgspec.structs.asdict(sample)}
        yield number, sample


BINARY = (".parquet", ".eval")
READERS: dict[str, Reader] = {
    ".jsonl": _json_records,
    ".ndjson": _json_records,
    ".json": _json_records,
    ".csv": _csv_rows,
    ".parquet": _parquet_rows,
    ".eval": _inspect_records,
}
