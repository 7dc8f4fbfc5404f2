"""Games as JSON, for people, and as `.npz`, for large tensors.

    {"name": "pennies", "players": ["even", "odd"], "actions": [["h", "t"], ["h", "t"]],
     "payoffs": [[[1, -1], [-1, 1]], [[-1, 1], [1, -1]]]}

Only `payoffs`, of shape (N, d_1, ..., d_N), is required. In JSON a payoff that no double equals is an integer or the
text of a fraction, `"1/3"`; an archive holds doubles.
"""

import io
import json
import re
import zipfile
from fractions import Fraction
from typing import Any

import numpy as np

from regrax.games._game import Game, exact_payoffs

LABELS = ("name", "players", "actions", "comment")


def game_from_json(data: bytes) -> Game:
    """Read a game from JSON.

    >>> game_from_json(b'{"payoffs": [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]}')
    game(2, 2)
    """
    try:
        table = json.loads(data)
        if isinstance(table, dict) and "payoffs" in table:
            table["payoffs"] = _read_fractions(table["payoffs"])
    except (ValueError, RecursionError) as error:
        raise ValueError(f"a JSON game must be valid JSON, but: {error}") from None
    if not isinstance(table, dict) or "payoffs" not in table:
        raise ValueError('a JSON game must be an object with "payoffs", but has none')
    unknown = sorted(set(table) - {"payoffs", *LABELS})
    if unknown:
        known = ", ".join(["payoffs", *LABELS])
        raise ValueError(f"a JSON game has the fields {known}, but came with {', '.join(unknown)}")
    return Game(table["payoffs"], **{field: table[field] for field in LABELS if field in table})


def game_to_json(game: Game) -> bytes:
    """Write a game as JSON; reading it back gives the same game.

    >>> from regrax.games import chicken
    >>> game_from_json(game_to_json(chicken())).actions[0]
    ('swerve', 'dare')
    """
    payoffs = np.asarray(game.payoffs)
    if game.exact is not None:
        texts = [_written(value) for value in exact_payoffs(game).ravel()]
        payoffs = np.array(texts, object).reshape(payoffs.shape)
    return json.dumps({**_labels(game), "payoffs": payoffs.tolist()}).encode()


def _written(value: Fraction) -> float | int | str:
    if value == float(value):
        return float(value)
    return int(value) if value.denominator == 1 else str(value)


def _read_fractions(value: Any) -> Any:
    """Nested lists with texts like `"1/3"` as fractions."""
    if isinstance(value, list):
        return [_read_fractions(one) for one in value]
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,4000}/\d{0,4000}[1-9]\d{0,4000}", value):
        return Fraction(value)
    return value


def game_from_npz(data: bytes) -> Game:
    """Read a game from a NumPy archive with an array `payoffs`; nothing pickled is ever loaded."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"an .npz game must be a NumPy archive without pickles, but: {error}"
        ) from None
    if "payoffs" not in arrays:
        raise ValueError(
            f"an .npz game must hold an array payoffs, but holds {', '.join(arrays) or 'nothing'}"
        )
    labels: dict[str, Any] = json.loads(str(arrays["labels"])) if "labels" in arrays else {}
    return Game(arrays["payoffs"], **{field: labels[field] for field in LABELS if field in labels})


def game_to_npz(game: Game) -> bytes:
    """Write a game as a NumPy archive with `payoffs` and its labels as JSON text.

    >>> from regrax.games import chicken
    >>> game_from_npz(game_to_npz(chicken()))
    chicken
    """
    buffer = io.BytesIO()
    labels = np.array(json.dumps(_labels(game)))
    np.savez_compressed(buffer, payoffs=np.asarray(game.payoffs), labels=labels)
    return buffer.getvalue()


def _labels(game: Game) -> dict[str, Any]:
    return {field: getattr(game, field) for field in LABELS}
