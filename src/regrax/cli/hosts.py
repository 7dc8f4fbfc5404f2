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
        from regrax.distributed import guard, is_child, join, launcher, run_in_child

        coordinator = self.coordinator or launcher()
        if coordinator is None and (self.processes is not None or self.process_id is not None):
            raise ValueError("--processes and --process-id need a --coordinator HOST:PORT")
        if coordinator is not None and not is_child() and os.name == "posix":
            sys.exit(run_in_child([sys.executable, "-m", "regrax", *sys.argv[1:]]))
        from regrax.sharding import choose_devices, from_first

        if coordinator is None:
            yield choose_devices(self.devices)
            return
        join(coordinator, self.processes, self.process_id)
        with guard():
            yield choose_devices(self.devices)
            from_first(lambda: b"done")  # wait until the first process has written and printed
