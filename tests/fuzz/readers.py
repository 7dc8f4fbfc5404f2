# ruff: noqa: E501
"""Every reader of files: a valid file, what its first check is, and files that break one rule each."""

import gzip
import io
import json
import re
import tomllib
import zipfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pytest

import regrax as rx
from regrax import _files as files
from regrax.agents.audit import Layout, read_layout
from regrax.agents.audit.read import read_log
from regrax.attention import LinearAttention
from regrax.checkpoints import FORMAT, load_model, save_model
from regrax.experiments import Store
from regrax.experiments.runs import Measured, TrainConfig, Trained, load_trained, save_trained
from regrax.experiments.sweep import grid, read_sweep
from regrax.experiments.sweep.results import listing_of, write_results
from regrax.games import FORMATS
from regrax.specs import parse_distribution, parse_game, parse_learner

DEEP = b'{"a":' * 50_000
LONG = b"9" * 5000


class Reader(NamedTuple):
    """How a format is read."""

    data: bytes  # of a valid file
    read: Callable[[Path], Any]
    first_check: Callable[[bytes], Any]  # passed if it is true and raises nothing
    bad: tuple[bytes, ...]  # each must be refused
    suffix: str


def refusal(read, *arguments):
    """The message of the ValueError, and nothing else, with which something is refused; empty if it is not."""
    try:
        read(*arguments)
    except ValueError as error:
        return str(error) or pytest.fail("refused without a word")
    return ""


def passes(check, data):
    """Whether a first check is passed."""
    try:
        return bool(check(data))
    except Exception:
        return False


def is_json(data):
    return json.loads(data) is not ...


def is_toml(data):
    return tomllib.loads(data.decode()) is not ...


def _game(suffix, first_check, bad):
    def read(file):
        return FORMATS[suffix].read(files.read_limited(file, 2**20))

    data = FORMATS[suffix].write(rx.games.weighted_rps())
    return Reader(data, read, first_check, (bytes(2**20 + 1), *bad), suffix)


TABLE = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]


def _json_bad():
    changes = (
        {"payoffs": [[1, 2], [3]]}, {"payoffs": 1}, {"payoffs": [[["a", 0], [0, 1]]] * 2}, {"payoffs": [[[1e400, 0], [0, 1]]] * 2},
        {"payoffs": [[[10**400, 0], [0, 1]]] * 2}, {"payoffs": [TABLE]}, {"payoffs": []},
        {"players": "ab"}, {"players": ["a"]}, {"players": ["a", 1]}, {"players": ["a", "a"]}, {"actions": 7},
        {"actions": [["a", "b"]]}, {"actions": [["a", "a"], ["a", "b"]]}, {"actions": [["a", "b", "c"], ["a", "b"]]}, {"other": 1},
    )  # fmt: skip
    made = [json.dumps({"payoffs": TABLE, **change}).encode() for change in changes]
    return (b"", b"[]", b"{}", b"null", DEEP, b"\xff", LONG, *made)


def _nfg_bad():
    """Mistakes that `tests/games/test_formats.py` does not list."""
    head = b'NFG 1 R "t" { "a" "b" } '
    return (
        b"",
        b"NFG 1 R \xff",
        head + b"{ 2000 2000 }",
        head + b'{ { "x" "x" } { "y" "z" } } 1 1 1 1',
    )


def archive(*members, **kind):
    """An archive of some members, each a name and its bytes; the same bytes at any time of day."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", **kind) as made:
        for name, data in members:
            made.writestr(zipfile.ZipInfo(name), data, made.compression)
    return held.getvalue()


def header(shape, kind="<f8", version=b"\x01\x00"):
    """The beginning of an array's member."""
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY" + version + len(text).to_bytes(2, "little") + text


def _npz_bad():
    good = header((2, 2, 2)) + bytes(64)
    squeezed = {"compression": zipfile.ZIP_DEFLATED}
    payoffs = (
        header((2, 2**14, 2**14)), header((2, 2**40, 2**4)), header((2, 2, 2), "O"), header((2, 2, 2), "<c16") + bytes(128),
        header((2, 2, 2), "<M8[s]") + bytes(64), header((2, 2, 2)) + bytes(63), b"[" * 100_000, header((2, 2)) + bytes(32),
        header((2, 2, 2), version=b"\x07\x00") + bytes(64), header((2, 2, 2), "<U2") + bytes(64), good[:30],
        header((2, 2, 2)) + np.full(8, np.nan).tobytes(),
    )  # fmt: skip

    def labelled(text):
        held = io.BytesIO()
        np.save(held, np.array(text))
        return archive(("payoffs.npy", good), ("labels.npy", held.getvalue()))

    return (
        b"", b"\x93NUMPY" + bytes(100), archive(("other.npy", good)), archive(("payoffs.npy", payoffs[0] + bytes(2**20)), **squeezed),
        *(archive(("payoffs.npy", one)) for one in payoffs), labelled("7"), labelled("{"), labelled("[" * 100_000), labelled('{"players": ["a", "a"]}'),
    )  # fmt: skip


