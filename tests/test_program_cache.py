"""The cache of programs: looked up by all that decides them, loaded without tracing, and the same numbers."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from regrax import Hedge, _program_cache, _random
from regrax._program_cache import CachedProgram, NoSignature, signature
from regrax.learners import BlumMansour, InverseSqrt
from regrax.simplex import products
from regrax.training import Adam, FromKey, Gaussian, HindsightObjective


def one(*_: Any) -> float:
    return 0.0


def never(*_: Any) -> None:
    raise AssertionError("traced again")


class Fixed(eqx.Module):
    given: Any
    fixed: Any = eqx.field(static=True)


Fixed.__module__ = "regrax.made.up"


@dataclass(frozen=True)
class Plain:
    held: Any


Plain.__module__ = "regrax.made.up"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(_program_cache.FOLDER, str(tmp_path))
    return tmp_path


def test_a_signature_says_what_is_a_part_of_a_program_and_not_what_it_is_given():
    assert signature(Hedge(jnp.array(0.1))) == signature(Hedge(jnp.array(0.2)))
    different = [
        Hedge(0.1), Hedge(0.2), Hedge(InverseSqrt(0.1)), BlumMansour(Hedge(0.1)), BlumMansour(Hedge(0.1), 1e-3),
        Adam(0.1, 3), Adam(0.1, 4), HindsightObjective(3, 20), HindsightObjective(3, 21), np.zeros(2), np.zeros(3),
        np.zeros(2, np.float32), np.zeros((2, 1)), (), [], None, 0, 0.0, False, "0", {"a": 1}, {"b": 1},
        jax.random.key(0), jax.random.key_data(jax.random.key(0)), Hedge, Adam,
    ]  # fmt: skip
    texts = [signature(value) for value in different]
    assert len(set(texts)) == len(texts)


@pytest.mark.filterwarnings("ignore:A JAX array is being set as static")
@pytest.mark.parametrize("kind", [Plain, partial(Fixed, 0.0)])
def test_numbers_that_are_a_part_of_a_program_are_in_its_signature(kind):
    assert signature(kind(np.zeros(2000))) != signature(kind(np.ones(2000)))
    assert signature(kind((np.zeros(1),))) != signature(kind((np.ones(1),)))


def test_what_text_cannot_say_has_no_signature():
    class Own(eqx.Module):
        """A learner of one's own, whose code may change."""

    scale = 2.0
    cases = [Own(), lambda x: x, lambda x: scale * x, object(), one, np.float64(1), FromKey(one)]
    for value in cases:
        with pytest.raises(NoSignature):
            signature(value)
    with pytest.raises(NoSignature):
        jax.vmap(lambda x: signature(x) and x)(jnp.zeros(3))
    assert "Gaussian" in signature(Gaussian())


def test_a_cached_program_is_loaded_and_not_traced(folder, monkeypatch):
    matrices = np.random.default_rng(0).normal(size=(2, 3, 5)).astype("f")
    vectors = np.ones((3, 5), "f")
    first = CachedProgram(products, one, never, {})(matrices, vectors)
    np.testing.assert_allclose(first, np.einsum("dmn,mn->dn", matrices, vectors), rtol=1e-5)
    assert len(list(folder.iterdir())) == 1
    monkeypatch.setattr(CachedProgram, "_compile", never)
    again = CachedProgram(products, one, never, {})
    np.testing.assert_array_equal(again(matrices, vectors), first)
    np.testing.assert_array_equal(again(2 * matrices, vectors), 2 * first)
    with pytest.raises(AssertionError, match="traced again"):
        again(matrices[:1], vectors)
    with pytest.raises(AssertionError, match="traced again"):  # other options are another program
        CachedProgram(products, one, never, {"xla_backend_optimization_level": 0})(
            matrices, vectors
        )


def solved(matrix: Any) -> Any:
    return jnp.linalg.solve(matrix, jnp.ones(len(matrix)))


def called(x: Any) -> Any:
    return jax.pure_callback(np.sin, x, x)


