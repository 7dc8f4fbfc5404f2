"""How commands compile: with what the user set, kept in the user's folder, and mended when an entry is damaged."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from regrax.cli import _entry as compiling

PLAY = ("play", "weighted-rps", "--learners", "hedge(0.4479)", "--rounds", "20", "--json")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, and an environment in which nothing is set."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    monkeypatch.delenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", raising=False)
    return tmp_path


def entries(home: Path) -> list[Path]:
    """What is kept."""
    return sorted((home / "regrax").glob("compiled-*/*-cache"))


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "regrax", *arguments], capture_output=True, text=True, check=True
    )


def test_flags_of_the_user_are_kept(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_a=3")
    with compiling.prepared():
        assert os.environ["XLA_FLAGS"] == "--xla_a=3 --xla_backend_optimization_level=1"
    monkeypatch.setenv("XLA_FLAGS", "--xla_backend_optimization_level=0")
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "/elsewhere")
    with compiling.prepared():
        assert os.environ["XLA_FLAGS"] == "--xla_backend_optimization_level=0"
        assert os.environ["JAX_COMPILATION_CACHE_DIR"] == "/elsewhere"


def test_a_folder_that_cannot_be_made_is_no_error(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "regrax").write_text("a file where the folder would be")
    with compiling.prepared():
        assert "JAX_COMPILATION_CACHE_DIR" not in os.environ


def test_the_oldest_entries_go_first(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "MAX_CACHE_BYTES", 25)
    folder = compiling.cache_folder()
    folder.mkdir(parents=True)
    for age, name in enumerate(("new", "old", "oldest")):
        (folder / f"{name}-cache").write_bytes(b"0123456789")
        os.utime(folder / f"{name}-cache", (1e9 - age, 1e9 - age))
    with compiling.prepared():
        assert [entry.name for entry in entries(home)] == ["new-cache", "old-cache"]


def test_other_warnings_still_come(home: Path) -> None:
    with pytest.warns(UserWarning, match="something else"), compiling.prepared():
        warnings.warn("something else", stacklevel=1)


def test_a_warning_is_one_line_while_a_command_runs(home: Path) -> None:
    usual = warnings.formatwarning
    with compiling.prepared():
        said = warnings.formatwarning(UserWarning("mind this"), UserWarning, "file.py", 1)
    assert said == "regrax: warning: mind this\n"
    assert warnings.formatwarning is usual


@pytest.mark.slow
def test_a_second_run_reads_what_the_first_kept_and_a_damaged_entry_is_no_word(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    first = run(*PLAY)
    kept = entries(home)
    assert kept
    assert run(*PLAY).stdout == first.stdout
    assert entries(home) == kept
    for entry in kept:
        entry.write_bytes(entry.read_bytes()[:100])
    damaged = run(*PLAY)
    assert (damaged.stdout, damaged.stderr) == (first.stdout, first.stderr)


def test_what_a_killed_command_may_have_left_half_written_is_dropped(home: Path) -> None:
    folder, child = compiling.cache_folder(), subprocess.Popen([sys.executable, "-c", ""])
    gone = child.pid
    child.wait()
    folder.mkdir(parents=True)
    for age, name in ((10, "whole-cache"), (5, f"running-{gone}"), (0, "cut-cache")):
        (folder / name).write_bytes(b"0123")
        os.utime(folder / name, (1e9 - age, 1e9 - age))
    with compiling.prepared():
        assert [e.name for e in entries(home)] == ["whole-cache"]
        (folder / "new-cache").write_bytes(b"0123")
        compiling._drop_unfinished(folder)  # we are alive: what we write stays
        assert len(entries(home)) == 2
    assert sorted(e.name for e in folder.iterdir()) == ["new-cache", "whole-cache"]