def repacked(data, change, arrays=None):
    """A checkpoint whose header was changed: `change` is given the description and the header."""
    size = int.from_bytes(data[:8], "little")
    top = json.loads(data[8 : 8 + size])
    about = json.loads(top["__metadata__"]["regrax"])
    change(about, top)
    top["__metadata__"]["regrax"] = json.dumps(about)
    text = json.dumps(top).encode()
    return len(text).to_bytes(8, "little") + text + (data[8 + size :] if arrays is None else arrays)


def _checkpoint(folder):
    save_model(folder / "m", LinearAttention.hedge(3, 0.4))
    data = (folder / "m.safetensors").read_bytes()
    (folder / "case.json").touch()  # of a pair of files as there once was
    alone = json.dumps({"__metadata__": {"regrax": json.dumps({"format": FORMAT})}}).encode()
    changes = (
        lambda about, top: about.update(format="other"), lambda about, top: about.update(model="no such"),
        lambda about, top: about.update(settings=7), lambda about, top: about["settings"].update(actions=10**6),
        lambda about, top: about["settings"].update(colour=1), lambda about, top: about["settings"].update(actions=2),
        lambda about, top: about.update(sha256="0"), lambda about, top: about.pop("sha256"),
        lambda about, top: top.update(extra={"dtype": "F32", "shape": [], "data_offsets": [0, 0]}),
        lambda about, top: top["values"].update(dtype="F99"), lambda about, top: top["values"].pop("shape"),
        lambda about, top: top["values"].update(data_offsets=[0]), lambda about, top: top.update(values=[]),
    )  # fmt: skip
    bad = (b"", b"\xff" * 100, len(DEEP).to_bytes(8, "little") + DEEP, data[:-1], data + b"0", data[:-1] + b"7",
           b"\x02" + bytes(7) + b"{}", (len(alone) + 9).to_bytes(8, "little") + alone, *(repacked(data, change) for change in changes))  # fmt: skip
    return Reader(data, load_model, _fits, bad, ".safetensors")


def _fits(data):
    return len(data) > 8 + int.from_bytes(data[:8], "little")


CONFIG = TrainConfig("linear", actions=3, horizon=5)


def _trained(folder):
    numbers = Measured(1.0, 0.1, None, 0.4, 0.0, 0.0)
    save_trained(folder / "m", CONFIG, Trained(LinearAttention.hedge(3, 0.4), numbers, 1.0))
    data = (folder / "m.safetensors").read_bytes()
    changes = (
        lambda about, top: about.pop("config"), lambda about, top: about["config"].update(horizon=6),
        lambda about, top: about["config"].pop("horizon"), lambda about, top: about.pop("measured"),
        lambda about, top: about["measured"].update(more=1), lambda about, top: about.update(measured=3),
        lambda about, top: about["measured"].update(loss="a"), lambda about, top: about["measured"].pop("loss"),
        lambda about, top: about.update(seconds=None),
    )  # fmt: skip
    bad = tuple(repacked(data, change) for change in changes)
    return Reader(data, lambda file: load_trained(file, CONFIG), _fits, bad, ".safetensors")


def _log(folder, data=None, bad=(), suffix=".jsonl", **options):
    """A log, of JSON lines unless its bytes are given, whose bad rows are ValueErrors here."""

    def read(file):
        log = read_log(file, **options)
        if log.bad_rows:
            raise ValueError("; ".join(f"{lines}: {why}" for lines, why in log.bad))

    def is_readable(case):
        lines = [case, *case.splitlines()]
        return case[:2] in (b"PK", b"\x1f\x8b") or any(passes(is_json, line) for line in lines)

    if not isinstance(data, bytes):
        data = _lines(data)
    cases = tuple(case if isinstance(case, bytes) else _lines(case) for case in bad)
    return Reader(data, read, is_readable, cases, suffix)


def _lines(records):
    return "\n".join(map(json.dumps, records)).encode()


