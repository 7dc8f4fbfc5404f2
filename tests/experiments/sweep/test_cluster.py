"""A sweep on a real Dask cluster: a scheduler and workers on loopback, some of them killed in the middle."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import regrax
from regrax.cli import main
from regrax.experiments.sweep import read_sweep, run_sweep, table

pytest.importorskip("distributed", reason="the extra `dask` is not installed")

GRID = """
model = "linear"
actions = 2
horizon = 5
steps = 600
batch = 256
seeds = 64
sequences = 2000
"""
PATIENCE = 300  # seconds; it takes twenty on two cores, and more where they are shared
HERE = {
    **os.environ,
    "PYTHONPATH": str(Path(regrax.__file__).parents[1]),
}  # processes run this regrax


class Cluster:
    """Processes on 127.0.0.1, in folders of their own: they share no files with the command."""

    def __init__(self, folder):
        self.folder, self.processes = folder, []
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
        port = self.address.rpartition(":")[2]
        self.scheduler = self.start("scheduler", "--host", "127.0.0.1", "--port", port)

    def worker(self):
        alone = ("--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", "--death-timeout", "60")
        return self.start("worker", self.address, *alone)

    def start(self, kind, *arguments):
        code = f"from distributed.cli import dask_{kind} as c; c.main()"
        home = self.folder / f"{kind}-{len(self.processes)}"
        home.mkdir()
        command = [sys.executable, "-c", code, *arguments, "--no-dashboard"]
        with (home / "log").open("w") as log:
            process = subprocess.Popen(command, cwd=home, env=HERE, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def close(self):
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path):
    made = []

    def start():
        made.append(Cluster(tmp_path / f"cluster-{len(made)}"))
        return made[-1]

    for place in range(3):
        (tmp_path / f"cluster-{place}").mkdir()
    yield start
    for one in made:
        one.close()


@pytest.fixture
def begun(cluster):
    """Begin the command on a cluster; what a failing test leaves running is ended."""
    running = []

    def begin(file, out, address):
        running.append(_begun(file, out, address))
        return running[-1]

    yield begin
    for process in running:
        with process, contextlib.suppress(ProcessLookupError):
            process.kill()


def _begun(file, out, address):
    command = [sys.executable, "-m", "regrax", "sweep", str(file), "--out", str(out), "--json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([*command, "--dask", address], env=HERE, text=True, **pipes)


def stored_results(out):
    return {path.name: path.stat().st_mtime_ns for path in out.glob("cells/*.safetensors")}


def wait_for(condition, process):
    limit = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < limit
        time.sleep(0.02)


@pytest.mark.slow
def test_killed_workers_and_a_killed_scheduler_lose_nothing_and_repeat_nothing(
    cluster, begun, tmp_path
):
    file, out = tmp_path / "grid.toml", tmp_path / "out"
    file.write_text(GRID)
    first = cluster()
    victim, _ = first.worker(), first.worker()
    command = begun(file, out, first.address)
    wait_for(lambda: len(stored_results(out)) >= 8, command)
    os.kill(victim.pid, signal.SIGKILL)
    wait_for(lambda: len(stored_results(out)) >= 24, command)
    os.kill(first.scheduler.pid, signal.SIGKILL)
    printed, told = command.communicate(timeout=60)  # it does not wait for what will not come back
    assert command.returncode == 2
    assert (
        f"the Dask scheduler at {first.address} was lost; every cell that was finished is kept"
        in told
    )
    assert told.count("\n") == 1
    assert printed == ""
    before = stored_results(out)
    assert 24 <= len(before) < 64
    assert len(table(out)) == len(before)
    first.close()

    second = cluster()
    second.worker()
    command = begun(file, out, second.address)
    printed, told = command.communicate(timeout=PATIENCE)
    assert command.returncode == 0, told
    rows = json.loads(printed)["rows"]
    assert [row["seed"] for row in rows] == list(range(64))
    assert before.items() <= stored_results(out).items()
    assert len(stored_results(out)) == 64


@pytest.mark.slow
def test_the_numbers_are_those_of_a_run_without_a_cluster(cluster, begun, tmp_path):
    file = tmp_path / "grid.toml"
    file.write_text(GRID.replace("600", "20").replace("64", "3"))
    one = cluster()
    one.worker()
    command = begun(file, tmp_path / "there", one.address)
    printed, told = command.communicate(timeout=PATIENCE)
    assert command.returncode == 0, told
    here = run_sweep(read_sweep(file), tmp_path / "here").rows
    for mine, theirs in zip(here, json.loads(printed)["rows"], strict=True):
        assert mine.config.first_seed == theirs["seed"]
        assert mine.measured.loss == pytest.approx(theirs["loss"], rel=1e-5)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://x", "127.0.0.1"])
def test_an_address_where_nobody_answers_is_an_error(
    address, tmp_path, capsys, monkeypatch, as_users_run_it
):
    monkeypatch.setattr("regrax.experiments._pool.PATIENCE_SECONDS", 0.5)
    file = tmp_path / "grid.toml"
    file.write_text(GRID)
    with pytest.raises(SystemExit, match="2"):
        main(["sweep", str(file), "--out", str(tmp_path / "out"), "--dask", address, "--json"])
    told = capsys.readouterr().err
    assert f"no Dask scheduler answers at {address}" in told
    assert told.count("\n") == 1


def test_without_the_extra_the_command_says_what_to_install(
    tmp_path, capsys, monkeypatch, as_users_run_it
):
    monkeypatch.setitem(sys.modules, "distributed", None)
    file = tmp_path / "grid.toml"
    file.write_text(GRID)
    with pytest.raises(SystemExit, match="2"):
        main(["sweep", str(file), "--out", str(tmp_path / "out"), "--dask", "tcp://127.0.0.1:9"])
    assert "pip install 'regrax[dask]'" in capsys.readouterr().err
