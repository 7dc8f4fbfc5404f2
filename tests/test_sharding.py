"""Several devices and processes compute the same numbers as one, and stop with one line when a process is lost."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.xla_flags import quick_flags

from regrax import distributed
from regrax.checkpoints import load_model
from regrax.cli import main
from regrax.experiments.runs import TrainConfig, train

HERE = Path(__file__).parent
BOUNDS = {"recipe": 1e-5, "curvature": 1e-10}  # as in docs/how-to/sweeps.md; otherwise 1e-12
LOST = 3  # exit code
LEAVE_SECONDS = 40.0  # a heartbeat takes 20 s

TRAIN = ["train", "--model", "linear", "--actions", "2", "--horizon", "5", "--steps", "300"]
TRAIN += ["--batch", "512", "--save-every", "0", "--json"]
CONFIG = TrainConfig("linear", actions=2, horizon=5, steps=300, batch=512)


def start(*arguments, devices=1, **variables):
    flags = f"--xla_force_host_platform_device_count={devices} {quick_flags()}"
    source = {"XLA_FLAGS": flags, "PYTHONPATH": str(HERE.parent / "src"), "JAX_PLATFORMS": "cpu"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.Popen(command, env={**os.environ, **source, **variables}, **pipes)


def start_all(out, count, *more):
    """Start a training by `count` processes."""
    shared = ["--out", out, "--coordinator", free_address(), "--processes", count, *more]
    return [start("-m", "regrax", *TRAIN, *shared, "--process-id", i) for i in range(count)]


def output(process):
    """The standard output of a process that succeeds."""
    try:
        text, errors = process.communicate(timeout=400)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    return text


def fails(process, code, message, seconds=200):
    """Assert that a process fails with this exit code and error."""
    _, errors = process.communicate(timeout=seconds)
    assert process.returncode == code, errors
    assert message in errors


@contextlib.contextmanager
def ended(processes):
    """Kill the processes at the end, whatever happens."""
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def free_address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def compute(names, *counts, devices):
    """The numbers of every work, for each of several counts of devices in one process."""
    work = start(HERE / "shared_work.py", names, ",".join(map(str, counts)), devices=devices)
    text = output(work)
    return [json.loads(line) for line in text.splitlines()]


def compute_together(names, count):
    """The numbers of every work, by several processes on loopback."""
    shared = [HERE / "shared_work.py", names, "all", free_address(), count]
    processes = [start(*shared, process_id) for process_id in range(count)]
    first, *others = [output(process) for process in processes]
    assert not any(others), "only the first process prints"
    return json.loads(first.splitlines()[-1])


def differences(computed, expected):
    """The largest relative difference of each work; numbers near zero count as 0.001."""
    assert computed.keys() == expected.keys()
    largest = {}
    for name, numbers in expected.items():
        scale = np.maximum(np.abs(numbers), 1e-3)
        largest[name] = float(np.max(np.abs(np.subtract(computed[name], numbers)) / scale))
    return largest


@pytest.mark.slow
@pytest.mark.parametrize(("names", "counts"), [("linear", [3]), ("matches", [3, 8])])
def test_many_devices_give_the_numbers_of_one(names, counts):
    single, *many = compute(names, "none", *counts, devices=counts[-1])
    for numbers in many:
        assert max(differences(numbers, single).values()) < 1e-10


@pytest.mark.slow
def test_devices_and_processes_give_the_numbers_of_one():
    single, two, eight = compute("all", "none", 2, 8, devices=8)
    numbers = {"2 devices": two, "8 devices": eight}
    for count in (2, 4):
        numbers[f"{count} processes"] = compute_together("all", count)
    measured = {name: differences(computed, single) for name, computed in numbers.items()}
    print(json.dumps(measured, indent=1))
    for where, works in measured.items():
        for work, difference in works.items():
            assert difference <= BOUNDS.get(work, 1e-12), (work, where)


def wait_for(condition, seconds=300):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.02)


def kill_in_the_middle(out, count, victim):
    """Kill one of `count` processes once a state is saved; the others must leave by themselves."""
    with ended(start_all(out, count)) as processes:
        wait_for((out / "state.safetensors").exists)
        assert all(process.poll() is None for process in processes), "ended before the kill"
        processes[victim].kill()
        for process in [*processes[:victim], *processes[victim + 1 :]]:
            fails(process, LOST, "regrax: error: lost another process of this run", LEAVE_SECONDS)
    assert not (out / "seed-0.safetensors").exists()


def assert_as_uninterrupted(out, reference):
    train(CONFIG, reference)
    resumed = load_model(out / "seed-0").model
    expected = load_model(reference / "seed-0").model
    np.testing.assert_allclose(resumed.values, expected.values, rtol=1e-4, atol=1e-5)
    steps = [json.loads(line)["step"] for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert steps == list(range(3, 301, 3))
    assert not list(out.glob("state*"))


@pytest.mark.slow
@pytest.mark.parametrize(("count", "victim", "resumed_by"), [(2, 1, 1), (4, 0, 2), (4, 3, 2)])
def test_fewer_processes_resume_after_a_kill(tmp_path, count, victim, resumed_by):
    out = tmp_path / "run"
    kill_in_the_middle(out, count, victim)
    first, *others = [output(process) for process in start_all(out, resumed_by, "--resume")]
    assert json.loads(first)["seeds"][0]["loss"] > 0
    assert not any(others)
    assert_as_uninterrupted(out, tmp_path / "whole")
    again, *_ = [output(process) for process in start_all(out, resumed_by, "--resume")]
    assert json.loads(again) == json.loads(first)  # read, not trained again


@pytest.mark.slow
def test_an_error_of_the_first_process_is_printed_by_all(tmp_path):
    train(CONFIG, tmp_path)
    alone = start("-m", "regrax", *TRAIN, "--out", tmp_path / "run", "--coordinator", "auto")
    fails(alone, 2, "no multi-process launcher was detected")
    for process in start_all(tmp_path, 2):
        fails(process, 2, "already contains a run")


@pytest.mark.slow
def test_processes_with_different_settings_stop(tmp_path):
    shared = [*TRAIN, "--out", tmp_path / "run", "--coordinator", free_address(), "--processes", 2]
    first = start("-m", "regrax", *shared, "--process-id", 0)
    other = start("-m", "regrax", *shared, "--process-id", 1, "--rate", 0.5)
    fails(other, 2, "got rate = 0.5 here and None in the first")
    fails(first, LOST, "lost another process", LEAVE_SECONDS)


@pytest.mark.slow
@pytest.mark.parametrize("process_id", [0, 1])
def test_waiting_for_a_missing_process_has_a_timeout(process_id):
    script = "from regrax import distributed; "
    script += f"distributed.join({free_address()!r}, 2, {process_id}, timeout=3.0)"
    fails(start("-c", script), LOST, "not all of 2 processes reached 127.0.0.1")


@pytest.mark.slow
def test_a_slurm_job_needs_no_coordinator(tmp_path):
    job = 40_000 + os.getpid() % 4096
    address = f"127.0.0.1:{65535 - 2**12 + 1 + job % 2**12}"
    shared = {"SLURM_JOB_ID": str(job), "SLURM_STEP_NODELIST": "localhost", "SLURM_NTASKS": "2"}
    shared |= {"SLURM_STEP_NUM_TASKS": "2", "JAX_COORDINATOR_BIND_ADDRESS": address}
    processes = []
    for task in ("0", "1"):
        own = {"SLURM_PROCID": task, "SLURM_LOCALID": task}
        processes.append(start("-m", "regrax", *TRAIN, "--out", tmp_path / "run", **shared, **own))
    first, second = [output(process) for process in processes]
    assert json.loads(first)
    assert not second
    assert_as_uninterrupted(tmp_path / "run", tmp_path / "whole")


@pytest.mark.slow
def test_a_process_id_that_is_taken_is_reported(tmp_path):
    shared = ["--out", tmp_path / "run", "--coordinator", free_address(), "--processes", 3]
    processes = [start("-m", "regrax", *TRAIN, *shared, "--process-id", i) for i in (0, 1, 1)]
    with ended(processes):
        wait_for(lambda: any(process.poll() is not None for process in processes), 100)
        first = next(process for process in processes if process.poll() is not None)
        assert first.returncode == LOST
        assert "is its --process-id already in use?" in first.stderr.read()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--devices", "some"], "--devices must be all or a positive integer, got some"),
        (["--devices", "0"], "devices must be from 1 to 1, the number of devices here, got 0"),
        (["--devices", "64"], "devices must be from 1 to 1, the number of devices here, got 64"),
        (["--processes", "2"], "--processes and --process-id need a --coordinator HOST:PORT"),
    ],
)
def test_wrong_options_for_devices_are_rejected(tmp_path, capsys, options, message):
    with pytest.raises(SystemExit, match="2"):
        main([*TRAIN, "--out", str(tmp_path / "run"), *options])
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["here"], "coordinator must be HOST:PORT, got 'here'"),
        (["127.0.0.1:99999"], "coordinator must be HOST:PORT, got '127"),
        (["127.0.0.1:1"], "requires the number of processes and the id of this process"),
        (["127.0.0.1:1", 2, 2], r"below processes = 2 \(the first is 0\), got 2"),
        (["no.such.host.invalid:1", 2, 0], "host 'no.such.host.invalid' cannot be resolved"),
    ],
)
def test_join_rejects_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        distributed.join(*arguments)


def test_join_rejects_a_port_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ValueError, match="cannot be used: Address already in use"):
            distributed.join(address, 2, 0)