ROWS = [{"round": t, "policy": [0.5, 0.5], "losses": [0.0, 1.0]} for t in range(1, 13)]
FULL, BANDIT = {"action": 0, "losses": [0, 1]}, {"action": 0, "loss": 1.0, "propensity": 0.5}
BAD_ROWS = (  # that `tests/agents/audit/test_log.py` does not list
    [{}], [{**FULL, "action": -1}], [{**FULL, "action": 0.5}], [{**BANDIT, "action": 0.5}],
    [{"action": "a", "losses": {"a": 0, "b": 1}}, {"action": "a", "losses": {"a": 0, "c": 1}}],
    [{**BANDIT, "policy": [0.5, 0.5]}, BANDIT], [{**BANDIT, "action": n} for n in range(1001)],
    [{**FULL, "agent": "a" * 300}], [{**FULL, "agent": 1.5}], [{**FULL, "episode": ""}],
    b"\xff\n", b"7", b'"text"', "\ud800".encode(errors="surrogatepass"), b'{"round": %s}' % LONG, b"[" * 100_000,
    _lines([FULL]) + b'\n{"a": ' + b"[" * 100_000, b'{"rows": [\n' + 2 * (_lines([FULL]) + b",\n"), b"[" + b" " * 2**24 + b"]",
)  # fmt: skip
TURN = {"action": 0, "losses": [0.0, 1.0]}
LISTS = {"id": 7, "action": [0, 1], "losses": [[0.0, 1.0], [1.0, 0.0]]}
TURNS = [{"id": 3, "turns": [TURN, TURN]}, {"id": 4, "turns": [TURN]}]
BAD_TURNS = ([{"turns": 3}], [{"turns": {"a": 1}}], [{"id": 1}], [{"turns": [{"action": 0, "losses": 3}]}], [*TURNS, 3], b"\xff")  # fmt: skip
SAID = {"logs": [[-1, "begin"], [0, "[rock]"], [1, "[paper]"]], "rewards": {"0": -1, "1": 1}}
BAD_SAID = ([{"logs": 3}], [{"logs": [[0, "a"]], "rewards": [1]}], [{"rewards": {"0": 1}}], [{"logs": "ab"}])  # fmt: skip
ANSWER = {"role": "assistant", "content": "rock"}
SAMPLE = {"id": 1, "epoch": 1, "messages": [ANSWER] * 3, "scores": {"points": {"value": 0.5}}}
INSPECT = {"version": 2, "status": "success", "eval": {"model": "m"}, "samples": [SAMPLE, SAMPLE]}
BAD_INSPECT = (
    *([{**INSPECT, **change}] for change in ({"samples": 3}, {"eval": []}, {"samples": [3]})),
    *([{**INSPECT, "samples": [{**SAMPLE, **change}]}] for change in ({"scores": 7}, {"messages": {}})),
    _lines([INSPECT])[:-9],
)  # fmt: skip
TOP, ONE = ("header.json", b'{"eval": {"model": "m"}}'), ("samples/1.json", _lines([SAMPLE]))
BAD_ARCHIVES = (
    b"PK", archive(ONE), archive(TOP, ("samples/1.json", b"[" * 100_000)), archive(TOP, ("samples/1.json", b"\xff")),
    archive(("header.json", DEEP), ONE), archive(TOP, ("samples/1.json", bytes(2**26)), compression=zipfile.ZIP_DEFLATED),
)  # fmt: skip
WON = {"won": {"score": 1, "weight": 1}}
TRACE = {
    "agent": {"name": "a"},
    "nodes": [{"message": ANSWER, "sampled": True}] * 2,
    "rewards": WON,
}
TRACES = {"id": "e", "traces": [TRACE, TRACE]}
BAD_TRACES = tuple([{**TRACES, "traces": traces}] for traces in (3, [3], [{**TRACE, "nodes": 3}], [{**TRACE, "rewards": []}]))  # fmt: skip
CSV = b"round,action,losses.a,losses.b\n" + b"".join(b"%d,a,0.5,1\n" % t for t in range(1, 9))
BAD_CELLS = (b'0,"[0, 1]",3', b'0,"[0, x]"', b'0,"[0, 1"x', b"\xff,1", b"\x00,1", b'0,"' + b"[" * 100_000 + b'"', b"0," + b"1" * 2**21,
             b"0,[" + LONG + b"]", b'0,"[0, 1]')  # fmt: skip
BAD_CSV = (b'"', b"action,action\n", *(b"action,losses\n" + cells + b"\n" for cells in BAD_CELLS))
SCORED = Layout({"payoff": "scores.points.value"}, actions=("rock", "paper"))


def _csv(folder):
    reader = _log(folder, CSV, BAD_CSV, ".csv")
    return reader._replace(first_check=lambda data: b"\n" in data and data.decode())


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


