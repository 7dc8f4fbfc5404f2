r"""Log file formats: JSON lines, JSON documents, CSV, Parquet and logs of Inspect, read record by record.

Text may be compressed with gzip. A log of Inspect is a JSON document, or a zip file (`.eval`) of JSON documents, one
for each sample; samples are read without their events. A record that cannot be read is replaced by the reason. In CSV,
losses are in columns `losses.rock`, `losses.paper`, ..., or in one column `losses` of JSON lists; an empty cell is a
missing field.
"""

import csv
import gzip
import io
import json
import re
import zipfile
import zlib
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

import msgspec

VECTORS = ("policy", "losses", "payoffs")
ROWS_PER_CHUNK = 4096
MAX_LINE_BYTES = 1 << 24  # a line may hold a full episode, and a single JSON document many rows
MAX_SAMPLE_BYTES = 1 << 26  # for a sample of Inspect with its events, which are skipped
MAX_INSPECT_BYTES = 1 << 28  # for a log of Inspect that is a single JSON document
MAX_EXPANSION = 300  # times its size that a compressed file may expand to, beyond MAX_LINE_BYTES

Record = tuple[
    int, Any
]  # line number, and a record, its JSON as bytes, or the error if it cannot be read


def open_records(path: Path, raw: IO[bytes]) -> tuple[Iterator[Record], IO[bytes]]:
    """Return the records of an open log file, and the file that they come from, which decompresses text.

    Args:
        path: the log, whose suffixes determine its format.
        raw: the same file, opened.

    >>> import tempfile
    >>> log = Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = log.write_text("round,action\\n1,up\\n2\\n")
    >>> with log.open("rb") as raw:
    ...     list(open_records(log, raw)[0])
    [(2, {'round': 1, 'action': 'up'}), (3, ValueError('a row must have 2 cells, one per column, got 1'))]
    """
    is_zipped = path.suffix.lower() == ".gz"
    suffix = Path(path.stem if is_zipped else path.name).suffix.lower()
    if suffix not in READERS or (is_zipped and suffix in BINARY):
        raise ValueError(
            f"a log file must end in {', '.join(READERS)}, all but {' and '.join(BINARY)} also with .gz, "
            f"got {path.name}"
        )
    file = io.BufferedReader(_Unzipped(raw, path)) if is_zipped else raw
    return READERS[suffix](file), file


def parse(record: Any, decoder: msgspec.json.Decoder[Any]) -> Any:
    """Return a record as the decoder's type, or the reason why it cannot be read.

    >>> parse(b'{"a": 1}', msgspec.json.Decoder(dict)), parse(b"nonsense", msgspec.json.Decoder(dict))
    ({'a': 1}, 'not JSON: Expecting value at character 1')
    """
    try:
        if isinstance(record, ValueError):
            raise record
        if isinstance(record, bytes):
            return _decode(record, decoder)
        return convert(record, decoder.type)
    except ValueError as error:
        return str(error)


def convert(value: Any, kind: Any) -> Any:
    """Convert a parsed value to a type; raise ValueError with the reason.

    >>> convert([0, 1], list[float])
    [0.0, 1.0]
    """
    try:
        return msgspec.convert(value, kind)
    except UnicodeEncodeError as error:  # an unpaired surrogate
        raise ValueError(f"unreadable text: {short(error)}") from None
    except (msgspec.ValidationError, OverflowError) as error:
        raise ValueError(type_error(error)) from None


def type_error(error: Exception) -> str:
    """Rewrite msgspec's message about a wrong type so that the path comes first."""
    what, _, path = str(error).partition(" - at `$.")
    path = path.rstrip("`") or "a row"
    types = re.fullmatch(r"Expected `(.+?)(?: \| null)?`, got `(.+)`", what)
    if types is None:
        return f"{path}: {what}"
    return f"{path} must be of type {types[1]}, got {types[2]}"


def short(value: Any) -> str:
    """Format a value for an error message: ASCII, one line, at most 60 characters."""
    text = value if isinstance(value, Exception) else repr(value)[:200]
    line = " ".join(str(text).encode("ascii", "backslashreplace").decode().split())
    return line if len(line) <= 60 else line[:57] + "..."


class _Unzipped(io.RawIOBase):
    """A gzip file that raises ValueError if it is broken or expands too much."""

    mode = "rb"

    def __init__(self, file: IO[bytes], path: Path) -> None:
        self.name = path.name
        self.limit = MAX_LINE_BYTES + MAX_EXPANSION * path.stat().st_size
        self.stream = gzip.GzipFile(fileobj=file)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self.stream.seek(offset, whence)

    def readinto(self, buffer: Any, /) -> int:
        try:
            count = self.stream.readinto(buffer)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"{self.name} is not a readable gzip file: {short(error)}") from None
        if self.stream.tell() > self.limit:
            raise ValueError(f"{self.name} expands to more than {MAX_EXPANSION:,} times its size")
        return count


