"""Every reader of files on changed files: a result or one ValueError, and nothing else.

At least a third of each format's cases must pass its first check, so that what lies behind it is tried as well.
"""

import json
import tomllib
import zipfile
from dataclasses import dataclass

import jax
import numpy as np
import pytest
from tests.fuzz.mutation import mutated

import regrax as rx
from regrax import _files as files
from regrax.attention import LinearAttention
from regrax.audit._log import read_log
from regrax.checkpoints import load_model, read_header, save_model
from regrax.experiments import Store
from regrax.experiments.sweep import read_sweep
from regrax.games import FORMATS
from regrax.specs import parse_distribution, parse_game, parse_learner

FEW, MANY = 150, 2500
MAX_MESSAGE = 1000


def _is_json(data):
    return _holds(lambda: json.loads(data))


def _holds(check):
    try:
        check()
    except Exception:
        return False
    return True


def _game(suffix):
    def read(file):
        return FORMATS[suffix].read(files.read_limited(file))

    return FORMATS[suffix].write(rx.games.weighted_rps()), read


def _checkpoint(tmp_path):
    save_model(tmp_path / "m", LinearAttention.hedge(3, 0.4))
    return (tmp_path / "m.safetensors").read_bytes(), load_model


def _log(tmp_path):
    rows = [{"round": t, "policy": [0.5, 0.5], "losses": [0.0, 1.0]} for t in range(1, 13)]
    return "\n".join(map(json.dumps, rows)).encode(), read_log


SWEEP = b"""actions = [2, 3]
horizon = 10
seeds = 2
distribution = 'student-t(5.0)'
[[cells]]
model = "linear"
[[cells]]
model = "transformer"
layers = [1, 2]
"""


@dataclass(frozen=True)
class Piece:
    x: float


def _stored(tmp_path):
    store = Store(tmp_path / "store")
    store.result("piece", {"a": 1}, Piece, lambda: Piece(1.5))
    (kept,) = (tmp_path / "store").glob("piece-*.json")

    def read(file):
        kept.write_bytes(file.read_bytes())
        found = store.result("piece", {"a": 1}, Piece, lambda: Piece(1.5))
        assert found.config == {"a": 1}

    return kept.read_bytes(), read


READERS = {
    ".json": (lambda tmp_path: _game(".json"), _is_json),
    ".nfg": (lambda tmp_path: _game(".nfg"), lambda data: data.startswith(b"NFG 1 R")),
    ".npz": (lambda tmp_path: _game(".npz"), lambda data: data.startswith(b"PK")),
    ".safetensors": (_checkpoint, lambda data: len(data) > 8 + int.from_bytes(data[:8], "little")),
    ".jsonl": (_log, lambda data: any(map(_is_json, data.splitlines()))),
    ".toml": (
        lambda tmp_path: (SWEEP, read_sweep),
        lambda data: _holds(lambda: tomllib.loads(data.decode())),
    ),
    ".stored": (_stored, _is_json),
}


def tried(name, tmp_path, seeds):
    """How many cases there were, and how many passed the first check."""
    make, first_check = READERS[name]
    data, read = make(tmp_path)
    file = tmp_path / f"case{name}"
    passed = 0
    for seed in seeds:
        case = mutated(data, seed)
        passed += first_check(case)
        file.write_bytes(case)
        assert len(refusal(read, file)) < MAX_MESSAGE, seed
    return passed


def refusal(read, *arguments):
    """The message of the ValueError, and nothing else, with which something is refused; empty if it is not."""
    try:
        read(*arguments)
    except ValueError as error:
        return str(error) or pytest.fail("refused without a word")
    return ""


@pytest.mark.parametrize("name", READERS)
def test_changed_files_are_read_or_refused(name, tmp_path):
    passed = tried(name, tmp_path, range(FEW))
    assert passed >= FEW / 3, passed


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_many_changed_files_are_read_or_refused(name, tmp_path):
    passed = tried(name, tmp_path, range(FEW, FEW + MANY))
    print(f"{name}: {passed} of {MANY} cases passed the first check")
    assert passed >= MANY / 3, passed


SPECS = {
    parse_learner: "blum_mansour(hedge(inverse_sqrt(1.0)))",
    parse_game: "random(3, 3, seed=3)",
    parse_distribution: "mixture(gaussian, student-t(5.0))",
}


@pytest.mark.parametrize("parse", SPECS, ids=lambda parse: parse.__name__)
def test_changed_specs_are_read_or_refused(parse):
    for seed in range(FEW):
        text = mutated(SPECS[parse].encode(), seed).decode("utf-8", "replace")
        assert len(refusal(parse, text)) < MAX_MESSAGE


def archive(tmp_path, member, data, **kind):
    file = tmp_path / "game.npz"
    with zipfile.ZipFile(file, "w", **kind) as made:
        made.writestr(member, data)
    return file.read_bytes()


def header(shape, kind="<f8"):
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def test_an_archive_that_claims_or_grows_too_much_is_refused_before_it_is_made(tmp_path):
    squeezed = {"compression": zipfile.ZIP_DEFLATED}
    bomb = archive(tmp_path, "payoffs.npy", header((2, 2**14, 2**14)) + bytes(2**20), **squeezed)
    for data in (
        bomb,
        archive(tmp_path, "payoffs.npy", header((2, 2**40, 2**4))),
        archive(tmp_path, "payoffs.npy", header((2, 2, 2), "O")),
        archive(tmp_path, "payoffs.npy", header((2, 2, 2), "<c16") + bytes(128)),
        archive(tmp_path, "payoffs.npy", header((2, 2, 2), "<M8[s]") + bytes(64)),
        archive(tmp_path, "payoffs.npy", header((2, 2, 2)) + bytes(63)),
        archive(tmp_path, "payoffs.npy", b"[" * 100_000),
        archive(tmp_path, "other.npy", header((2, 2, 2)) + bytes(64)),
        b"\x93NUMPY" + bytes(100),
        b"",
    ):
        with pytest.raises(ValueError, match=r"npz|payoffs"):
            FORMATS[".npz"].read(data)


def test_members_that_are_not_needed_are_not_read(tmp_path):
    file = tmp_path / "game.npz"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("payoffs.npy", header((2, 2, 2)) + bytes(64))
        made.writestr("bomb.npy", bytes(2**28))
    assert FORMATS[".npz"].read(file.read_bytes()).sizes == (2, 2)


@pytest.mark.parametrize("what", ["players", "actions"])
def test_labels_that_are_there_twice_are_refused(what):
    labels = {"players": ["a", "a"], "actions": [["x", "x"], ["x", "y"]]}[what]
    data = json.dumps({"payoffs": np.zeros((2, 2, 2)).tolist(), what: labels}).encode()
    with pytest.raises(ValueError, match="must have different names"):
        FORMATS[".json"].read(data)


def test_the_header_of_a_checkpoint_is_checked_before_anything_is_built(tmp_path):
    data, _ = _checkpoint(tmp_path)
    size = int.from_bytes(data[:8], "little")
    about = json.loads(data[8 : 8 + size])
    kept = json.loads(about["__metadata__"]["regrax"])
    kept["settings"]["actions"] = 10**6
    about["__metadata__"]["regrax"] = json.dumps(kept)
    text = json.dumps(about).encode()
    changed = len(text).to_bytes(8, "little") + text + data[8 + size :]
    assert read_header(changed, tmp_path, len(changed)).about["settings"]["actions"] == 10**6
    (tmp_path / "m.safetensors").write_bytes(changed)
    with jax.check_tracer_leaks(False), pytest.raises(ValueError, match="does not fit"):
        load_model(tmp_path / "m")
