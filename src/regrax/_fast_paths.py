"""Thresholds of the fast paths, and the switch that turns all of them off.

A fast path computes what a plain path computes, in a form that XLA on a CPU runs, or compiles, faster.
`REGRAX_FAST_PATHS=0` in the environment turns every one of them off. The numbers were measured on one core of a server
with AVX-512, jax 0.10; `python -m benchmarks.thresholds` measures them again.
"""

import contextlib
import math
import os
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

ENABLED = os.environ.get("REGRAX_FAST_PATHS", "1") != "0"

MAX_SMALL_BUFFER_BYTES = 512 if ENABLED else 0
"""If no buffer of a loop body is larger, XLA runs its parts in turn, unscheduled: rounds are played in such blocks."""
MIN_BATCHED_GAMES = 48
"""Games from which playing them side by side, on the last axis, is faster than by `vmap`."""
MAX_BATCHED_OPPONENT_ACTIONS = 12
"""Joint actions of the others up to which it is."""
ROUNDS_PER_TRANSPOSE = 8
"""Rounds of games side by side that are put in place at once, apart from playing them."""
MAX_BATCHED_STATES = 12 if ENABLED else 0
"""States of a Markov chain up to which many chains are stepped side by side."""
MAX_ELIMINATED_STATES = 7
"""States up to which several chains are eliminated sooner than stepped."""
MIN_ELIMINATED_CHAINS = 48
"""Chains of any such size from which they are."""
MAX_JOINED_ACTIONS = 32 if ENABLED else 0
"""Actions up to which the softmaxes of many copies take their exponentials in one long loop."""
MIN_MIRRORED_ENTRIES = 1 << 16 if ENABLED else math.inf
"""Entries of a zero-sum game's table from which both players' losses are read from the first player's."""
MIN_SINGLE_ENTRIES = 1 << 16 if ENABLED else math.inf
"""Entries of joint play in single precision from which short sums in it take less time than one in double."""
_ONE_SHOT = ENABLED and bool(os.environ.get("REGRAX_ONE_SHOT"))
MAX_LIGHT_LOSSES = 1 << 19 if _ONE_SHOT else 0
"""Losses on which a model is trained or measured up to which optimising the program takes longer than it saves, in a
process that does it once: a command, which asks XLA for little optimisation."""
MIN_HEAVY_LOSSES = 1 << 28 if _ONE_SHOT else math.inf
"""From how many on all optimisation is worth its time, losses of deep models counted as often as they take longer."""
MAX_OLDER_ACTIONS = 40
"""Actions up to which programs of XLA's older emitters are as fast; of 100 actions Blum-Mansour is a quarter slower."""
LAST_WITH_EMITTERS = (0, 10)
"""Versions of jaxlib up to which XLA has its older emitters, too, which compile in two thirds of the time."""


def has_older_emitters() -> bool:
    """Whether XLA knows the flag that chooses them: it ends a process that names a flag it does not know."""
    from jaxlib.version import __version__  # which loads nothing of jax

    return tuple(map(int, __version__.split(".")[:2])) <= LAST_WITH_EMITTERS


def compile_small() -> None:
    """Have XLA, before it starts, make small programs whose parts run in turn: soon compiled, hardly slower."""
    small = "--xla_backend_extra_options=xla_cpu_optimize_for_size"
    in_turn = "--xla_cpu_enable_concurrency_optimized_scheduler=false"
    flags = os.environ.get("XLA_FLAGS", "")
    if _ONE_SHOT and has_older_emitters() and small not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {small} {in_turn}"


def use_one_thread() -> None:
    """Have XLA, before it starts, run programs on one thread: handing small ones around takes longer than they do."""
    if _ONE_SHOT:
        os.environ.setdefault("PJRT_NPROC", "1")


