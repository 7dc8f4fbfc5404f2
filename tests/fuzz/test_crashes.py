"""What a crash leaves at any moment: every prefix of every write, and the moment before every rename and removal.

A run is watched through the three calls by which anything reaches the disk (`fsync`, `replace`, `unlink`), and at each
a copy of its folder is kept. From every copy the same command must end with the same bits; and where the disk is full
at that moment, the command ends with one line, and the same bits come once there is room.
"""

import contextlib
import errno
import json
import os
import shutil
from pathlib import Path

import pytest
from tests.paper.tiny import TinyConfig

from regrax.checkpoints import load_model
from regrax.experiments.runs import TrainConfig, train
from regrax.experiments.sweep import completed, run_sweep
from regrax.paper import reproduce

TOY = TrainConfig("linear", actions=2, horizon=3, steps=4, batch=8, seeds=2, sequences=20)
CELLS = [
    completed(TrainConfig("linear", 2, 3, steps=3, batch=8, sequences=20, rate=r))
    for r in (0.1, 0.2)
]


def run_train(folder):
    train(TOY, folder, save_every=0.0)


def run_cells(folder):
    run_sweep(CELLS, folder)


def run_paper(folder):
    reproduce(TinyConfig(quick=True, actions=2, horizon=3, only=("step-size",)), folder)


RUNS = {"train": run_train, "sweep": run_cells, "reproduce": run_paper}


def bits(folder):
    """Everything that a finished run leaves, but for the seconds that it took."""
    found = {}
    for file in sorted(folder.rglob("*")):
        name = str(file.relative_to(folder))
        if file.suffix == ".safetensors":
            found[name] = load_model(file).about["sha256"]
        elif file.suffix == ".json":
            found[name] = without_seconds(json.loads(file.read_bytes()))
        elif file.suffix == ".jsonl":
            found[name] = [
                without_seconds(json.loads(line)) for line in file.read_text().splitlines()
            ]
        elif file.is_file() and file.name != ".regrax.lock":
            found[name] = None
    return found


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


def images(folder, to):
    """Copies of the folder at every moment of a run, and what the finished run left."""
    taken, sizes = [], {}

    def copy(file, size):
        first = sizes.get(file, 0)
        lengths = [None] if size is None else sorted({first, (first + size) // 2, size - 1})
        for length in lengths:
            image = to / f"image-{len(taken)}"
            shutil.copytree(folder, image)
            if length is not None:
                os.truncate(image / file.relative_to(folder), max(length, 0))
            taken.append(image)
        sizes[file] = size or 0

    return taken, copy


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_a_crash_at_any_moment_changes_no_bit(name, tmp_path, monkeypatch):
    run, folder = RUNS[name], tmp_path / "whole"
    taken, copy = images(folder, tmp_path)
    with watched(monkeypatch, folder, copy):
        run(folder)
    whole = bits(folder)
    assert len(taken) > 5
    for image in taken:
        run(image)
        assert bits(image) == whole, image
    print(f"{name}: {len(taken)} images")


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_a_full_disk_is_an_error_and_the_run_resumes(name, tmp_path, monkeypatch):
    run, folder = RUNS[name], tmp_path / "whole"
    moments = []
    with watched(monkeypatch, folder, lambda *at: moments.append(at)):
        run(folder)
    whole = bits(folder)
    for number, (_, size) in enumerate(moments):
        if size is None:
            continue  # a rename or a removal needs no room
        there, left = tmp_path / f"full-{number}", [number]

        def full(file, size, left=left):
            left[0] -= 1
            if left[0] == -1:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))

        with watched(monkeypatch, there, full), pytest.raises((OSError, ValueError), match="space"):
            run(there)
        run(there)
        assert bits(there) == whole, number
