"""The store of experiments: kept once for its settings, never handed out for others, one process at a time."""

import subprocess
import sys
from dataclasses import dataclass, replace

import pytest

from regrax.experiments import Store


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
        assert (tmp_path / ".lock").exists()
