"""Every test runs with shapes and types checked, and with jax refusing silent promotion of types or ranks."""

import gc
import os
from importlib.util import find_spec
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# most of the tests' time is compilation: keep what was compiled for the next run, in what `make clean` removes
CACHE = Path(__file__).parent / ".pytest_cache"
os.environ.setdefault("XDG_CACHE_HOME", str(CACHE))
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(CACHE / "compiled"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")

gc.disable()  # until all tests are collected: nothing that is imported is garbage

import jaxtyping

# their examples need extras
SOURCE = Path(__file__).parent / "src" / "regrax"
TORCH, LLM = SOURCE / "torch", SOURCE / "agents" / "llm"
collect_ignore = [] if find_spec("torch") else [str(TORCH)]
collect_ignore += [] if find_spec("torch") and find_spec("transformers") else [str(LLM)]

# the fixtures that start one
BROWSERS = {"browse", "chromium"}

# an int is a float here, as it is to every type checker
TYPECHECKER = "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))"
jaxtyping.install_import_hook("regrax", TYPECHECKER)

import jax
import pytest

jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_traceback_in_locations_limit", 0)  # nobody reads where an operation is from


def pytest_collection_modifyitems(items):
    """The examples of what needs extras are tests of the extras; what opens a page is a test in a browser."""
    for item in items:
        if item.path.is_relative_to(LLM) or item.path.is_relative_to(TORCH):
            item.add_marker(pytest.mark.extras)
        if BROWSERS.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.browser)


def pytest_collection_finish():
    """What was imported stays: collect garbage among the rest only."""
    gc.freeze()
    gc.enable()


@pytest.fixture
def as_users_run_it():
    """Run a test without the type checks of the test suite: a user meets the library's own errors."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def x64():
    """Run a test in float64."""
    with jax.enable_x64(True):
        yield
