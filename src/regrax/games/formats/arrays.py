"""Games as JSON, which can be written by hand, and as `.npz`, for large tensors.

    {"name": "pennies", "players": ["even", "odd"], "actions": [["h", "t"], ["h", "t"]],
     "payoffs": [[[1, -1], [-1, 1]], [[-1, 1], [1, -1]]]}

Only `payoffs`, of shape (N, d_1, ..., d_N), is required. In JSON, a payoff that a double cannot represent is an integer
or a string such as `"1/3"`; an archive stores doubles.
"""

import io
import json
import math
import re
import zipfile
import zlib
from fractions import Fraction
from typing import Any

import numpy as np

from regrax.games.game import LABELS, MAX_PAYOFFS, Game, labels_of, precise_payoffs
from regrax.specs import as_game

MAX_LABEL_BYTES = 2**24
ARCHIVE_ERRORS = (
    ValueError,
    KeyError,
    OSError,
    EOFError,
    RuntimeError,  # encryption, unknown compression, brackets nested too deeply
    zipfile.BadZipFile,
    zlib.error,
)


def game_from_json(data: bytes) -> Game:
    """Read a game from JSON.

    >>> game_from_json(b'{"payoffs": [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]}')
    game(2, 2)
    """
    payoffs = None
    try:
        fields = json.loads(data)
        if isinstance(fields, dict):
            payoffs = _read_fractions(fields.pop("payoffs", None))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"a JSON game must be valid JSON: {error}") from None
    if payoffs is None:
        raise ValueError('a JSON game must be an object with "payoffs"')
    unknown = sorted(set(fields) - set(LABELS))
    if unknown:
        raise ValueError(
            f"a JSON game may only have the fields payoffs, {', '.join(LABELS)}, got {', '.join(unknown)}"
        )
    return Game(payoffs, **fields)


def game_to_json(game: Game | str) -> bytes:
    """Write a game as JSON; reading it back gives the same game.

    >>> from regrax.games import chicken
    >>> game_from_json(game_to_json(chicken())).actions[0]
    ('swerve', 'dare')
    """
    game = as_game(game)
    payoffs = precise_payoffs(game)
    if game.exact is not None:
        payoffs = np.vectorize(_json_number, otypes="O")(payoffs)
    return json.dumps(labels_of(game) | {"payoffs": payoffs.tolist()}).encode()


def _json_number(value: Fraction) -> float | int | str:
    if value == float(value):
        return float(value)
    if value.denominator == 1:
        return int(value)
    return str(value)


def _read_fractions(value: Any) -> Any:
    """Convert strings like `"1/3"` in nested lists to fractions."""
    if isinstance(value, list):
        return [_read_fractions(entry) for entry in value]
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,4000}/\d{0,4000}[1-9]\d{0,4000}", value):
        return Fraction(value)
    return value


def game_from_npz(data: bytes) -> Game:
    """Read a game from a NumPy archive with an array `payoffs`; pickled data is never loaded."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            payoffs = _array(archive, "payoffs", 8 * MAX_PAYOFFS)
            labels = {}
            if "labels.npy" in archive.namelist():
                labels = json.loads(str(_array(archive, "labels", MAX_LABEL_BYTES)))
        if not isinstance(labels, dict):
            raise ValueError("labels must be a JSON object, stored as a string")
    except ARCHIVE_ERRORS as error:
        raise ValueError(
            f"an .npz game must be a NumPy archive with an array named payoffs and no pickles: {str(error)[:200]}"
        ) from None
    return Game(payoffs, **{field: labels[field] for field in LABELS if field in labels})


def _array(archive: zipfile.ZipFile, name: str, max_bytes: int) -> np.ndarray:
    """Read an array from an archive after checking the size in its header."""
    with archive.open(f"{name}.npy") as member:
        version = np.lib.format.read_magic(member)
        if version != (1, 0):  # other versions are for large structured types
            raise ValueError(f"{name} must have format version (1, 0), got {version}")
        shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(member)
        size = math.prod(shape) * dtype.itemsize
        if dtype.hasobject or size > max_bytes:
            raise ValueError(
                f"{name} must be an array of at most {max_bytes:,} bytes, got {size:,} of {dtype}"
            )
        array = np.frombuffer(member.read(size), dtype, math.prod(shape))
    return array.reshape(shape, order="F" if fortran_order else "C")


def game_to_npz(game: Game | str) -> bytes:
    """Write a game as a NumPy archive with its payoffs, and its labels as JSON.

    >>> from regrax.games import chicken
    >>> game_from_npz(game_to_npz(chicken()))
    chicken
    """
    game = as_game(game)
    buffer = io.BytesIO()
    labels = np.array(json.dumps(labels_of(game)))
    np.savez_compressed(buffer, payoffs=np.asarray(game.payoffs), labels=labels)
    return buffer.getvalue()