def _lines(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield numbered lines; a line that is too long is cut after `MAX_LINE_BYTES + 1` bytes."""
    for number, line in enumerate(iter(partial(file.readline, MAX_LINE_BYTES + 1), b""), 1):
        rest = line
        while len(rest) >= MAX_LINE_BYTES and not rest.endswith(b"\n"):
            rest = file.readline(MAX_LINE_BYTES)
        yield number, line.removeprefix(BOM_UTF8) if number == 1 else line


def _json_records(file: IO[bytes]) -> Iterator[Record]:
    """Yield the records of JSON lines or of a single JSON document, which may be an array or a multi-line record."""
    name = Path(file.name).name
    start = file.read(1 << 10)
    file.seek(0)
    if all(field in start for field in (b'"version"', b'"status"', b'"eval"')):
        log = _decode_file(file, MAX_INSPECT_BYTES, _InspectLog, name)
        for number, sample in enumerate(log.samples or (), 1):
            yield number, {"model": log.eval.model, **msgspec.structs.asdict(sample)}
        return
    first = next((line.strip() for _, line in _lines(file) if line.strip()), b"")
    file.seek(0)
    is_lines = _is_json(first) and not first.startswith(b"[")
    if not is_lines:
        is_array = first.startswith(b"[") and not _is_json(first)
        data = file.read(MAX_LINE_BYTES + 1).removeprefix(BOM_UTF8)
        file.seek(0)
        if is_array and len(data) > MAX_LINE_BYTES:
            raise ValueError(
                f"{name} must be JSON lines, one record per line, because a JSON array may have at most "
                f"{MAX_LINE_BYTES:,} bytes (to convert it: jq -c '.[]' {name})"
            )
        try:
            document = json.loads(data.decode())
        except (ValueError, RecursionError) as error:
            if is_array:
                raise ValueError(f"{name} must be a complete JSON array: {short(error)}") from None
        else:
            yield from enumerate(document if isinstance(document, list) else [document], 1)
            return
    for number, line in _lines(file):
        text = line.strip()
        if not is_lines and text.endswith(b"},") and _is_json(text[:-1]):
            raise ValueError(
                f"{name} must be JSON lines or a complete JSON document, "
                f"got an array element on line {number}"
            )
        if len(text) > MAX_LINE_BYTES:
            yield number, ValueError(f"longer than {MAX_LINE_BYTES:,} bytes")
        elif text:
            yield number, text


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line.decode())
    except (ValueError, RecursionError):
        return False
    return True


def _decode(data: bytes, decoder: msgspec.json.Decoder[Any]) -> Any:
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
    return convert(value, decoder.type)


def _decode_file(file: IO[bytes], limit: int, kind: Any, where: str) -> Any:
    """Parse a whole file of JSON as a type."""
    data = file.read(limit + 1)
    if len(data) > limit:
        raise ValueError(f"{where} must have at most {limit:,} bytes")
    try:
        return _decode(data, msgspec.json.Decoder(kind))
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _csv_rows(file: IO[bytes]) -> Iterator[Record]:
    # a lone surrogate marks a long line, a null character, or bytes that are not UTF-8
    texts = (
        "\udcff" if len(line) > MAX_LINE_BYTES else line.decode(errors="surrogateescape")
        for _, line in _lines(file)
    )
    reader = csv.reader((text.replace("\0", "\udcff") for text in texts), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
    except csv.Error as error:
        raise ValueError(f"the first line of a CSV file must name the columns: {error}") from None
    for name, count in Counter(header).items():
        if count > 1:
            raise ValueError(f"column names must be unique, got {name[:60]} twice")
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            if str(error) == "unexpected end of data":  # all lines after the quote form one cell
                open_quote = "must close every quote, but one is open at the end"
                raise ValueError(f"{Path(file.name).name} {open_quote}") from None
            yield reader.line_num, ValueError(f"not CSV: {error}")
            continue
        if cells is None:
            return
        if cells:
            yield reader.line_num, _csv_row(header, cells)


def _csv_row(header: list[str], cells: list[str]) -> dict[str, Any] | ValueError:
    if len(cells) != len(header):
        cells_per_row = f"a row must have {len(header)} cells, one per column"
        return ValueError(f"{cells_per_row}, got {len(cells)}")
    if any("\udc80" <= letter <= "\udcff" for letter in "".join(cells)):
        return ValueError("not UTF-8 text")
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
        with suppress(ValueError, RecursionError):
            return read(cell)
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


def _inspect_records(file: IO[bytes]) -> Iterator[Record]:
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
    if expanded > MAX_LINE_BYTES + MAX_EXPANSION * Path(file.name).stat().st_size:
        raise ValueError(f"{name} expands to more than {MAX_EXPANSION:,} times its size")

    def read(member: str, kind: Any) -> Any:
        where = f"{name}, {short(member)}"
        try:
            with archive.open(member) as part:
                return _decode_file(part, MAX_SAMPLE_BYTES, kind, where)
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
        try:
            record = {"model": model, **msgspec.structs.asdict(read(member, _Sample))}
        except ValueError as error:
            record = ValueError(str(error))  # without its traceback, which holds the sample
        yield number, record


BINARY = (".parquet", ".eval")
READERS: dict[str, Callable[[IO[bytes]], Iterator[Record]]] = {
    ".jsonl": _json_records,
    ".ndjson": _json_records,
    ".json": _json_records,
    ".csv": _csv_rows,
    ".parquet": _parquet_rows,
    ".eval": _inspect_records,
}
