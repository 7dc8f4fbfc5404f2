"""Several processes as one run: joining them, and leaving when one is lost.

Nothing here happens on import: `join` is called once, before anything is computed, by whoever owns the process.
"""

import contextlib
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Iterator
from socket import SOCK_STREAM
from typing import Any, NoReturn

import jax

from regrax import _checks as checks
from regrax.sharding import is_first

# exit codes: of a process that cannot go on, and of one whose peers are gone
FAILED, LOST = 2, 3
# seconds that processes wait for each other at the start
START_SECONDS = 120.0
# seconds of silence after which a process counts as lost
HEARTBEAT_SECONDS = 20
# seconds that a finished process waits for the others
SHUTDOWN_SECONDS = 10
# seconds that one exchange may take, the skew of compiling and saving included
COLLECTIVE_SECONDS = 120
# seconds that the first process stays after an error, so that the others can say theirs
LINGER_SECONDS = 2.0
# how the errors of a failed exchange begin
STATUS = re.compile("(UNKNOWN|INTERNAL|UNAVAILABLE|ABORTED|CANCELLED|DEADLINE_EXCEEDED): ")


def join(coordinator: str, processes: int | None = None, process_id: int | None = None) -> None:
    """Become process `process_id` of `processes`, which meet at `coordinator`, the HOST:PORT of process 0.

    With "auto" all three come from SLURM, Open MPI, Kubernetes or a TPU pod, as `jax.distributed` finds them. A process
    whose peers do not come within two minutes leaves with one line on the error stream and exit code 3.
    """
    if coordinator == "auto":
        _join_detected()
    else:
        _join_named(coordinator, processes, process_id)
    _keep_output_clean()
    flags, own = os.environ.get("XLA_FLAGS", ""), "--xla_cpu_collective_timeout_seconds"
    if own not in flags:  # read when the first array is made
        os.environ["XLA_FLAGS"] = f"{flags} {own}={COLLECTIVE_SECONDS}".strip()


def _keep_output_clean() -> None:
    """Send what the libraries below Python write to the standard output, greetings of Gloo, to the error stream."""
    sys.stdout.flush()
    sys.stdout = os.fdopen(os.dup(1), "w", buffering=1, encoding=sys.stdout.encoding)
    os.dup2(2, 1)


def _join_named(coordinator: str, processes: int | None, process_id: int | None) -> None:
    loopback = _check(coordinator, processes, process_id)
    absent = (
        f"not all of {processes} processes reached {coordinator} within {START_SECONDS:.0f} s: "
    )
    absent += "start every --process-id from 0 up, with the same --coordinator and --processes"
    _initialize(
        absent,
        coordinator_address=coordinator,
        num_processes=processes,
        process_id=process_id,
        cluster_detection_method="deactivate",
        coordinator_bind_address=coordinator if loopback else None,
    )


def _join_detected() -> None:
    try:
        _initialize(f"not all processes of this job met within {START_SECONDS:.0f} s")
    except ValueError as error:
        raise ValueError(
            "no launcher of several processes was detected (SLURM, Open MPI, Kubernetes, TPU): name "
            f"--coordinator HOST:PORT, --processes and --process-id instead ({error})"
        ) from None


def _initialize(absent: str, **settings: Any) -> None:
    with contextlib.suppress(AttributeError):  # a jax without it
        jax.config.update(
            "jax_enable_preemption_service", False
        )  # swallows the signal to terminate
    # jax itself would abort without a sentence
    timer = threading.Timer(START_SECONDS, leave, [absent])
    timer.daemon = True
    timer.start()
    try:
        jax.distributed.initialize(
            initialization_timeout=int(START_SECONDS) + 30,  # ours comes first, and says more
            heartbeat_timeout_seconds=HEARTBEAT_SECONDS,
            shutdown_timeout_seconds=SHUTDOWN_SECONDS,
            **settings,
        )
    finally:
        timer.cancel()


def _check(coordinator: str, processes: int | None, process_id: int | None) -> bool:
    """Whether the coordinator is on this machine's loopback; raises ValueError for what cannot work."""
    host, _, port = coordinator.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 2**16:
        raise ValueError(f"the coordinator must be HOST:PORT, got {coordinator!r}")
    if processes is None or process_id is None:
        raise ValueError("a coordinator needs the number of processes and the id of this one too")
    checks.at_least("processes", processes, 1)
    checks.at_least("process_id", process_id, 0)
    if process_id >= processes:
        raise ValueError(
            f"process_id must be below processes = {processes} (the first is 0), got {process_id}"
        )
    try:
        family, *_, address = socket.getaddrinfo(host.strip("[]"), int(port), type=SOCK_STREAM)[0]
    except OSError:
        raise ValueError(f"the coordinator's host {host!r} is not known here") from None
    loopback = str(address[0]).startswith("127.") or address[0] == "::1"
    if process_id == 0:
        _check_free(family, (address if loopback else ("", int(port))))
    return loopback


def _check_free(family: socket.AddressFamily, address: Any) -> None:
    with socket.socket(family, SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except OSError as error:
            raise ValueError(f"port {address[1]} cannot be used: {error.strerror}") from None


@contextlib.contextmanager
def guard() -> Iterator[None]:
    """End this process at once and with one sentence if another one is gone, or if it cannot go on itself."""
    try:
        yield
    except (jax.errors.JaxRuntimeError, ValueError, OSError, KeyboardInterrupt) as error:
        if jax.process_count() == 1:
            raise
        if isinstance(error, jax.errors.JaxRuntimeError) or STATUS.match(str(error)):
            lost = f"another process of this run was lost, so process {jax.process_index()} stops"
            leave(f"{lost} ({str(error).splitlines()[0][:200]})")
        if is_first():
            time.sleep(LINGER_SECONDS)
        leave(str(error) or "interrupted", FAILED)


def leave(message: str, code: int = LOST) -> NoReturn:
    """Say why and end without the farewell to the others, for which a lost one would keep everybody waiting."""
    with contextlib.suppress(OSError):
        print(f"regrax: error: {message}", file=sys.stderr, flush=True)
    os._exit(code)