def _sweep(folder):
    base = 'model = "linear"\nactions = 2\nhorizon = 3\n'
    texts = (
        "x", "model = 3", "[model]", "cells = 3", "cells = []\n" + base, "cells = [3]\n" + base, 'model = "no such"', base + "colour = 3",
        base + "seeds = 0", base + "seeds = 101", base + "seeds = []", base + "seeds = [-1]", base + "seeds = [1, 1]",
        base + "seeds = 1.5", base + "seeds = true", base + "layers = 2", "actions = 2", base + "[[cells]]\n[[cells]]",
        base + "rate = nan", base + "rate = -1", base + "steps = 0", base + "batch = 2.5", base + "a = " + "[" * 100_000,
        base + "steps = [1, 2, 3]\nseeds = 40", base.replace("actions = 2", "actions = 1"),
        base + 'distribution = "agent(\\"python:os:getcwd\\")"', base + 'operator = "no such"', base + 'objective = "no such"',
        base + "batch = 4099", base.replace("linear", "swap") + 'operator = "ball"', base + 'objective = "swap"',
        base.replace("linear", "swap") + "distribution = 'student-t(5.0)'", base + "objective = 'hindsight'\nfeedback = 'delayed(2)'",
        base.replace("horizon = 3", "horizon = 10000").replace("actions = 2", "actions = 10000"),
    )  # fmt: skip
    bad = (b"\xff", b"#" * 2**20 + b"##", *(text.encode() for text in texts))

    def read(file):
        with mock.patch.object(grid, "MAX_CELLS", 100):  # where none is refused, few are made
            return read_sweep(file)

    return Reader(SWEEP, read, is_toml, bad, ".toml")


LAYOUT = b"""messages = "chat.0"
actions = ["heads 1", "tails 2"]
[fields]
episode = "id.0"
payoff = "meta.3.reward"
"""


def _layout(folder):
    texts = ("x", "colour = 1", "rows = 1", "actions = 'a'", "actions = [1]", "fields = 3", "[fields]\nepisode = 3",
             "[fields]\ncolour = 'x'", "format = 'no such'", "a = " + "[" * 100_000)  # fmt: skip
    bad = (b"\xff", b"#" * 2**20 + b"##", *(text.encode() for text in texts))
    return Reader(LAYOUT, read_layout, is_toml, bad, ".toml")


@dataclass(frozen=True)
class Piece:
    x: float


def _stored(folder):
    """A kept result that is damaged or of other settings is made anew: none is believed."""
    store = Store(folder / "store")
    store.result("piece", {"a": 1}, Piece, lambda: Piece(1.5))
    (kept,) = (folder / "store").glob("piece-*.json")

    def make():
        raise ValueError("made anew")

    def read(file):
        kept.write_bytes(file.read_bytes())
        found = store.result("piece", {"a": 1}, Piece, make)
        assert found.config == {"a": 1}
        return found.result

    data = re.sub(rb'("seconds":)[^,}]+', rb"\g<1>0.5", kept.read_bytes())
    bad = (
        b"",
        b"[]",
        b"{}",
        DEEP,
        data[:-1],
        data.replace(b'"a":1', b'"a":2'),
        data.replace(b"1.5", b"true"),
    )
    return Reader(data, read, is_json, bad, ".json")


def _settings(folder):
    """`training.json` of a folder that holds a run."""

    def read(file):
        (folder / "run").mkdir(exist_ok=True)
        (folder / "run" / ".regrax.lock").touch()
        (folder / "run" / "training.json").write_bytes(file.read_bytes())
        with Store(folder / "run").locked(asdict(CONFIG)):
            pass

    data = json.dumps(asdict(CONFIG)).encode()
    bad = (b"", b"[]", b"3", DEEP, b"\xff", b"{}", data.replace(b'"actions": 3', b'"actions": 4'), data[:-1] + b', "more": 1}')  # fmt: skip
    return Reader(data, read, is_json, bad, ".json")


def _metrics(folder):
    """A damaged line of metrics is dropped with what follows the state, and written again: none is refused."""

    def read(file):
        run = Store(folder / "lines")
        run.folder.mkdir(exist_ok=True)
        run.metrics.write_bytes(file.read_bytes())
        run.cut("step", 2)
        return run.metrics.read_text()

    data = b'{"step": 1}\n{"step": 2}\n{"step": 3}\n'
    return Reader(
        data, read, lambda d: any(passes(is_json, x) for x in d.splitlines()), (), ".jsonl"
    )