@pytest.mark.parametrize("function", [solved, called])
def test_a_program_that_calls_out_of_itself_is_not_written(function, folder, monkeypatch):
    """Loaded without tracing, it would call what nobody has made ready, and end the process."""
    monkeypatch.setattr(function, "__module__", "regrax.made.up")
    matrix = np.eye(3, dtype="f")
    found = CachedProgram(function, one, never, {})(matrix)
    np.testing.assert_allclose(found, jax.jit(function)(matrix))
    assert not list(folder.iterdir())


def test_keys_and_structures_come_through(folder):
    def pair(*_: Any) -> Any:
        return {"a": (0.0,)}

    key = jax.random.key(3)
    for _ in range(2):
        drawn = CachedProgram(_random.normal, pair, never, {})(key, (4,))
        np.testing.assert_array_equal(drawn["a"][0], jax.random.normal(key, (4,)))


@pytest.mark.parametrize(
    "damage", [lambda data: b"", lambda data: data[:-1], lambda data: data[:40]]
)
def test_a_damaged_program_is_compiled_again(folder, damage):
    arguments = np.ones((2, 2, 2), "f"), np.ones((2, 2), "f")
    whole = CachedProgram(products, one, never, {})(*arguments)
    [file] = folder.iterdir()
    file.write_bytes(damage(file.read_bytes()))
    np.testing.assert_array_equal(CachedProgram(products, one, never, {})(*arguments), whole)
    assert file.stat().st_size > 100


def test_a_folder_that_is_gone_is_no_error(folder):
    folder.rmdir()
    found = CachedProgram(products, one, never, {})(np.ones((2, 2, 2), "f"), np.ones((2, 2), "f"))
    assert found.tolist() == [[2, 2], [2, 2]]


def test_what_has_no_signature_is_called_as_it_is(folder):
    def own(x: Any) -> Any:
        return x + 1

    assert CachedProgram(own, one, own, {})(1) == 2
    assert not list(folder.iterdir())


def command(home, *arguments, **settings):
    """What a command prints, in a process of its own."""
    here = {k: v for k, v in os.environ.items() if k not in ("XLA_FLAGS", "REGRAX_ONE_SHOT")}
    here |= {"XDG_CACHE_HOME": str(home), **settings}
    run = [sys.executable, "-m", "regrax", *arguments, "--json"]
    found = subprocess.run(run, capture_output=True, text=True, check=True, env=here)
    assert not found.stderr
    return json.loads(found.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", ["linear", "full", "swap", "swap --objective swap-closed", "transformer --seeds 1"]
)
def test_a_training_is_the_same_first_again_and_without(model, tmp_path):
    def train(name, **settings):
        out = tmp_path / name
        line = (
            "train",
            "--steps",
            "3",
            "--batch",
            "64",
            "--out",
            str(out),
            "--model",
            *model.split(),
        )
        [seed] = command(tmp_path, *line, **settings)["seeds"]
        return {name: seed[name] for name in ("loss", "loss_error", "step_size", "total_variation")}

    first, entries = train("first"), set((tmp_path / "regrax").rglob("*-cache"))
    assert entries
    assert train("again") == first
    assert set((tmp_path / "regrax").rglob("*-cache")) == entries
    for name, value in train("without", JAX_ENABLE_COMPILATION_CACHE="false").items():
        np.testing.assert_allclose(value, first[name], rtol=1e-5, err_msg=name)


@pytest.mark.slow
def test_tournaments_that_differ_in_steps_share_a_program(tmp_path):
    def played(step, **settings):
        line = ("--learners", f"hedge({step})", "uniform()", "--games", "chicken", "--rounds", "50")
        return command(tmp_path, "tournament", *line, **settings)

    first, entries = played(0.1), set((tmp_path / "regrax").rglob("*-cache"))
    other = played(0.5)
    assert set((tmp_path / "regrax").rglob("*-cache")) == entries
    assert other != first
    assert played(0.5, JAX_ENABLE_COMPILATION_CACHE="false") == other
