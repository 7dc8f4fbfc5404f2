"""Many devices and many processes: the same numbers as on one, and a clear end when a process is lost."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.xla_flags import quick_flags

from regrax.checkpoints import load_model
from regrax.cli import main
from regrax.experiments.runs import TrainConfig, train

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "scaling.md"
DOUBLE, SINGLE = 1e-10, 1e-5  # largest relative difference
LOST = 3  # exit code
BOUND = 40.0  # seconds until the survivors of a loss have left: a heartbeat's 20 and some air

WORKER = ["train", "--model", "linear", "--actions", "2", "--horizon", "5", "--steps", "300"]
WORKER += ["--batch", "512", "--save-every", "0", "--json"]
SETTINGS = TrainConfig("linear", actions=2, horizon=5, steps=300, batch=512)


def environment(devices=1):
    flags = f"--xla_force_host_platform_device_count={devices} {quick_flags()}"
    source = str(HERE.parent / "src")
    return {**os.environ, "XLA_FLAGS": flags, "PYTHONPATH": source, "JAX_PLATFORMS": "cpu"}


def started(*arguments, devices=1):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, *arguments], env=environment(devices), **pipes)


def ended(process, seconds=400):
    """The output of a process that must end well."""
    try:
        output, errors = process.communicate(timeout=seconds)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    return output


def address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def worked(names, *counts, devices):
    """The numbers of every work, for each of several counts of devices in one process."""
    script = str(HERE / "shared_work.py")
    found = ended(started(script, names, ",".join(map(str, counts)), devices=devices))
    return [json.loads(line) for line in found.splitlines()]


def worked_together(names, count):
    """The numbers of every work, by several processes on loopback."""
    script, where = str(HERE / "shared_work.py"), address()
    every = [started(script, names, "all", where, str(count), str(i)) for i in range(count)]
    outputs = [ended(process) for process in every]
    assert not any(outputs[1:]), "only the first process speaks"
    return json.loads(outputs[0].splitlines()[-1])


def differences(computed, expected):
    """The largest relative difference of each work; numbers near zero count as 0.001."""
    assert computed.keys() == expected.keys()
    return {
        name: float(
            np.max(np.abs(np.subtract(computed[name], own)) / np.maximum(np.abs(own), 1e-3))
        )
        for name, own in expected.items()
    }


def test_settings_are_checked_before_a_device_is_started():
    code = """
from jax._src import xla_bridge
from regrax.experiments.runs import TrainConfig
for model in ("linear", "full", "swap", "transformer"):
    TrainConfig(model, actions=3, horizon=4).shapes()
