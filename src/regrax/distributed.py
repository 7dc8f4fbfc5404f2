"""Multi-process runs: join processes with `jax.distributed`, and exit with a one-line error if one of them is lost.

Importing this module has no effect and does not load jax. The program calls `join` once, before it computes anything.
"""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from regrax.sharding import Devices

CHILD = "REGRAX_CHILD"  # environment variable that marks a child of `run_in_child`
FAILED = 2  # exit code after an error
LOST = 3  # exit code after another process was lost
HEARTBEAT_SECONDS = 20  # a process that is silent for this long counts as lost
COLLECTIVE_SECONDS = 120  # limit for a collective operation, with delays from compiling and saving
STATUS = re.compile("(UNKNOWN|INTERNAL|UNAVAILABLE|ABORTED|CANCELLED|DEADLINE_EXCEEDED): ")


@contextlib.contextmanager
def joined(
    devices: str | None,
    coordinator: str | None,
    processes: int | None,
    process_id: int | None,
    command: Sequence[str],
) -> "Iterator[Devices | None]":
    """Join the other processes of a run, if it has any, and yield the devices to use in this one.

    Args:
        devices: number of devices to use per process, as in `choose_devices`.
        coordinator, processes, process_id: see `join`; None runs alone, or with the processes of a launcher.
        command: the command of this program, which runs again in a child.
    """
    if not coordinator:
        coordinator = None
        for name in ("SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE"):
            size = os.environ.get(name, "")
            if size.isdigit() and int(size) > 1:  # started by srun or mpirun
                coordinator = "auto"
    if coordinator is None and (processes is not None or process_id is not None):
        raise ValueError("--processes and --process-id need a --coordinator HOST:PORT")
    if coordinator is not None and CHILD not in os.environ and os.name == "posix":
        sys.exit(run_in_child(command))
    from regrax.sharding import choose_devices, from_first

    if coordinator is None:
        yield choose_devices(devices)
        return
    join(coordinator, processes, process_id)
    with guard():
        yield choose_devices(devices)
        from_first(lambda: b"done")  # wait until the first process has written and printed


def join(
    coordinator: str,
    processes: int | None = None,
    process_id: int | None = None,
    *,
    timeout: float = 120.0,
) -> None:
    """Join a multi-process run; exit with a one-line error and code 3 if not all processes join in time.

    Args:
        coordinator: HOST:PORT of process 0, or "auto" to let `jax.distributed` detect SLURM, Open MPI, Kubernetes or a
            TPU pod.
        processes: number of processes.
        process_id: index of this process, from 0.
        timeout: seconds to wait for the other processes.
    """
    import jax

    if coordinator == "auto":
        settings = {}
        absent = f"not all processes of this job started within {timeout:.0f} s"
    else:
        settings = _settings(coordinator, processes, process_id)
        absent = (
            f"not all of {processes} processes reached {coordinator} within {timeout:.0f} s: "
            "start one process per --process-id, from 0 up, all with the same --coordinator and --processes"
        )
    if CHILD in os.environ:
        threading.Thread(target=_end_with_parent, daemon=True).start()
    jax.config.update("jax_enable_preemption_service", False)  # it would swallow SIGTERM
    timer = threading.Timer(timeout, leave, [absent])  # jax itself would abort without a message
    timer.daemon = True
    timer.start()
    try:
        jax.distributed.initialize(
            initialization_timeout=int(timeout) + 30,
            heartbeat_timeout_seconds=HEARTBEAT_SECONDS,
            shutdown_timeout_seconds=10,
            **settings,
        )
    except ValueError as error:
        if coordinator != "auto":
            raise
        raise ValueError(
            "no multi-process launcher was detected (SLURM, Open MPI, Kubernetes, TPU): pass "
            f"--coordinator HOST:PORT, --processes and --process-id instead ({error})"
        ) from None
    finally:
        timer.cancel()
    # Gloo prints greetings to file descriptor 1: redirect it to stderr, and keep our own output on stdout
    sys.stdout.flush()
    sys.stdout = os.fdopen(os.dup(1), "w", buffering=1, encoding=sys.stdout.encoding)
    os.dup2(2, 1)
    flags = os.environ.get("XLA_FLAGS", "")
    timeout_flag = "--xla_cpu_collective_timeout_seconds"
    if timeout_flag not in flags:  # XLA reads it when the first array is created
        os.environ["XLA_FLAGS"] = f"{flags} {timeout_flag}={COLLECTIVE_SECONDS}".strip()


def _settings(coordinator: str, processes: int | None, process_id: int | None) -> dict[str, Any]:
    """Return the arguments for `jax.distributed.initialize`; raise ValueError if they are invalid."""
    from regrax import _checks as checks

    host, _, port = coordinator.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 2**16:
        raise ValueError(f"coordinator must be HOST:PORT, got {coordinator!r}")
    if processes is None or process_id is None:
        raise ValueError("coordinator requires the number of processes and the id of this process")
    checks.at_least("processes", processes, 1)
    checks.at_least("process_id", process_id, 0)
    if process_id >= processes:
        raise ValueError(
            f"process_id must be below processes = {processes} (the first is 0), got {process_id}"
        )
    try:
        addresses = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
    except OSError:
        raise ValueError(f"the coordinator's host {host!r} cannot be resolved") from None
    family, *_, address = addresses[0]
    loopback = str(address[0]).startswith("127.") or address[0] == "::1"
    if process_id == 0:  # jax aborts if the port is taken
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(address if loopback else ("", int(port)))
            except OSError as error:
                raise ValueError(f"port {port} cannot be used: {error.strerror}") from None
    return {
        "coordinator_address": coordinator,
        "num_processes": processes,
        "process_id": process_id,
        "cluster_detection_method": "deactivate",
        "coordinator_bind_address": coordinator if loopback else None,
    }


def run_in_child(command: Sequence[str]) -> int:
    """Run a command that joins other processes, and return its exit code.

    jax aborts a process without explanation if the coordinator rejects it or if it loses its peers, so the explanation
    comes from the parent. The child ends when its parent does.
    """
    environment = {**os.environ, CHILD: "1"}
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE) as child:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the child handles Ctrl-C
        code = child.wait()
    if code == -signal.SIGABRT:
        leave(
            "lost another process of this run, or the coordinator rejected this one: "
            "is its --process-id already in use?"
        )
    return code if code >= 0 else 128 - code


def _end_with_parent() -> None:
    os.read(0, 1)  # the parent writes nothing, so this returns when it ends
    os._exit(LOST)


@contextlib.contextmanager
def guard() -> Iterator[None]:
    """Exit immediately with a one-line error if another process is lost or this one fails."""
    import jax

    from regrax.sharding import is_first

    try:
        yield
    except (jax.errors.JaxRuntimeError, ValueError, OSError, KeyboardInterrupt) as error:
        if jax.process_count() == 1:
            raise
        if isinstance(error, jax.errors.JaxRuntimeError) or STATUS.match(str(error)):
            lost = f"lost another process of this run, so process {jax.process_index()} stops"
            leave(f"{lost} ({str(error).splitlines()[0][:200]})")
        if is_first():
            time.sleep(2.0)  # let the other processes print their errors
        leave(str(error) or "interrupted", FAILED)


def leave(message: str, code: int = LOST) -> NoReturn:
    """Print an error and exit without jax's shutdown, which would wait for a lost process."""
    with contextlib.suppress(OSError):
        print(f"regrax: error: {message}", file=sys.stderr, flush=True)
    os._exit(code)
