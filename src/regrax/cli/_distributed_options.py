"""The options of commands that run on many devices and hosts, and the run that they describe."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regrax.sharding import Devices


CHILD = "REGRAX_CHILD"  # in the environment of a child: its end of the socket to its parent
LOST = 3  # exit code


@dataclass(frozen=True)
class Cluster:
    """Where a command runs.

    Args:
        devices: Share the work among all devices, or among this many of each process: all, 1, 2, ...
        coordinator: On several hosts: HOST:PORT of process 0, or auto where SLURM, Open MPI, Kubernetes or a TPU pod
            tell.
        processes: With a coordinator: how many processes there are; start this command once for each.
        process_id: With a coordinator: which of them this is, from 0; process 0 writes files and prints.
    """

    devices: str | None = None
    coordinator: str | None = None
    processes: int | None = None
    process_id: int | None = None

    def __post_init__(self) -> None:
        if self.is_alone and (self.processes is not None or self.process_id is not None):
            raise ValueError("--processes and --process-id need a --coordinator HOST:PORT")
        given = self.devices
        if given not in (None, "all") and not (given.isdigit() and int(given)):
            raise ValueError(f"--devices must be all or a number above 0, got {given}")

    @contextlib.contextmanager
    def joined(self) -> "Iterator[Devices | None]":
        """The devices to share the work among, None for the usual one; leaves if another process is lost."""
        coordinator = self._coordinator
        if coordinator is None:
            yield self._chosen()
            return
        from regrax.distributed import guard, join
        from regrax.sharding import from_first

        tell_parent = _watched()
        join(coordinator, self.processes, self.process_id)
        tell_parent()
        with guard():
            yield self._chosen()
            from_first(lambda: b"done")  # the others wait until the first has written and printed

    @property
    def is_alone(self) -> bool:
        """Whether this process is the only one."""
        return self._coordinator is None

    @property
    def _coordinator(self) -> str | None:
        return self.coordinator or ("auto" if _launched_together() else None)

    @property
    def wants_a_child(self) -> bool:
        """Whether the command is to run in a child of its process, which tells how it ended: see `run_child`."""
        return self._coordinator is not None and CHILD not in os.environ and os.name == "posix"

    def _chosen(self) -> "Devices | None":
        import jax

        if self.devices is None and jax.process_count() == 1:
            return None
        count = None if self.devices in (None, "all") else int(self.devices)
        own = len(jax.local_devices())
        if count is not None and count > own:
            more = f"; XLA_FLAGS=--xla_force_host_platform_device_count={count} makes a CPU as many"
            more = more if jax.default_backend() == "cpu" else ""
            raise ValueError(f"--devices asks for {count} devices, but there are {own} here{more}")
        everyone = range(jax.process_count())
        return [one for p in everyone for one in jax.local_devices(process_index=p)[:count]]


def _watched() -> Callable[[], None]:
    """In a child: end with its parent, whatever ends that; what comes is called once the child has joined."""
    if CHILD not in os.environ:
        return lambda: None
    parent = socket.socket(fileno=int(os.environ[CHILD]))
    threading.Thread(target=_end_with, args=[parent], daemon=True).start()
    return lambda: parent.sendall(b"joined")


def _end_with(parent: socket.socket) -> None:
    with contextlib.suppress(OSError):
        parent.recv(1)  # nothing is ever sent: it returns when the pipe closes
    os._exit(LOST)


def run_child(arguments: Sequence[str]) -> int:
    """Run the command in a child, and give its exit code.

    jax aborts a process that is not let in or that loses its peers without a sentence, and only its parent can say one.
    """
    ours, theirs = socket.socketpair()
    there = {**os.environ, CHILD: str(theirs.fileno())}
    command = [sys.executable, "-m", "regrax", *arguments]
    with ours, subprocess.Popen(command, env=there, pass_fds=[theirs.fileno()]) as child:
        theirs.close()
        with contextlib.suppress(KeyboardInterrupt):  # which the child was sent, too
            child.wait()
        code = child.wait()
        if code != -signal.SIGABRT:
            return code if code >= 0 else 128 - code
        lost = "another process of this run was lost, so this one stops"
        shut = "this process was not let in: is its --process-id taken already?"
        print(f"regrax: error: {lost if ours.recv(1) else shut}", file=sys.stderr)
    return LOST


def _launched_together() -> bool:
    """Whether srun or mpirun started several processes of this command."""
    sizes = (os.environ.get(name, "") for name in ("SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE"))
    return any(size.isdigit() and int(size) > 1 for size in sizes)
