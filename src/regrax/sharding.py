r"""Run a computation on many devices and processes, with the same result as on one device.

Work is a sum or a list over global indices $i = 0, 1, \dots$, and the draws of index $i$ depend on $i$ alone. The terms
are therefore the same for any number of devices, and results differ only by the order of additions. Devices form a mesh
of `pieces` x `sequences`: indices are divided along the first axis, the sequences of one index along the second, and
parameters are replicated. With several processes, only the first reads and writes files and prints.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.flatten_util import ravel_pytree
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Int

Devices = Sequence[jax.Device]
Index = Int[Array, ""]
Indices = Int[Array, "_"]
Tree = TypeVar("Tree")


def mesh_of(devices: Devices | None, pieces: int | None = None) -> Mesh | None:
    """Arrange devices in a mesh for work in `pieces` pieces; by default no two devices share a piece.

    If the pieces cannot be divided evenly among the devices, groups of devices share the sequences of each piece.

    >>> import jax
    >>> dict(mesh_of(jax.devices()[:1], pieces=4).shape)
    {'pieces': 1, 'sequences': 1}
    """
    if devices is None:
        return None
    if len(devices) == 0 or not all(isinstance(device, jax.Device) for device in devices):
        raise ValueError(f"devices must be a subset of jax.devices(), got {devices!r:.100}")
    rows = len(devices) if pieces is None else math.gcd(pieces, len(devices))
    grid = np.array(devices, object).reshape(rows, -1)
    return Mesh(grid, ("pieces", "sequences"), axis_types=(AxisType.Auto,) * 2)


def choose_devices(devices: str | None) -> Devices | None:
    """Return the devices that a text names: a number per process, or "all"; None is jax's default in a single process.

    >>> choose_devices(None), len(choose_devices("1"))
    (None, 1)
    """
    if devices is None and jax.process_count() == 1:
        return None
    if devices in (None, "all"):
        return jax.devices()
    if not devices.isdecimal():
        raise ValueError(f"--devices must be all or a positive integer, got {devices}")
    count = int(devices)
    available = len(jax.local_devices())
    if not 1 <= count <= available:
        raise ValueError(
            f"devices must be from 1 to {available}, the number of devices here, got {count}; "
            f"XLA_FLAGS=--xla_force_host_platform_device_count={count} splits a CPU"
        )
    processes = range(jax.process_count())
    return [device for p in processes for device in jax.local_devices(process_index=p)[:count]]


def total(
    function: Callable[[Any, Index], Tree],
    shared: Any,
    count: int,
    zero: Tree,
    mesh: Mesh | None = None,
) -> Tree:
    r"""Compute $\sum_{i < \mathrm{count}} f(\mathrm{shared}, i)$; on a mesh, each device first sums its own terms.

    Args:
        function: function of `shared` and an index. On a mesh it must not capture other traced arrays.
        shared: arrays that every device needs.
        count: number of terms.
        zero: the empty sum.
        mesh: the devices, or None for a single device.

    >>> import jax.numpy as jnp
    >>> total(lambda scale, i: scale * i, 10, 4, jnp.zeros((), int)).tolist()
    60
    """

    def add_up(shared: Any, indices: Indices) -> Tree:
        def add(tree: Tree, index: Index) -> tuple[Tree, None]:
            return jax.tree.map(jnp.add, tree, function(shared, index)), None

        return lax.scan(add, zero, indices)[0]

    def add_up_all(shared: Any, indices: Indices) -> Any:
        flat, unravel = ravel_pytree(add_up(shared, indices))
        return unravel(lax.psum(flat, "pieces"))  # one message for all arrays

    if mesh is None:
        return add_up(shared, jnp.arange(count))
    return _over_pieces(add_up_all, shared, jnp.arange(count), mesh, PartitionSpec())


def each(
    function: Callable[[Any, Index], Tree],
    shared: Any,
    count: int,
    mesh: Mesh | None = None,
) -> Tree:
    """Stack `function(shared, i)` for every i below `count`; on a mesh, each device computes a contiguous share.

    >>> each(lambda scale, i: scale * i, 2, 3).tolist()
    [0, 2, 4]
    """

    def share(shared: Any, indices: Indices) -> Any:
        return lax.map(lambda index: function(shared, index), indices)

    return over_rows(share, shared, jnp.arange(count), mesh)


def over_rows(
    function: Callable[[Any, Any], Tree], shared: Any, rows: Any, mesh: Mesh | None = None
) -> Tree:
    """Compute `function(shared, rows)` for arrays `rows` with a common first axis, which a mesh divides contiguously.

    >>> import jax.numpy as jnp
    >>> over_rows(lambda scale, rows: scale * rows, 2, jnp.arange(3)).tolist()
    [0, 2, 4]
    """
    if mesh is None:
        return function(shared, rows)
    count = jax.tree.leaves(rows)[0].shape[0]
    ways = mesh.shape["pieces"]
    padded = jnp.minimum(jnp.arange(-(-count // ways) * ways), count - 1)  # repeats the last row
    repeated = jax.tree.map(lambda array: array[padded], rows)
    results = _over_pieces(function, shared, repeated, mesh, PartitionSpec("pieces"))
    return jax.tree.map(lambda array: array[:count], replicate(results, mesh))


def _over_pieces(function: Callable, shared: Any, rows: Any, mesh: Mesh, out: PartitionSpec) -> Any:
    arrays, rest = eqx.partition(shared, eqx.is_array)
    return jax.shard_map(
        lambda arrays, own: function(eqx.combine(arrays, rest), own),
        mesh=mesh,
        in_specs=(PartitionSpec(), PartitionSpec("pieces")),
        out_specs=out,
        axis_names={"pieces"},
        check_vma=False,
    )(arrays, rows)


def split(tree: Tree, mesh: Mesh | None) -> Tree:
    """Divide the last axis of every array, the sequence axis, along the mesh; call this inside `jit`."""
    if mesh is None or mesh.shape["sequences"] == 1:
        return tree

    def constrain(array: Array) -> Array:
        spec = PartitionSpec(*[None] * (array.ndim - 1), "sequences")
        in_shard_map = not jax.sharding.get_abstract_mesh().empty
        return lax.with_sharding_constraint(
            array, spec if in_shard_map else NamedSharding(mesh, spec)
        )

    return jax.tree.map(constrain, tree)


def replicate(tree: Tree, mesh: Mesh | None) -> Tree:
    """Copy every array to all devices of the mesh, inside `jit` or outside; all processes must have the same values."""
    if mesh is None:
        return tree
    return eqx.filter_shard(tree, NamedSharding(mesh, PartitionSpec()))


def local(tree: Tree, mesh: Mesh | None) -> Tree:
    """Copy replicated arrays to the default device of this process; call this outside `jit`."""
    if mesh is None:
        return tree
    return jax.tree.map(lambda array: jnp.asarray(np.asarray(array)), tree)


def is_first() -> bool:
    """Return True in the process that writes files and prints."""
    return jax.process_index() == 0


def from_first(read: Callable[[], bytes]) -> bytes:
    """Call `read` in the first process and return its result in all; a ValueError or OSError from it is raised in all.

    >>> from_first(lambda: b"the same in every process")
    b'the same in every process'
    """
    if jax.process_count() == 1:
        return read()
    message = b""
    try:
        if is_first():
            message = b"+" + read()
    except (ValueError, OSError) as error:
        message = b"-" + str(error).encode()
    from jax.experimental.multihost_utils import broadcast_one_to_all

    size = int(broadcast_one_to_all(np.int32(len(message))))
    padded = np.frombuffer(message.ljust(size, b"\0"), np.uint8)
    message = np.asarray(broadcast_one_to_all(padded), np.uint8).tobytes()
    if message.startswith(b"-"):
        raise ValueError(message[1:].decode())
    return message[1:]
