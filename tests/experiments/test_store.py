"""The store: results are reused only for equal settings, folders are locked, and foreign files are left alone."""

import subprocess
import sys
from dataclasses import dataclass, replace

import pytest

from regrax import experiments
from regrax.experiments import Store
from regrax.experiments.runs import TrainConfig, train
from regrax.experiments.sweep import completed, run_sweep
from regrax.paper import ReproduceConfig, reproduce


@dataclass(frozen=True)
class Config:
    rounds: int = 3
    rate: float = 0.5


@dataclass(frozen=True)
class Result:
    gaps: list[float]


def test_a_result_is_computed_once_for_its_settings(tmp_path):
    calls = []
    for config in (Config(), Config(), Config(rounds=4), Config()):

        def compute(config=config):
            calls.append(config)
            return Result([1.0 / config.rounds])

        stored = Store(tmp_path).result("gaps", config, Result, compute)
        assert (stored.config, stored.result) == (config, Result([1.0 / config.rounds]))
    assert calls == [Config(), Config(rounds=4)]


@pytest.mark.parametrize("damage", ["copied", "cut", "other type"])
def test_a_damaged_result_is_computed_again(tmp_path, damage):
    store = Store(tmp_path)
    other = replace(Config(), rate=0.1)
    store.result("gaps", Config(), Result, lambda: Result([1.0]))
    data = store.path("gaps", Config(), ".json").read_bytes()
    data = {"copied": data, "cut": data[:-9], "other type": b'{"config":1,"result":2}'}[damage]
    store.path("gaps", other, ".json").write_bytes(data)
    assert store.result("gaps", other, Result, lambda: Result([2.0])).result.gaps == [2.0]


def test_a_nan_result_leaves_no_file(tmp_path):
    with pytest.raises(ValueError, match="Expected `float`, got `null`"):
        Store(tmp_path).result("gaps", Config(), Result, lambda: Result([float("nan")]))
    assert list(tmp_path.iterdir()) == []


def test_the_old_name_of_a_result_warns():
    with pytest.warns(DeprecationWarning, match="now experiments.StoredResult"):
        assert experiments.Kept is experiments.StoredResult
    with pytest.warns(DeprecationWarning, match="RunFolder is now experiments.Store"):
        assert experiments.RunFolder is experiments.Store


LOCK = """
import sys, time
from regrax.experiments import Store
with Store(sys.argv[1]).locked():
    print("locked", flush=True)
    time.sleep(600)
"""


def test_a_lock_ends_with_its_process(tmp_path):
    holder = subprocess.Popen([sys.executable, "-c", LOCK, str(tmp_path)], stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"locked\n"
    with pytest.raises(ValueError, match=r"another process is using .*: wait for it to finish, or"):
        Store(tmp_path).locked().__enter__()
    holder.kill()
    holder.communicate()
    with Store(tmp_path).locked():
        assert (tmp_path / ".regrax.lock").exists()


TOY = TrainConfig("linear", actions=2, horizon=3, steps=2, batch=8, sequences=20)
PAPER = ReproduceConfig(quick=True, actions=2, horizon=3, only=("step-size",))


def store_result(folder):
    store = Store(folder)
    with store.locked():
        store.result("gaps", Config(), Result, lambda: Result([1.0]))


def begin_run(folder):
    with Store(folder).locked({"steps": 3}):
        pass


RUNS = {
    "train": lambda folder: train(TOY, folder),
    "sweep": lambda folder: run_sweep([completed(TOY)], folder),
    "reproduce": lambda folder: reproduce(PAPER, folder),
    "result": store_result,
    "run": begin_run,
}
NAMES = [name for name in RUNS if name != "reproduce"]
NAMES.append(pytest.param("reproduce", marks=pytest.mark.slow))
UNFINISHED = ".state.safetensors.17.regrax.tmp"
FOREIGN = ("notes.txt", ".hidden", ".draft.tmp", ".state.safetensors.17.tmp", "a/b.tmp")
FOREIGN_BELOW = ("a/.draft.tmp", f"a/b/{UNFINISHED}", ".git/.index.tmp", "cells/.x.1.tmp")


def plant(folder, names):
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"mine: {name}")


@pytest.mark.parametrize("name", NAMES)
def test_a_run_removes_only_its_own_files(name, tmp_path):
    """Folders of earlier versions, which have another lock, are recognised."""
    folder = tmp_path / "run"
    RUNS[name](folder)
    names = [*FOREIGN, *FOREIGN_BELOW]
    plant(folder, names)
    plant(tmp_path, ["outside.txt", "elsewhere/.draft.tmp"])
    (folder / ".linked.5.regrax.tmp").symlink_to(tmp_path / "outside.txt")
    (folder / "linked").symlink_to(tmp_path / "elsewhere")
    (folder / UNFINISHED).write_text("left by a killed process")
    (folder / ".regrax.lock").rename(folder / ".lock")
    RUNS[name](folder)
    assert [(folder / own).read_text() for own in names] == [f"mine: {own}" for own in names]
    assert (folder / ".linked.5.regrax.tmp").read_text() == "mine: outside.txt"
    assert (folder / "linked" / ".draft.tmp").exists()
    assert not (folder / UNFINISHED).exists()


@pytest.mark.parametrize("file", [*FOREIGN, "sweep.json", "results.csv", "cells/.draft.tmp"])
def test_a_folder_with_foreign_files_is_not_touched(file, tmp_path):
    plant(tmp_path / "mine", [file])
    before = sorted(tmp_path.rglob("*"))
    for run in RUNS.values():
        with pytest.raises(ValueError, match="has files that regrax did not write, such as"):
            run(tmp_path / "mine")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", RUNS)
def test_a_second_process_in_the_folder_raises_an_error(name, tmp_path):
    with Store(tmp_path).locked(), pytest.raises(ValueError, match="another process is using"):
        RUNS[name](tmp_path)


def test_a_run_killed_before_its_first_file_can_start(tmp_path):
    for name in (".lock", ".training.json.12.regrax.tmp"):
        (tmp_path / name).touch()
    train(TOY, tmp_path)
