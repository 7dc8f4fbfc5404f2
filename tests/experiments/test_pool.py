"""A sweep on a real Dask cluster: a scheduler and workers on loopback, some of them killed."""

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
from regrax.experiments.pool import run_checked
from regrax.experiments.sweep import read_sweep, run_sweep, table

pytest.importorskip("distributed", reason="the extra `dask` is not installed")
dask = pytest.importorskip("dask")

GRID = """
model = "linear"
actions = 2
horizon = 5
steps = 600
batch = 256
seeds = 64
sequences = 2000
"""
PATIENCE = 300  # seconds before a test gives up
HERE = {
    **os.environ,
    "PYTHONPATH": str(Path(regrax.__file__).parents[1]),
}  # processes run this regrax


class Cluster:
    """Processes on 127.0.0.1, each in its own folder: they share no files with the command."""

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
    for started in made:
        started.close()


@pytest.fixture
def begun(cluster):
    """Start the command on a cluster, and kill it if a test fails."""
    running = []

    def begin(file, out, address):
        command = [sys.executable, "-m", "regrax", "sweep", str(file), "--out", str(out), "--json"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen([*command, "--dask", address], env=HERE, text=True, **pipes)
        running.append(process)
        return process

    yield begin
    for process in running:
        with process, contextlib.suppress(ProcessLookupError):
            process.kill()


def stored_results(out):
    return {path.name: path.stat().st_mtime_ns for path in out.glob("cells/*.safetensors")}


def wait_for(condition, process):
    limit = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < limit
        time.sleep(0.02)


@pytest.mark.slow
def test_killed_workers_and_schedulers_lose_no_cell(cluster, begun, tmp_path):
    file, out = tmp_path / "grid.toml", tmp_path / "out"
    file.write_text(GRID)
    first = cluster()
    victim, _ = first.worker(), first.worker()
    command = begun(file, out, first.address)
    wait_for(lambda: len(stored_results(out)) >= 8, command)
    os.kill(victim.pid, signal.SIGKILL)
    wait_for(lambda: len(stored_results(out)) >= 24, command)
    os.kill(first.scheduler.pid, signal.SIGKILL)
    printed, errors = command.communicate(timeout=60)
    assert command.returncode == 2
    assert "lost the Dask scheduler; finished cells are saved" in errors
    assert errors.count("\n") == 1
    assert printed == ""
    before = stored_results(out)
    assert 24 <= len(before) < 64
    assert len(table(out)) == len(before)
    first.close()

    second = cluster()
    second.worker()
    command = begun(file, out, second.address)
    printed, errors = command.communicate(timeout=PATIENCE)
    assert command.returncode == 0, errors
    rows = json.loads(printed)["rows"]
    assert [row["seed"] for row in rows] == list(range(64))
    assert before.items() <= stored_results(out).items()
    assert len(stored_results(out)) == 64


@pytest.mark.slow
def test_a_cluster_gives_the_numbers_of_one_process(cluster, begun, tmp_path):
    file = tmp_path / "grid.toml"
    file.write_text(GRID.replace("600", "20").replace("64", "3"))
    small = cluster()
    small.worker()
    command = begun(file, tmp_path / "there", small.address)
    printed, errors = command.communicate(timeout=PATIENCE)
    assert command.returncode == 0, errors
    here = run_sweep(read_sweep(file), tmp_path / "here").rows
    for mine, theirs in zip(here, json.loads(printed)["rows"], strict=True):
        assert mine.config.first_seed == theirs["seed"]
        assert mine.measured.loss == pytest.approx(theirs["loss"], rel=1e-5)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://x", "127.0.0.1"])
def test_an_address_without_a_scheduler_is_an_error(address, tmp_path, capsys, as_users_run_it):
    file = tmp_path / "grid.toml"
    file.write_text(GRID)
    command = ["sweep", str(file), "--out", str(tmp_path / "out"), "--dask", address, "--json"]
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "0.5s"}),
        pytest.raises(SystemExit, match="2"),
    ):
        main(command)
    error = capsys.readouterr().err
    assert f"no Dask scheduler at {address}" in error
    assert error.count("\n") == 1


def test_without_dask_the_command_prints_what_to_install(
    tmp_path, capsys, monkeypatch, as_users_run_it
):
    monkeypatch.setitem(sys.modules, "distributed", None)
    file = tmp_path / "grid.toml"
    file.write_text(GRID)
    with pytest.raises(SystemExit, match="2"):
        main(["sweep", str(file), "--out", str(tmp_path / "out"), "--dask", "tcp://127.0.0.1:9"])
    assert "pip install 'regrax[dask]'" in capsys.readouterr().err


def test_a_worker_with_another_regrax_raises_an_error():
    with pytest.raises(RuntimeError, match=r"workers must run regrax 0\.0\.0, got"):
        run_checked(str, 1, "0.0.0")
