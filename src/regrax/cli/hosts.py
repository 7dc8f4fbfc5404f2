"""Options of commands that run on several devices and hosts."""

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cyclopts import Group, Parameter

if TYPE_CHECKING:
    from regrax.sharding import Devices


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
        from regrax.distributed import guard, is_child, join, run_in_child
        from regrax.sharding import from_first

        if not is_child() and os.name == "posix":
            sys.exit(run_in_child([sys.executable, "-m", "regrax", *sys.argv[1:]]))
        join(coordinator, self.processes, self.process_id)
        with guard():
            yield self._chosen()
            from_first(lambda: b"done")  # wait until the first process has written and printed

    def _chosen(self) -> "Devices | None":
        import jax

        from regrax.sharding import devices_per_process

        if self.devices is None and jax.process_count() == 1:
            return None
        if self.devices in (None, "all"):
            return jax.devices()
        if not self.devices.isdecimal():
            raise ValueError(f"--devices must be all or a positive integer, got {self.devices}")
        return devices_per_process(int(self.devices))


def _launcher() -> str | None:
    """Return "auto" if srun or mpirun started several processes of this command."""
    for name in ("SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE"):
        size = os.environ.get(name, "")
        if size.isdigit() and int(size) > 1:
            return "auto"
    return None
