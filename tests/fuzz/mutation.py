"""Bytes of a valid file, changed by a seed: what a disk, a network or an enemy may make of them."""

import random

TOKENS = (
    b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\", b"\n", b"\x00", b"\xff", b"-", b"1e999", b"null", b"NaN",
    b"9" * 25, b"[" * 3000, b"{" * 50, b"\x1b[31m", b"/", b"../../etc/passwd", b"true", b'"a"', b"=", b"0",
)  # fmt: skip


def mutated(data: bytes, seed: int) -> bytes:
    """`data` with one to four changes: of every second seed only such as leave its structure.

    >>> mutated(b"hello", 3) == mutated(b"hello", 3) != b"hello"
    True
    """
    draw = random.Random(seed)
    changes = GENTLE if seed % 2 else GENTLE + ROUGH
    for _ in range(draw.randint(1, 4)):
        data = draw.choice(changes)(data, draw)
    return data


def _flip(data: bytes, draw: random.Random) -> bytes:
    where = draw.randrange(max(len(data), 1))
    return data[:where] + bytes([draw.randrange(256)]) + data[where + 1 :]


def _cut(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(len(data) + 1)]


def _drop(data: bytes, draw: random.Random) -> bytes:
    begin = draw.randrange(len(data) + 1)
    return data[:begin] + data[begin + draw.randint(1, 20) :]


def _insert(data: bytes, draw: random.Random) -> bytes:
    where = draw.randrange(len(data) + 1)
    return data[:where] + draw.choice(TOKENS) + data[where:]


def _repeat(data: bytes, draw: random.Random) -> bytes:
    begin = draw.randrange(len(data) + 1)
    part = data[begin : begin + draw.randint(1, 40)]
    return data[:begin] + part * draw.randint(2, 5) + data[begin:]


def _number(data: bytes, draw: random.Random) -> bytes:
    """Another number in the place of one: structure stays, so that what is behind the parser is reached."""
    places = [place for place, byte in enumerate(data) if chr(byte).isdigit()]
    if not places:
        return _insert(data, draw)
    begin = end = draw.choice(places)
    while begin and chr(data[begin - 1]) in ".0123456789":
        begin -= 1
    while end < len(data) and chr(data[end]) in ".0123456789":
        end += 1
    new = draw.choice([b"0", b"-1", b"2", b"1e308", b"99999999999", b"1.5", b"7", b"3"])
    return data[:begin] + new + data[end:]


def _letter(data: bytes, draw: random.Random) -> bytes:
    """Another letter in the place of one: names that nobody knows."""
    places = [
        place for place, byte in enumerate(data) if chr(byte).isascii() and chr(byte).isalpha()
    ]
    if not places:
        return _insert(data, draw)
    where = draw.choice(places)
    return data[:where] + draw.choice([b"a", b"Z", b"_", b"e"]) + data[where + 1 :]


GENTLE = (_number, _number, _letter)
ROUGH = (_flip, _cut, _drop, _insert, _repeat)
