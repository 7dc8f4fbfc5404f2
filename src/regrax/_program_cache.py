"""A cache of programs as machine code: a command that runs again loads them, and traces and compiles nothing.

jax's own cache looks a program up by the text that tracing makes of it, and tracing takes several times as long as
loading. Here the key is what decides that text: the function, the shapes of the arrays among its arguments and all
else that they say, the versions and settings of jax, and regrax's own files. An entry holds the code and nothing else;
what it returns takes the structure of an example that the caller gives. Whatever has no signature, such as a learner of
one's own or a closure, is compiled as ever, and so is what does not load.
"""

import contextlib
import dataclasses
import hashlib
import inspect
import math
import os
import platform
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

FOLDER = "REGRAX_PROGRAM_CACHE"
"""The variable that names the folder; commands set it."""
PLAIN = (bool, int, float, str, bytes, type(None))
OURS = "regrax."


class NoSignature(Exception):
    """Something whose text would not say all that it is."""


def can_cache() -> bool:
    """Whether there is a folder for them, one device, a CPU, for which they are compiled, and a jaxlib that can."""
    import jax
    from jaxlib import xla_client

    enabled = jax.config.jax_enable_compilation_cache  # pyright: ignore[reportAttributeAccessIssue]
    here = os.environ.get(FOLDER) and enabled and jax.default_backend() == "cpu"
    if not here or jax.device_count() > 1:
        return False
    client, loaded = jax.devices()[0].client, getattr(xla_client, "LoadedExecutable", None)
    needed = (
        (client, "deserialize_executable"),
        (xla_client, "DeviceList"),
        (loaded, "execute_sharded"),
    )
    return all(hasattr(owner, name) for owner, name in needed)


