"""Commands that run on several devices and hosts.

jax aborts a process without explanation if the coordinator rejects it or its peers are lost. A process that joins
others therefore does its work in a child process, and reports why the child exited.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cyclopts import Group, Parameter

if TYPE_CHECKING:
    from regrax.sharding import Devices

PARENT = "REGRAX_PARENT"  # environment variable with the child's end of the socket to its parent
LOST = 3  # exit code


@Parameter(name="*", group=Group("Several hosts", sort_key=90))
@dataclass(frozen=True)
class Hosts:
    """Devices and processes that share the work.

    Args:
        devices: Number of devices to use per process: all, 1, 2, ...
        coordinator: HOST:PORT of process 0, or auto under SLURM, Open MPI, Kubernetes or a TPU pod.
        processes: Number of processes; run this command once for each.
        process_id: Index of this process, starting at 0; process 0 writes the files and prints.
    """

    devices: str | None = None
    coordinator: str | None = None
    processes: int | None = None
    process_id: int | None = None

    @contextlib.contextmanager
    def joined(self) -> "Iterator[Devices | None]":
        """Join the other processes and yield the devices to use, or None for jax's default device."""
        coordinator = self.coordinator or _launcher()
        if coordinator is None:
            if self.processes is not None or self.process_id is not None:
                raise ValueError("--processes and --process-id need a --coordinator HOST:PORT")
            yield self._chosen()
            return
        if PARENT not in os.environ and os.name == "posix":
            sys.exit(_run_child())
        from regrax.distributed import guard, join
        from regrax.sharding import from_first

        parent = _end_with_parent()
        join(coordinator, self.processes, self.process_id)
        if parent is not None:
            parent.sendall(b"joined")
        with guard():
            yield self._chosen()
            from_first(lambda: b"done")  # wait until the first process has written and printed

    def _chosen(self) -> "Devices | None":
        import jax

        count = None
        if self.devices not in (None, "all"):
            if not self.devices.isdecimal() or int(self.devices) == 0:
                raise ValueError(f"--devices must be all or a positive integer, got {self.devices}")
            count = int(self.devices)
        elif self.devices is None and jax.process_count() == 1:
            return None
        available = len(jax.local_devices())
        if count is not None and count > available:
            hint = f"XLA_FLAGS=--xla_force_host_platform_device_count={count} splits a CPU"
            raise ValueError(
                f"--devices must be at most {available}, the number of devices here, got {count}; {hint}"
            )
        devices = []
        for process in range(jax.process_count()):
            devices += jax.local_devices(process_index=process)[:count]
        return devices


def _launcher() -> str | None:
    """Return "auto" if srun or mpirun started several processes of this command."""
    for name in ("SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE"):
        size = os.environ.get(name, "")
        if size.isdigit() and int(size) > 1:
            return "auto"
    return None


def _end_with_parent() -> socket.socket | None:
    """Make this child exit when its parent exits for any reason; return the socket to the parent."""
    number = os.environ.get(PARENT)
    if not number:
        return None
    parent = socket.socket(fileno=int(number))

    def wait() -> None:
        with contextlib.suppress(OSError):
            parent.recv(1)  # the parent sends nothing, so this returns when the socket closes
        os._exit(LOST)

    threading.Thread(target=wait, daemon=True).start()
    return parent


def _run_child() -> int:
    """Run this command in a child process and return its exit code."""
    ours, theirs = socket.socketpair()
    environment = {**os.environ, PARENT: str(theirs.fileno())}
    command = [sys.executable, "-m", "regrax", *sys.argv[1:]]
    with subprocess.Popen(command, env=environment, pass_fds=[theirs.fileno()]) as child:
        theirs.close()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the child handles Ctrl-C
        code = child.wait()
    if code != -signal.SIGABRT:
        return code if code >= 0 else 128 - code
    if ours.recv(1):
        message = "lost another process of this run, stopping"
    else:
        message = "the coordinator rejected this process: is its --process-id already in use?"
    print(f"regrax: error: {message}", file=sys.stderr)
    return LOST
