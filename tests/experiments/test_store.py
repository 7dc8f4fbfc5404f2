"""The store of experiments: kept once for its settings, never handed out for others, one process at a time.

Whatever else lies in a folder stays there, and a folder of others is not used.
"""

import subprocess
import sys
from dataclasses import dataclass, replace

import pytest

from regrax.cli import main
from regrax.experiments import RunFolder, Store
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
    store, calls = Store(tmp_path), []
    for config in (Config(), Config(), Config(rounds=4), Config()):

        def compute(config=config):
            calls.append(config)
            return Result([1.0 / config.rounds])

        kept = store.result("gaps", config, Result, compute)
        assert (kept.config, kept.result) == (config, Result([1.0 / config.rounds]))
    assert calls == [Config(), Config(rounds=4)]


@pytest.mark.parametrize("damage", ["copied", "cut", "other type"])
def test_what_is_not_the_result_of_these_settings_is_computed_anew(tmp_path, damage):
    store, other = Store(tmp_path), replace(Config(), rate=0.1)
    store.result("gaps", Config(), Result, lambda: Result([1.0]))
    data = store.path("gaps", Config(), ".json").read_bytes()
    data = {"copied": data, "cut": data[:-9], "other type": b'{"config":1,"result":2}'}[damage]
    store.path("gaps", other, ".json").write_bytes(data)
    kept = store.result("gaps", other, Result, lambda: Result([2.0]))
    assert kept.result.gaps == [2.0]


def test_a_result_that_is_no_number_leaves_nothing_behind(tmp_path):
    with pytest.raises(ValueError, match="Expected `float`, got `null`"):
        Store(tmp_path).result("gaps", Config(), Result, lambda: Result([float("nan")]))
    assert list(tmp_path.iterdir()) == []


HOLD = """
import sys, time
from regrax.experiments import Store
with Store(sys.argv[1]).held():
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_folder_is_one_process_s_until_that_process_is_gone(tmp_path):
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(ValueError, match=r"another process is at work in .*: wait for it, or"):
        Store(tmp_path).held().__enter__()
    holder.kill()
    holder.wait()
    holder.stdout.close()
    with Store(tmp_path).held():
        assert (tmp_path / ".regrax.lock").exists()


TOY = TrainConfig("linear", actions=2, horizon=3, steps=2, batch=8, sequences=20)
RUNS = {
    "train": lambda folder: train(TOY, folder),
    "sweep": lambda folder: run_sweep([completed(TOY)], folder),
    "reproduce": lambda folder: reproduce(
        ReproduceConfig(quick=True, actions=2, horizon=3, only=("step-size",)), folder
    ),
    "own store": lambda folder: own_results(folder),
    "own run": lambda folder: own_run(folder),
}
UNFINISHED = ".state.safetensors.17.regrax.tmp"
FOREIGN = (
    "notes.txt",
    ".hidden",
    ".draft.tmp",
    ".state.safetensors.17.tmp",
    "results.csv",
    "a/b.tmp",
)
FOREIGN_BELOW = ("a/.draft.tmp", f"a/b/{UNFINISHED}", ".git/.index.tmp", "cells/.x.1.tmp")


def own_results(folder):
    store = Store(folder)
    with store.held():
        store.result("gaps", Config(), Result, lambda: Result([1.0]))


def own_run(folder):
    with RunFolder(folder).held({"steps": 3}):
        pass


def planted(folder, names):
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"mine: {name}")


def texts(folder, names):
    return [(folder / name).read_text() for name in names]


@pytest.mark.parametrize("name", RUNS)
def test_a_run_removes_nothing_that_it_did_not_make(name, tmp_path):
    folder = tmp_path / "run"
    RUNS[name](folder)
    names = [*FOREIGN, *FOREIGN_BELOW]
    names.remove("results.csv")  # a sweep's own
    planted(folder, names)
    planted(tmp_path, ["outside.txt", "elsewhere/.draft.tmp"])
    (folder / ".linked.5.regrax.tmp").symlink_to(tmp_path / "outside.txt")
    (folder / "linked").symlink_to(tmp_path / "elsewhere")
    (folder / UNFINISHED).write_text("left by a killed process")
    RUNS[name](folder)
    assert texts(folder, names) == [f"mine: {name}" for name in names]
    assert (folder / ".linked.5.regrax.tmp").read_text() == "mine: outside.txt"
    assert (folder / "linked" / ".draft.tmp").exists()
    assert not (folder / UNFINISHED).exists()


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("file", [*FOREIGN, "sweep.json", "cells/.draft.tmp", "link"])
def test_a_folder_of_others_is_refused_untouched(name, file, tmp_path):
    folder = tmp_path / "mine"
    planted(tmp_path, ["outside.txt"])
    if file == "link":
        folder.mkdir()
        (folder / file).symlink_to(tmp_path / "outside.txt")
    else:
        planted(folder, [file])
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ValueError, match="holds files that are not of regrax, such as"):
        RUNS[name](folder)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", RUNS)
def test_folders_of_earlier_versions_are_recognised(name, tmp_path):
    folder = tmp_path / "run"
    RUNS[name](folder)
    (folder / ".regrax.lock").rename(folder / ".lock")
    planted(folder, ["notes.txt"])
    RUNS[name](folder)
    assert (folder / "notes.txt").exists()


def test_a_run_killed_before_its_first_file_is_continued(tmp_path):
    for name in (".lock", ".training.json.12.regrax.tmp"):
        (tmp_path / name).touch()
    train(TOY, tmp_path)


def test_train_refuses_a_folder_of_others_in_one_line(tmp_path, capsys):
    planted(tmp_path, ["thesis.tex"])
    with pytest.raises(SystemExit, match="2"):
        main(
            [
                "train",
                "--model",
                "linear",
                "--actions",
                "2",
                "--horizon",
                "3",
                "--out",
                str(tmp_path),
            ]
        )
    said = capsys.readouterr().err
    assert "such as thesis.tex: choose a new or an empty folder" in said
    assert said.count("\n") == 1
