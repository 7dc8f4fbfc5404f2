"""Every test of the audit runs as users run it, and may write a log."""

import json

import pytest


@pytest.fixture(autouse=True)
def as_users(as_users_run_it):
    """Run without the type checks of the test suite."""


@pytest.fixture
def write(tmp_path):
    """Write rows, or lines as bytes, to a log and return its path."""

    def write(rows, name="log.jsonl"):
        path = tmp_path / name
        lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
        path.write_bytes(b"\n".join(lines) + b"\n")
        return path

    return write
