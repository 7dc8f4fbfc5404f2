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
        assert os.environ["XLA_FLAGS"].startswith("--xla_a=3 --xla_backend_optimization_level=1")
    mine = " ".join(
        [
            "--xla_cpu_use_fusion_emitters=true",
            "--xla_backend_optimization_level=0",
            "--xla_cpu_parallel_codegen_split_count=8",
        ]
    )
    monkeypatch.setenv("XLA_FLAGS", mine)
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "/elsewhere")
    with compiling.prepared():
        assert os.environ["XLA_FLAGS"] == mine
        assert os.environ["JAX_COMPILATION_CACHE_DIR"] == "/elsewhere"


@pytest.mark.parametrize(
    ("version", "known"), [("0.8.0", True), ("0.10.2", True), ("0.12.0.1", False)]
)
def test_xla_is_given_no_flag_that_it_does_not_know(
    home: Path, monkeypatch: pytest.MonkeyPatch, version: str, known: bool
) -> None:
    monkeypatch.setenv("XLA_FLAGS", "")
    monkeypatch.setattr("jaxlib.version.__version__", version)
    with compiling.prepared():
        assert ("fusion_emitters" in os.environ["XLA_FLAGS"]) == known
        assert ("codegen_split" in os.environ["XLA_FLAGS"]) == known


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


@pytest.mark.parametrize("name", ["running-abc", "running-", "running-1e9", f"running-{10**30}"])
def test_a_mark_that_is_none_of_ours_breaks_nothing(home: Path, name: str) -> None:
    folder = compiling.cache_folder()
    folder.mkdir(parents=True)
    (folder / name).touch()
    (folder / "whole-cache").touch()
    with compiling.prepared():
        assert [entry.name for entry in entries(home)] == ["whole-cache"]
    assert (folder / name).exists()


@pytest.mark.parametrize("end", [ValueError("bad input"), SystemExit(0)])
def test_a_command_that_fails_or_prints_its_help_was_writing_nothing(
    home: Path, end: BaseException
) -> None:
    """As was the parent of a process of many, whose programs the next command must find."""

    def command() -> None:
        (compiling.cache_folder() / "whole-cache").touch()
        raise end

    with pytest.raises(type(end)), compiling.prepared():
        command()
    assert not list(compiling.cache_folder().glob("running-*"))
    with compiling.prepared():
        assert [entry.name for entry in entries(home)] == ["whole-cache"]
