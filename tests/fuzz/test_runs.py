"""Folders of runs after a crash, on a full disk, or with altered files.

A run is watched through the three calls by which anything reaches the disk (`fsync`, `replace`, `unlink`), and at each
a copy of its folder is kept, with every prefix of a write. From every copy the same command must end with the same
bits. Where the disk is full at that moment, the command fails, and the same bits come once there is room. With an
altered file the run goes on to the same bits, or is refused in one sentence.
"""

import contextlib
import errno
import itertools
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from safetensors import safe_open
from safetensors.numpy import load, save
from tests.fuzz.mutation import mutated
from tests.fuzz.readers import refusal
from tests.paper.tiny import TinyConfig

from regrax.checkpoints import load_model
from regrax.experiments.runs import TrainConfig, train
from regrax.experiments.sweep import completed, run_sweep
from regrax.paper import reproduce

TOY = TrainConfig("linear", actions=2, horizon=3, steps=4, batch=8, seeds=2, sequences=20)
CELL = completed(TrainConfig("linear", 2, 3, steps=3, batch=8, sequences=20))
PAPER = TinyConfig(quick=True, actions=2, horizon=3, only=("step-size",))
RUNS = {
    "train": lambda folder: train(TOY, folder, save_every=0.0),
    "sweep": lambda folder: run_sweep([replace(CELL, rate=rate) for rate in (0.1, 0.2)], folder),
    "reproduce": lambda folder: reproduce(PAPER, folder),
}
FILES = ("training.json", "metrics.jsonl", "state.safetensors", "seed-0.safetensors")
GROSS = (b"", b"{}", b"[]", b"null", b'{"a":' * 50_000, b"\xff" * 100)


def bits(folder):
    """Everything that a finished run leaves, but for the seconds that it took."""
    left = {}
    for file in sorted(folder.rglob("*")):
        name = str(file.relative_to(folder))
        if file.suffix == ".safetensors":
            left[name] = load_model(file).about["sha256"]
        elif file.suffix in (".json", ".jsonl"):
            lines = file.read_text().splitlines() if file.suffix == ".jsonl" else [file.read_text()]
            left[name] = [without_seconds(json.loads(line)) for line in lines]
        elif file.is_file() and file.name != ".regrax.lock":
            left[name] = None
    return left


def without_seconds(value):
    if isinstance(value, dict):
        return {k: without_seconds(v) for k, v in value.items() if k not in ("seconds", "file")}
    return [without_seconds(v) for v in value] if isinstance(value, list) else value


@contextlib.contextmanager
def watched(monkeypatch, folder, on_moment):
    """Call `on_moment` with a file and how much of it is there, or None before a rename or a removal."""

    def ours(path):
        return Path(path).absolute().is_relative_to(folder)

    with monkeypatch.context() as patch:
        for call in (os.replace, os.unlink):

            def moved(path, *more, call=call, **named):
                if ours(path):
                    on_moment(Path(path), None)
                return call(path, *more, **named)

            patch.setattr(os, call.__name__, moved)

        def synced(number, call=os.fsync):
            file = Path(f"/proc/self/fd/{number}").resolve()
            if ours(file):
                on_moment(file, file.stat().st_size)
            return call(number)

        patch.setattr(os, "fsync", synced)
        yield


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_a_crash_at_any_moment_changes_no_bit(name, tmp_path, monkeypatch):
    folder = tmp_path / "whole"
    images = []
    sizes = {}

    def copy(file, size):
        first = sizes.get(file, 0)
        lengths = [None] if size is None else sorted({first, (first + size) // 2, size - 1})
        for length in lengths:
            image = tmp_path / f"image-{len(images)}"
            shutil.copytree(folder, image)
            if length is not None:
                os.truncate(image / file.relative_to(folder), max(length, 0))
            images.append(image)
        sizes[file] = size or 0

    with watched(monkeypatch, folder, copy):
        RUNS[name](folder)
    whole = bits(folder)
    assert len(images) > 5
    for image in images:
        RUNS[name](image)
        assert bits(image) == whole, image


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_a_full_disk_is_an_error_and_the_run_resumes(name, tmp_path, monkeypatch):
    run = RUNS[name]
    moments = []
    with watched(monkeypatch, tmp_path / "whole", lambda *at: moments.append(at)):
        run(tmp_path / "whole")
    whole = bits(tmp_path / "whole")
    for number, (_, size) in enumerate(moments):
        if size is None:
            continue  # a rename or a removal needs no room
        folder = tmp_path / f"full-{number}"
        left = itertools.count(number, -1)

        def full(file, size, left=left):
            if next(left) == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))

        failing = pytest.raises((OSError, ValueError), match="space")
        with watched(monkeypatch, folder, full), failing:
            run(folder)
        run(folder)
        assert bits(folder) == whole, number


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A finished run, and one that was interrupted when the first of its models was written."""
    whole, broken = (tmp_path_factory.mktemp(name) for name in ("whole", "broken"))

    def stop(progress):
        if progress.done == 2:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:  # seconds are written: the same bytes in every run
        clock = SimpleNamespace(monotonic=itertools.count().__next__)
        patch.setattr("regrax.experiments.runs.time", clock)
        train(TOY, whole)
        with pytest.raises(KeyboardInterrupt):
            train(TOY, broken, on_progress=stop, save_every=0.0)
    return whole, broken


def models(folder):
    return [load_model(folder / f"seed-{seed}").about["sha256"] for seed in range(2)]


def undescribed(data, file):
    """The file without each field of its description in turn, and with each of another type."""
    if file.suffix != ".safetensors":
        return
    with safe_open(file, "np") as held:
        about = json.loads(held.metadata()["regrax"])
    for field in about:
        for other in ({}, {field: None}, {field: "a"}, {field: []}, {field: -(10**30)}):
            rest = {name: value for name, value in about.items() if name != field}
            yield save(load(data), {"regrax": json.dumps(rest | other)})


CASES = {
    "gross": lambda data, _: GROSS,
    "few": lambda data, _: (mutated(data, seed) for seed in range(6)),
    "many": lambda data, _: (mutated(data, seed) for seed in range(6, 200)),
    "undescribed": undescribed,
}
KINDS = ["gross", "few", "undescribed", pytest.param("many", marks=pytest.mark.slow)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FILES)
def test_altered_files_in_a_folder_raise_or_change_nothing(name, kind, folders, tmp_path):
    whole, broken = folders
    folder = whole if name.startswith("seed") else broken
    cases = CASES[kind]((folder / name).read_bytes(), folder / name)
    for number, case in enumerate(cases):
        copy = tmp_path / f"case-{number}"
        shutil.copytree(folder, copy)
        (copy / name).write_bytes(case)
        message = refusal(train, TOY, copy)
        assert len(message) < 1000
        assert message or models(copy) == models(whole)


def test_a_folder_without_settings_returns_no_model(folders, tmp_path):
    shutil.copytree(folders[0], tmp_path / "copy")
    (tmp_path / "copy" / "training.json").unlink()
    with pytest.raises(ValueError, match="must contain a model with horizon = 4, got 3"):
        train(replace(TOY, horizon=4), tmp_path / "copy")