class CachedProgram:
    """`function` of arrays and of things that are part of the program, whose result has the structure of an example.

    Args:
        function: of a module of regrax.
        example: gives that structure, of the function's own arguments; what its leaves are is of no account.
        jitted: the function as it is compiled where it has no signature.
        options: for the compiler.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        example: Callable[..., Any],
        jitted: Callable[..., Any],
        options: dict[str, Any],
    ) -> None:
        self.function, self.example, self.jitted = function, example, jitted
        self.options, self.programs = options, {}

    def __call__(self, *arguments: Any) -> Any:
        import jax

        try:
            what = signature((inspect.unwrap(self.function), arguments))
        except NoSignature:
            return self.jitted(*arguments)
        name = f"{what} in {jax.numpy.result_type(float)}"
        if name not in self.programs:
            self.programs[name] = self._load(name) or self._compile(name, arguments)
        found = self.programs[name].execute_sharded(
            [_placed(leaf) for leaf in jax.tree.leaves(arguments) if is_array(leaf)]
        )
        leaves = [pieces[0] for pieces in found.disassemble_into_single_device_arrays()]
        return jax.tree.unflatten(jax.tree.structure(self.example(*arguments)), leaves)

    def _file(self, name: str) -> Path:
        about = "\n".join([name, repr(sorted(self.options.items())), _surroundings()])
        return Path(os.environ[FOLDER]) / f"{hashlib.sha256(about.encode()).hexdigest()}-cache"

    def _load(self, name: str) -> Any:
        """The executable that an earlier command wrote; None if there is none that is whole."""
        import jax
        from jaxlib import xla_client

        device = jax.devices()[0]
        # a file may be cut off, and another jaxlib may load one in another way
        with contextlib.suppress(Exception):
            data = self._file(name).read_bytes()
            digest, code = data[:32], data[32:]
            if hashlib.sha256(code).digest() == digest:
                devices = xla_client.DeviceList((device,))  # pyright: ignore[reportAttributeAccessIssue]
                return device.client.deserialize_executable(code, executable_devices=devices)
        return None

    def _compile(self, name: str, arguments: tuple[Any, ...]) -> Any:
        import jax

        from regrax._files import write_whole

        given, tree = jax.tree.flatten(arguments)
        arrays = [n for n, leaf in enumerate(given) if is_array(leaf)]

        def program(*leaves: Any) -> list[Any]:
            filled = dict(zip(arrays, leaves, strict=True))
            own = [_typed(filled[n], leaf) if n in filled else leaf for n, leaf in enumerate(given)]
            return jax.tree.leaves(self.function(*jax.tree.unflatten(tree, own)))

        program.__name__ = self.function.__name__
        jitted = jax.jit(program, keep_unused=True, compiler_options=self.options or None)
        lowered = jitted.lower(*[_placed(given[n]) for n in arrays])
        # LAPACK and functions of Python are made ready by tracing: without it, a call of them ends the process
        if "custom_call" in lowered.as_text():
            return lowered.compile().runtime_executable()
        with _without_jax_cache():
            executable = lowered.compile().runtime_executable()
        with contextlib.suppress(Exception):  # a full disk, or a program that is not to be written
            code = jax.devices()[0].client.serialize_executable(executable)
            write_whole(self._file(name), hashlib.sha256(code).digest() + code)
        return executable


LEAST_SECONDS = "jax_persistent_cache_min_compile_time_secs"


@contextlib.contextmanager
def _without_jax_cache() -> Iterator[None]:
    """Have jax not keep what is compiled here as well."""
    import jax

    usual = _usual_least_seconds()
    jax.config.update(LEAST_SECONDS, math.inf)
    try:
        yield
    finally:
        jax.config.update(LEAST_SECONDS, usual)


@cache
def _usual_least_seconds() -> float:
    """Of a compilation that jax keeps; asked for once, since two threads may compile."""
    import jax

    return getattr(jax.config, LEAST_SECONDS)


def is_array(leaf: Any) -> bool:
    """Whether a leaf is an input of the program and no part of it."""
    import jax
    import numpy as np

    return isinstance(leaf, jax.Array | np.ndarray)


def _placed(leaf: Any) -> Any:
    import jax

    is_key = jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return jax.random.key_data(leaf) if is_key else jax.device_put(leaf)


def _typed(leaf: Any, example: Any) -> Any:
    """An input as the function expects it: a key, if it was one."""
    import jax

    if jax.numpy.issubdtype(example.dtype, jax.dtypes.prng_key):
        return jax.random.wrap_key_data(leaf, impl=jax.random.key_impl(example))
    return leaf


def signature(value: Any, is_fixed: bool = False) -> str:
    """All that a value says to a program; raises `NoSignature` where it cannot be said.

    Of an array its shape, since its numbers are given to the program; if it `is_fixed`, a part of it, these too.

    >>> import numpy as np
    >>> signature((np.zeros((2, 3)), 0.5, None))
    'tuple(float64[2, 3], 0.5, None)'
    >>> signature(lambda: 0)
    Traceback (most recent call last):
    regrax._program_cache.NoSignature: ...
    """
    kind = type(value)
    if kind in PLAIN:
        return repr(value)
    if is_array(value):
        from jax.core import Tracer

        if isinstance(value, Tracer):
            raise NoSignature(value)
        weak = "weak " if getattr(value, "weak_type", False) else ""
        numbers = hashlib.sha256(value.tobytes()).hexdigest() if is_fixed else ""
        return f"{weak}{value.dtype}{list(value.shape)}{numbers}"
    if isinstance(value, FunctionType | type):
        return _named(value)
    if kind is dict:
        pairs = [f"{signature(k, True)}: {signature(v, is_fixed)}" for k, v in value.items()]
        return f"dict({', '.join(pairs)})"
    name = kind.__name__ if kind in (tuple, list) else _named(kind)
    if isinstance(value, tuple | list):
        return f"{name}({', '.join(signature(one, is_fixed) for one in value)})"
    if dataclasses.is_dataclass(value):
        import equinox as eqx

        is_leaf = is_fixed or not isinstance(value, eqx.Module)
        parts = [
            signature(getattr(value, field.name), is_leaf or bool(field.metadata.get("static")))
            for field in dataclasses.fields(value)
        ]
        return f"{name}({', '.join(parts)})"
    raise NoSignature(value)


def _named(thing: Any) -> str:
    """Of a class or function of regrax that every process finds under the same name."""
    inside = "<" in thing.__qualname__ or getattr(thing, "__closure__", None)
    if inside or not thing.__module__.startswith(OURS):
        raise NoSignature(thing)
    return f"{thing.__module__}.{thing.__qualname__}"


@cache
def _surroundings() -> str:
    """What else a program depends on: versions, settings, and regrax's own files."""
    import equinox
    import jax
    import numpy as np
    from jaxlib.version import __version__ as jaxlib_version

    versions = [jax.__version__, jaxlib_version, equinox.__version__, np.__version__]
    settings = [
        f"{name}={value}"
        for name, value in sorted(os.environ.items())
        if name.startswith(("JAX_", "XLA_", "REGRAX_", "PJRT_"))
        and name not in (FOLDER, "JAX_COMPILATION_CACHE_DIR")
    ]
    package = Path(__file__).parent
    files = [
        f"{file.relative_to(package)} {(stat := file.stat()).st_mtime_ns} {stat.st_size}"
        for file in sorted(package.rglob("*.py"))
    ]
    return "\n".join([platform.platform(), *versions, *settings, *files])