assert not xla_bridge.backends_are_initialized()
"""
    ended(started("-c", code))


@pytest.mark.slow
@pytest.mark.parametrize(("names", "counts"), [("linear", [3]), ("matches", [3, 8])])
def test_many_devices_give_the_numbers_of_one(names, counts):
    one, *many = worked(names, "none", *counts, devices=counts[-1])
    assert max(max(differences(numbers, one).values()) for numbers in many) < DOUBLE


@pytest.mark.slow
def test_the_table_of_equality_in_the_docs_holds():
    one, two, eight = worked("all", "none", 2, 8, devices=8)
    found = {"2 devices": two, "8 devices": eight}
    found |= {f"{count} processes": worked_together("all", count) for count in (2, 4)}
    measured = {name: differences(numbers, one) for name, numbers in found.items()}
    print(json.dumps(measured, indent=1))
    rows = documented()
    assert rows.keys() == one.keys()
    for work, bounds in rows.items():
        assert bounds.keys() == measured.keys()
        for where, bound in bounds.items():
            assert measured[where][work] <= bound, (work, where)


def documented():
    """The table of the page: for every work, the largest difference it admits in every column."""
    lines = [line for line in PAGE.read_text().splitlines() if re.match(r"\| (work|`\w+`)", line)]
    (_, _, *columns), *rows = (
        [cell.strip() for cell in line.strip("| ").split("|")] for line in lines
    )
    return {
        row[0].strip("`"): {name: float(cell) for name, cell in zip(columns, row[2:], strict=True)}
        for row in rows
    }


def launched(out, count, *more):
    where = address()
    shared = [*WORKER, "--out", str(out), "--coordinator", where, "--processes", str(count), *more]
    return [
        started("-m", "regrax", *shared, "--process-id", str(process_id))
        for process_id in range(count)
    ]


def killed_in_the_middle(out, count, victim):
    """Kill one of `count` processes with SIGKILL as soon as a state is kept; the others must leave by themselves."""
    every = launched(out, count)
    try:
        limit = time.monotonic() + 300
        while not (out / "state.safetensors").exists():
            assert all(process.poll() is None for process in every), "ended before the kill"
            assert time.monotonic() < limit
            time.sleep(0.01)
        os.kill(every[victim].pid, signal.SIGKILL)
        ends = [process.communicate(timeout=BOUND) for process in every]
    finally:
        for process in every:
            process.kill()
            process.wait()
    for process, (_, errors) in zip(every, ends, strict=True):
        if process is not every[victim]:
            assert process.returncode == LOST, errors
            assert "regrax: error: another process of this run was lost" in errors
    assert not (out / "seed-0.safetensors").exists()


def assert_as_if_undisturbed(out, reference):
    train(SETTINGS, reference)
    found, expected = (load_model(folder / "seed-0").model for folder in (out, reference))
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-4, atol=1e-5)
    steps = [json.loads(line)["step"] for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert steps == list(range(3, 301, 3))
    assert not list(out.glob("state*"))


@pytest.mark.slow
def test_a_killed_process_stops_the_other_and_one_alone_resumes(tmp_path):
    out = tmp_path / "run"
    killed_in_the_middle(out, 2, victim=1)
    ended(started("-m", "regrax", *WORKER, "--out", str(out), "--resume"))
    assert_as_if_undisturbed(out, tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 3])
def test_four_processes_lose_one_and_two_resume(tmp_path, victim):
    out = tmp_path / "run"
    killed_in_the_middle(out, 4, victim)
    first, second = (ended(process) for process in launched(out, 2, "--resume"))
    assert json.loads(first)["seeds"][0]["loss"] > 0
    assert not second
    assert_as_if_undisturbed(out, tmp_path / "whole")
    again = [ended(process) for process in launched(out, 2, "--resume")]  # read, not repeated
    assert json.loads(again[0]) == json.loads(first)


@pytest.mark.slow
def test_an_error_of_the_first_process_is_the_error_of_all(tmp_path):
    train(SETTINGS, tmp_path)
    for process in launched(tmp_path, 2):
        _, errors = process.communicate(timeout=200)
        assert process.returncode == 2
        assert "holds a training already: --resume goes on with it" in errors


@pytest.mark.slow
def test_processes_with_other_settings_are_refused(tmp_path):
    where, out = address(), str(tmp_path / "run")
    shared = [*WORKER, "--out", out, "--coordinator", where, "--processes", "2"]
    first = started("-m", "regrax", *shared, "--process-id", "0")
    other = started("-m", "regrax", *shared, "--process-id", "1", "--rate", "0.5")
    _, errors = other.communicate(timeout=200)
    assert other.returncode == 2, errors
    assert "must be started alike, got rate = 0.5 here and None in the first" in errors
    first.communicate(timeout=BOUND)
    assert first.returncode == LOST


@pytest.mark.slow
@pytest.mark.parametrize("own", [0, 1])
def test_a_missing_process_is_not_waited_for_without_end(own):
    script = "from regrax import distributed; distributed.START_SECONDS = 3.0; "
    script += f"distributed.join({address()!r}, 2, {own})"
    process = started("-c", script)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == LOST
    assert "not all of 2 processes reached 127.0.0.1" in errors


@pytest.mark.slow
def test_where_nothing_is_detected_nothing_is_joined(tmp_path):
    process = started("-m", "regrax", *WORKER, "--out", str(tmp_path), "--coordinator", "auto")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "no launcher of several processes was detected" in errors


@pytest.mark.slow
def test_a_job_of_slurm_is_joined_without_naming_a_coordinator(tmp_path):
    job = 40_000 + os.getpid() % 4096
    port = 65535 - 2**12 + 1 + job % 2**12
    every = []
    for own in range(2):
        task = {"SLURM_JOB_ID": job, "SLURM_STEP_NODELIST": "localhost", "SLURM_NTASKS": 2}
        task |= {"SLURM_PROCID": own, "SLURM_LOCALID": own, "SLURM_STEP_NUM_TASKS": 2}
        task |= {"JAX_COORDINATOR_BIND_ADDRESS": f"127.0.0.1:{port}"}
        own = {**environment(), **{name: str(value) for name, value in task.items()}}
        command = [sys.executable, "-m", "regrax", *WORKER, "--out", str(tmp_path / "run")]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        every.append(subprocess.Popen(command, env=own, **pipes))
    first, second = (ended(process) for process in every)
    assert json.loads(first)
    assert not second
    assert_as_if_undisturbed(tmp_path / "run", tmp_path / "whole")


@pytest.mark.slow
def test_a_process_id_that_is_taken_is_told(tmp_path):
    where = ["--out", str(tmp_path / "run"), "--coordinator", address(), "--processes", "3"]
    every = [started("-m", "regrax", *WORKER, *where, "--process-id", i) for i in ("0", "1", "1")]
    try:
        limit = time.monotonic() + 100
        while all(process.poll() is None for process in every):
            assert time.monotonic() < limit
            time.sleep(0.05)
        ends = [process for process in every if process.poll() is not None]
        assert ends[0].returncode == LOST
        assert "was not let in: is its --process-id taken already?" in ends[0].stderr.read()
    finally:
        for process in every:
            process.kill()
            process.communicate()


@pytest.fixture
def here(monkeypatch, as_users_run_it):
    """The command in this process, not in a child of it."""
    monkeypatch.setenv("REGRAX_PARENT", "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--devices", "some"], "--devices must be all or a number above 0, got some"),
        (["--devices", "0"], "--devices must be all or a number above 0, got 0"),
        (["--devices", "64"], "--devices asks for 64 devices, but there are 1 here; XLA_FLAGS="),
        (["--processes", "2"], "--processes and --process-id need a --coordinator HOST:PORT"),
        (["--coordinator", "here"], "the coordinator must be HOST:PORT, got 'here'"),
        (["--coordinator", "127.0.0.1:99999"], "the coordinator must be HOST:PORT, got '127"),
        (["--coordinator", "127.0.0.1:1"], "needs the number of processes and the id of this one"),
        (["--coordinator", "127.0.0.1:1", "--processes", "2", "--process-id", "2"],
         "process_id must be below processes = 2 (the first is 0), got 2"),
        (["--coordinator", "no.such.host.invalid:1", "--processes", "2", "--process-id", "0"],
         "the coordinator's host 'no.such.host.invalid' is not known here"),
    ],
)  # fmt: skip
def test_what_cannot_be_joined_is_refused(tmp_path, capsys, here, options, message):
    with pytest.raises(SystemExit, match="2"):
        main([*WORKER, "--out", str(tmp_path / "run"), *options])
    assert message in capsys.readouterr().err


def test_a_taken_port_is_refused(tmp_path, capsys, here):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        options = ["--coordinator", where, "--processes", "2", "--process-id", "0"]
        with pytest.raises(SystemExit, match="2"):
            main([*WORKER, "--out", str(tmp_path / "run"), *options])
    assert "cannot be used: Address already in use" in capsys.readouterr().err
