r"""One computation on many devices of many processes: who does which part, so that nothing else changes.

Work is a sum or a list over global indices $i = 0, 1, \dots$, and what index $i$ draws depends on $i$ alone: however
many devices share the indices, the terms are the same, and results differ by the order of additions at most. Devices
stand in a mesh of `pieces` x `sequences`: indices go round the first axis, the sequences of one index along the second,
and parameters are on all of them. Of several processes the first writes files and speaks, and tells the others.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
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
Tree = TypeVar("Tree")
EVERYWHERE, PIECES = PartitionSpec(), PartitionSpec("pieces")


def mesh_of(devices: Devices | None, pieces: int | None = None) -> Mesh | None:
    """Devices for work in this many pieces: whole pieces to each as far as they go round evenly, else shares of them.

    Without `pieces` there are as many as asked for, and every device takes its own.

    >>> import jax
    >>> dict(mesh_of(jax.devices()[:1], pieces=4).shape)
    {'pieces': 1, 'sequences': 1}
    """
    if devices is None:
        return None
    if len(devices) == 0 or not all(isinstance(device, jax.Device) for device in devices):
        raise ValueError(f"devices must be some of jax.devices(), got {devices!r:.100}")
    rows = len(devices) if pieces is None else math.gcd(pieces, len(devices))
    placed = np.array(devices, object).reshape(rows, -1)
    return Mesh(placed, ("pieces", "sequences"), axis_types=(AxisType.Auto,) * 2)


def total(
    function: Callable[[Any, Int[Array, ""]], Tree],
    shared: Any,
    count: int,
    zero: Tree,
    mesh: Mesh | None = None,
) -> Tree:
    r"""$\sum_{i < \mathrm{count}} f(\mathrm{shared}, i)$; on a mesh every device adds its own, then all are added.

    Args:
        function: of what is shared and an index.
        shared: the same on every device.
        count: how many terms.
        zero: the sum of no terms.
        mesh: of devices; None computes on one.

    >>> import jax.numpy as jnp
    >>> total(lambda scale, i: scale * i, 10, 4, jnp.zeros((), int)).tolist()
    60
    """

    def added(shared: Any, indices: Int[Array, "_"]) -> Tree:
        def add(sofar: Tree, index: Int[Array, ""]) -> tuple[Tree, None]:
            return jax.tree.map(jnp.add, sofar, function(shared, index)), None

        return lax.scan(add, zero, indices)[0]

    def share(shared: Any, own: Int[Array, "_"]) -> Any:
        flat, rebuild = ravel_pytree(added(shared, own))
        return rebuild(lax.psum(flat, "pieces"))  # one message, however many arrays

    indices = jnp.arange(count)
    if mesh is None:
        return added(shared, indices)
    return _over_pieces(share, mesh, EVERYWHERE, shared, indices)


def each(
    function: Callable[[Any, Int[Array, ""]], Tree],
    shared: Any,
    count: int,
    mesh: Mesh | None = None,
) -> Tree:
    """`function(shared, i)` for every i below `count`, stacked; on a mesh every device takes a contiguous share.

    Args:
        function: of what is shared and an index.
        shared: the same on every device.
        count: how many indices.
        mesh: of devices; None computes on one.

    >>> each(lambda scale, i: scale * i, 2, 3).tolist()
    [0, 2, 4]
    """

    def share(shared: Any, own: Int[Array, "_"]) -> Any:
        return lax.map(partial(function, shared), own)

    return over_rows(share, shared, jnp.arange(count), mesh)


def over_rows(
    function: Callable[[Any, Any], Tree], shared: Any, rows: Any, mesh: Mesh | None = None
) -> Tree:
    """`function(shared, rows)` of arrays with a common first axis; on a mesh every device takes a contiguous share.

    Args:
        function: of what is shared and rows.
        shared: the same on every device.
        rows: arrays with a common first axis.
        mesh: of devices; None computes on one.

    >>> import jax.numpy as jnp
    >>> over_rows(lambda scale, rows: scale * rows, 2, jnp.arange(3)).tolist()
    [0, 2, 4]
    """
    if mesh is None:
        return function(shared, rows)
    count = jax.tree.leaves(rows)[0].shape[0]
    ways = mesh.shape["pieces"]
    padded = jnp.minimum(jnp.arange(-(-count // ways) * ways), count - 1)
    repeated = jax.tree.map(lambda array: array[padded], rows)
    found = _over_pieces(function, mesh, PIECES, shared, repeated)
    return jax.tree.map(lambda part: part[:count], together(found, mesh))


def _over_pieces(share: Callable, mesh: Mesh, out: PartitionSpec, shared: Any, parts: Any) -> Any:
    """`share(shared, own)` on every device, `own` its part of what is cut along the first axis.

    Args:
        share: of what is shared and a part.
        mesh: of devices.
        out: where the results are.
        shared: the same on every device.
        parts: what is cut.
    """
    arrays, rest = eqx.partition(shared, eqx.is_array)
    return jax.shard_map(
        lambda arrays, own: share(eqx.combine(arrays, rest), own),
        mesh=mesh,
        in_specs=(EVERYWHERE, PIECES),
        out_specs=out,
        axis_names={"pieces"},
        check_vma=False,
    )(arrays, parts)


def split(tree: Tree, mesh: Mesh | None) -> Tree:
    """Inside `jit`: put the last axis of every array, that of the sequences, along the mesh."""
    if mesh is None or mesh.shape["sequences"] == 1:
        return tree

    def along(array: Array) -> Array:
        spec = PartitionSpec(*[None] * (array.ndim - 1), "sequences")
        inside = not jax.sharding.get_abstract_mesh().empty  # of `total` or `each`
        return lax.with_sharding_constraint(array, spec if inside else NamedSharding(mesh, spec))

    return jax.tree.map(along, tree)


def together(tree: Tree, mesh: Mesh | None) -> Tree:
    """Inside `jit`: all of every array on every device."""
    if mesh is None:
        return tree
    return lax.with_sharding_constraint(tree, NamedSharding(mesh, EVERYWHERE))


def everywhere(tree: Tree, mesh: Mesh | None) -> Tree:
    """Outside `jit`: what this process holds, as all others do too, on every device of the mesh."""
    if mesh is None:
        return tree
    everyone = NamedSharding(mesh, EVERYWHERE)

    def placed(leaf: Any) -> Any:
        if not eqx.is_array(leaf):
            return leaf
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            data = placed(jax.random.key_data(leaf))
            return jax.random.wrap_key_data(data, impl=jax.random.key_impl(leaf))
        held = np.asarray(leaf)
        return jax.make_array_from_callback(held.shape, everyone, lambda part: held[part])

    return jax.tree.map(placed, tree)


def here(tree: Tree, mesh: Mesh | None) -> Tree:
    """Outside `jit`: what is on every device of the mesh, on one device of this process."""
    return tree if mesh is None else jax.tree.map(lambda array: array.addressable_data(0), tree)


def is_first() -> bool:
    """Whether this is the process that writes files and speaks."""
    return jax.process_index() == 0


def from_first(give: Callable[[], bytes]) -> bytes:
    """What `give` returns in the first process, in all of them; a ValueError or OSError there is raised everywhere.

    >>> from_first(lambda: b"read by one, known to all")
    b'read by one, known to all'
    """
    if jax.process_count() == 1:
        return give()
    try:
        message = b"+" + give() if is_first() else b""
    except (ValueError, OSError) as error:
        message = b"-" + str(error).encode()
    from jax.experimental.multihost_utils import broadcast_one_to_all

    size = int(broadcast_one_to_all(np.int32(len(message))))
    data = np.frombuffer(message.ljust(size, b"\0"), np.uint8)
    told = np.asarray(broadcast_one_to_all(data), np.uint8).tobytes()
    if told.startswith(b"-"):
        raise ValueError(told[1:].decode())
    return told[1:]