def _listing(folder):
    """`sweep.json`, what the sweep in a folder is."""
    write_results(folder, [CONFIG], {"a": "b"})
    data = (folder / "sweep.json").read_bytes()

    def read(file):
        (folder / "sweep.json").unlink(missing_ok=True)
        if data := file.read_bytes():  # an empty one is none
            (folder / "sweep.json").write_bytes(data)
        return listing_of(folder)

    return Reader(
        data,
        read,
        is_json,
        (b"", b"[]", b"{}", DEEP, b"\xff", b'{"cells": [3], "failed": {}}'),
        ".json",
    )


SPECS = {
    parse_learner: "blum_mansour(hedge(inverse_sqrt(1.0)))",
    parse_game: "random(3, 3, seed=3)",
    parse_distribution: "mixture(gaussian, student-t(5.0))",
}


def _specs(folder):
    """A learner's spec, a game's or a distribution's, whichever reads it."""

    def read(file):
        text = file.read_bytes().decode("utf-8", "replace")
        kind, _, text = text.partition(":")
        parse = {"learner": parse_learner, "game": parse_game}.get(kind, parse_distribution)
        return str(parse(text))

    texts = (
        "learner:", "learner:3", "learner:'hedge'", "learner:hedge(", "learner:" + "a" * 20_000, "learner:" + "(" * 3000, "learner:no_such()",
        "learner:hedge(1, 2, 3, 4)", "learner:hedge(colour=1)", "learner:hedge(0.1, step_size=0.1)", "learner:hedge(**3)", "learner:hedge(**{})",
        "learner:inverse_sqrt(1.0)", "learner:" + "delayed(" * 9 + "hedge(1)" + ", 1)" * 9, "game:random(9223372036854775808, 2)", "game:random(-1, 2)",
        "game:random('a', 2)", "game:random(2, 2, seed=[1, 'a'])", "learner:hedge('a')", "learner:hedge(uniform())", "game:random(100000, 100000)",
        "game:os.system('x')", "game:[1]", "learner:checkpoint('x')", "learner:agent('x')", "distribution:student_t(-1)", "distribution:mixture()",
        "distribution:mixture(1, 2)", "distribution:in_game('chicken', 'agent(\"x\")')", "distribution:in_game('chicken', 'hedge(1)', seat=9)",
        "learner:hedge(a.b)", "learner:hedge(lambda: 0)", "learner:delayed(3, 3)",
    )  # fmt: skip
    data = b"learner:" + SPECS[parse_learner].encode()
    return Reader(data, read, lambda data: b"(" in data, tuple(t.encode() for t in texts), ".txt")


READERS: dict[str, Callable[[Path], Reader]] = {
    "game.json": lambda folder: _game(".json", is_json, _json_bad()),
    "game.nfg": lambda folder: _game(".nfg", lambda data: data.startswith(b"NFG 1 R"), _nfg_bad()),
    "game.npz": lambda folder: _game(".npz", lambda data: data.startswith(b"PK"), _npz_bad()),
    "checkpoint": _checkpoint,
    "trained model": _trained,
    "log.jsonl": partial(_log, data=ROWS, bad=BAD_ROWS),
    "log.csv": _csv,
    "sweep.toml": _sweep,
    "layout.toml": _layout,
    "episodes.jsonl": partial(
        _log,
        data=[LISTS, {"id": 8, "round": 1, **TURN}],
        bad=BAD_TURNS,
        layout=Layout({"episode": "id"}),
    ),
    "turns.jsonl": partial(
        _log, data=TURNS, bad=BAD_TURNS, layout=Layout({"episode": "id"}, rows="turns")
    ),
    "textarena.jsonl": partial(
        _log,
        data=[SAID],
        bad=BAD_SAID,
        layout=Layout(format="textarena", actions=("rock", "paper")),
    ),
    "inspect.json": partial(_log, data=[INSPECT], bad=BAD_INSPECT, suffix=".json", layout=SCORED),
    "inspect.eval": partial(
        _log,
        data=archive(TOP, ONE, ("samples/2.json", ONE[1])),
        bad=BAD_ARCHIVES,
        suffix=".eval",
        layout=SCORED,
    ),
    "traces.jsonl": partial(
        _log,
        data=[TRACES],
        bad=BAD_TRACES,
        layout=Layout(format="verifiers", actions=("rock", "paper")),
    ),
    "log.jsonl.gz": partial(
        _log,
        data=gzip.compress(_lines(ROWS), mtime=0),
        bad=(b"\x1f\x8b", _lines(ROWS), gzip.compress(b"{"), gzip.compress(bytes(2**26))),
        suffix=".jsonl.gz",
    ),
    "kept result": _stored,
    "training.json": _settings,
    "metrics.jsonl": _metrics,
    "sweep.json": _listing,
    "spec": _specs,
}
