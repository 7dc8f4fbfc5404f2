"""Folders of runs whose files were changed: the run goes on to the same bits, or is refused in one sentence."""

import itertools
import json
import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest
from safetensors import safe_open
from safetensors.numpy import load, save
from tests.fuzz.mutation import mutated

from regrax.checkpoints import load_model
from regrax.experiments.runs import TrainConfig, train

TOY = TrainConfig("linear", actions=2, horizon=3, steps=4, batch=8, seeds=2, sequences=20)
FILES = ("training.json", "metrics.jsonl", "state.safetensors", "seed-0.safetensors")
DEEP = b'{"a":' * 50_000


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A finished run, and one that was interrupted when the first of its models was written."""
    whole, broken = (tmp_path_factory.mktemp(name) for name in ("whole", "broken"))

    def stop(progress):
        if progress.done == 2:
            raise KeyboardInterrupt

    with (
        pytest.MonkeyPatch.context() as patch
    ):  # seconds are written: the same bytes in every run of the test
        clock = SimpleNamespace(monotonic=itertools.count().__next__)
        patch.setattr("regrax.experiments.runs.time", clock)
        train(TOY, whole)
        with pytest.raises(KeyboardInterrupt):
            train(TOY, broken, on_progress=stop, save_every=0.0)
    return whole, broken


def bits(folder):
    return [load_model(folder / f"seed-{seed}").about["sha256"] for seed in range(2)]


def gone_on(folder, name, data, to, whole):
    """Whether a copy of the folder with one file changed goes on, and then to the same bits."""
    shutil.copytree(folder, to)
    (to / name).write_bytes(data)
    try:
        train(TOY, to)
    except ValueError as error:
        return not (str(error) and len(str(error)) < 1000)
    assert bits(to) == bits(whole)
    return True


def tried(name, folders, tmp_path, cases):
    whole, broken = folders
    folder = whole if name.startswith("seed") else broken
    data = (folder / name).read_bytes()
    for number, case in enumerate(cases(data)):
        gone_on(folder, name, case, tmp_path / f"case-{number}", whole)


@pytest.mark.parametrize("name", FILES)
def test_altered_files_in_a_folder_raise_or_change_nothing(name, folders, tmp_path):
    gross = [b"", b"{}", b"[]", b"null", DEEP, b"\xff" * 100]
    tried(name, folders, tmp_path, lambda data: [*gross, *(mutated(data, s) for s in range(6))])


def undescribed(data, file):
    """The file without each field of its description in turn, and with each of another type."""
    with safe_open(file, "np") as held:
        about = json.loads(held.metadata()["regrax"])
    for field in about:
        for other in ({}, {field: None}, {field: "a"}, {field: []}, {field: -(10**30)}):
            kept = {name: value for name, value in about.items() if name != field}
            yield save(load(data), {"regrax": json.dumps(kept | other)})


@pytest.mark.parametrize("name", ["state.safetensors", "seed-0.safetensors"])
def test_a_changed_description_is_refused_or_changes_nothing(name, folders, tmp_path):
    file = folders[name.startswith("state")] / name
    tried(name, folders, tmp_path, lambda data: undescribed(data, file))


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_many_changed_files_in_folders(name, folders, tmp_path):
    tried(name, folders, tmp_path, lambda data: (mutated(data, s) for s in range(6, 200)))


def test_a_folder_without_settings_returns_no_model(folders, tmp_path):
    shutil.copytree(folders[0], tmp_path / "copy")
    (tmp_path / "copy" / "training.json").unlink()
    with pytest.raises(ValueError, match="must contain a model with horizon = 4, got 3"):
        train(replace(TOY, horizon=4), tmp_path / "copy")