def compiled(
    function: Callable[..., Any], *static: str, actions: int = 1, losses: float = math.inf
) -> Callable[..., Any]:
    """`function` as `jax.jit` compiles it; for few `actions`, on a CPU, by XLA's older emitters.

    In a command that has few `losses` for it, it is not optimised.
    """
    is_light = losses <= MAX_LIGHT_LOSSES
    is_older = is_light or actions <= MAX_OLDER_ACTIONS
    return _jitted(function, static, _is_traced(), is_light, is_older)


@cache
def _jitted(
    function: Callable[..., Any],
    static: tuple[str, ...],
    is_traced: bool,
    is_light: bool,
    is_older: bool,
) -> Any:
    import jax

    chosen = "xla_cpu_use_fusion_emitters" in os.environ.get("XLA_FLAGS", "") and not _ONE_SHOT
    options: dict[str, Any] = {"xla_backend_optimization_level": 0} if is_light else {}
    if not chosen and has_older_emitters():
        options["xla_cpu_use_fusion_emitters"] = not is_older
    options = {} if is_traced else options
    return jax.jit(function, static_argnames=static, compiler_options=_options(**options))


def compiled_for(
    losses: float, function: Callable[..., Any], example: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    """`function` as `eqx.filter_jit` compiles it, in a command with as much optimisation as its `losses` are worth.

    With an `example` of what it gives, commands keep it, see `cached_program`.
    """
    level = 0 if losses <= MAX_LIGHT_LOSSES else 3 if losses >= MIN_HEAVY_LOSSES else None
    options = {} if level is None else {"xla_backend_optimization_level": level}
    if level and has_older_emitters():
        options["xla_cpu_use_fusion_emitters"] = True
    jitted = _filtered(function, () if _is_traced() else tuple(options.items()))
    return jitted if example is None else cached_program(function, example, jitted, **options)


@cache
def _filtered(function: Callable[..., Any], options: tuple[tuple[str, Any], ...]) -> Any:
    import equinox as eqx

    jit: Any = eqx.filter_jit
    return jit(function, compiler_options=_options(**dict(options)))


def cached_program(
    function: Callable[..., Any],
    example: Callable[..., Any],
    jitted: Callable[..., Any] | None = None,
    **options: Any,
) -> Callable[..., Any]:
    """`function` as a program that commands keep for the next one, see `regrax._program_cache`; elsewhere `jitted`.

    Args:
        function: of arrays, and of things that are part of the program.
        example: of the same arguments, gives the structure of the result.
        jitted: the function compiled as usual; by default itself.
        options: for the compiler.
    """
    jitted = function if jitted is None else jitted
    if not _ONE_SHOT or _is_traced():
        return jitted
    return _cached_program(function, example, jitted, tuple(options.items()))


@cache
def _cached_program(
    function: Any, example: Any, jitted: Any, options: tuple[tuple[str, Any], ...]
) -> Any:
    from regrax._program_cache import CachedProgram, can_cache

    if not can_cache():
        return jitted
    return CachedProgram(function, example, jitted, _options(**dict(options)) or {})


def _options(**options: Any) -> dict[str, Any] | None:
    """Compiler options, for a CPU."""
    import jax

    return options if options and ENABLED and jax.default_backend() == "cpu" else None


def _is_traced() -> bool:
    """Whether this is inside of a program that is being made, which takes no options for its parts."""
    return _trace_state() != _untraced_state()


@cache
def _untraced_state() -> Any:
    """That of a new thread, in which nothing is traced; None, which no state equals, where none can be started."""
    found: list[Any] = []
    with contextlib.suppress(RuntimeError):  # the interpreter is about to end
        thread = threading.Thread(target=lambda: found.append(_trace_state()))
        thread.start()
        thread.join()
    return found[0] if found else None


def _trace_state() -> Any:
    try:
        from jax.extend.core import get_opaque_trace_state
    except ImportError:  # before jax 0.10
        from jax.core import get_opaque_trace_state
    return get_opaque_trace_state(convention="regrax")
