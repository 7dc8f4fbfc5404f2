"""A sweep on a real Dask cluster: a scheduler and workers on loopback, some of them killed."""

import contextlib
import gc
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import pytest

import regrax
from regrax.cli import main
from regrax.experiments.pool import run_checked
from regrax.experiments.sweep import read_sweep, run_sweep, table

distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
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
HERE = {**os.environ, "PYTHONPATH": str(Path(regrax.__file__).parents[1])}
WORKER = ("--host", "127.0.0.1", "--nthreads", "1", "--no-nanny", "--death-timeout", "60")


@pytest.fixture
def start():
    """Start processes of this regrax, which are killed at the end of the test."""
    with contextlib.ExitStack() as stack:

        def start(*arguments, **options):
            command = [sys.executable, *map(str, arguments)]
            process = stack.enter_context(subprocess.Popen(command, env=HERE, **options))
            stack.callback(process.kill)
            return process

        yield start


@pytest.fixture
def begin_cluster(start, tmp_path):
    """Start a scheduler; return its process, its address, and a function that starts a worker."""

    def run(kind, *arguments):
        code = f"from distributed.cli import dask_{kind} as c; c.main()"
        alone = tempfile.mkdtemp(dir=tmp_path)  # shares no files with the command
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return start("-c", code, *arguments, "--no-dashboard", cwd=alone, **silent)

    def begin():
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        address = f"tcp://127.0.0.1:{port}"
        scheduler = run("scheduler", "--host", "127.0.0.1", "--port", port)
        return scheduler, address, partial(run, "worker", address, *WORKER)

    return begin


@pytest.fixture
def sweep_on(start, tmp_path):
    """Start the command on a cluster."""

    def begin(address):
        (tmp_path / "grid.toml").write_text(GRID)
        command = ("-m", "regrax", "sweep", tmp_path / "grid.toml", "--out", tmp_path / "out")
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return start(*command, "--json", "--dask", address, **pipes)

    return begin


def stored_results(out):
    return {path.name: path.stat().st_mtime_ns for path in out.glob("cells/*.safetensors")}


@pytest.mark.slow
def test_killed_workers_and_schedulers_lose_no_cell_and_change_no_number(
    begin_cluster, sweep_on, tmp_path
):
    out = tmp_path / "out"
    scheduler, address, start_worker = begin_cluster()
    victim = start_worker()
    start_worker()
    command = sweep_on(address)
    for cells, process in ((8, victim), (24, scheduler)):
        limit = time.monotonic() + PATIENCE
        while len(stored_results(out)) < cells:
            assert command.poll() is None, command.communicate()
            assert time.monotonic() < limit
            time.sleep(0.02)
        process.kill()
    printed, errors = command.communicate(timeout=60)
    assert (command.returncode, printed) == (2, "")
    assert "lost the Dask scheduler; finished cells are saved" in errors
    assert errors.count("\n") == 1
    before = stored_results(out)
    assert 24 <= len(before) < 64
    assert len(table(out)) == len(before)

    _, address, start_worker = begin_cluster()
    start_worker()
    command = sweep_on(address)
    printed, errors = command.communicate(timeout=PATIENCE)
    assert command.returncode == 0, errors
    rows = json.loads(printed)["rows"]
    assert [row["seed"] for row in rows] == list(range(64))
    assert before.items() <= stored_results(out).items()
    assert len(stored_results(out)) == 64
    here = run_sweep(read_sweep(tmp_path / "grid.toml")[:3], tmp_path / "here").rows
    for mine, theirs in zip(here, rows, strict=False):
        assert mine.measured.loss == pytest.approx(theirs["loss"], rel=1e-5)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense://x", "127.0.0.1", None])
def test_a_missing_scheduler_or_dask_is_an_error(
    address, tmp_path, capsys, monkeypatch, as_users_run_it
):
    message = f"no Dask scheduler at {address}"
    if address is None:
        monkeypatch.setitem(sys.modules, "distributed", None)
        message = "pip install 'regrax[dask]'"
    file = tmp_path / "grid.toml"
    file.write_text(GRID)
    command = ["sweep", str(file), "--out", str(tmp_path / "out"), "--dask", address or "x"]
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "0.5s"}),
        pytest.raises(SystemExit, match="2"),
    ):
        main([*command, "--json"])
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    alive = [found for found in gc.get_objects() if isinstance(found, distributed.Client)]
    assert alive == []  # a half-open client that is collected later can block the next one


def test_a_worker_with_another_regrax_raises_an_error():
    with pytest.raises(RuntimeError, match=r"workers must run regrax 0\.0\.0, got"):
        run_checked(str, 1, "0.0.0")
