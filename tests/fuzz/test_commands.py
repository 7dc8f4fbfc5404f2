"""Every option of every command with absurd values: a documented exit code, one line, and no traceback.

Cases that end at once run in this process; the others run in new ones, with their time and memory watched.
"""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Literal, get_args, get_origin

import numpy as np
import pytest

from regrax.cli import main
from regrax.cli.app import COMMANDS, build_app

TRAIN = ["--model", "linear", "--steps", "2", "--batch", "4", "--sequences", "4", "--out", "run"]
MATCH = ["--learners", "uniform()", "--games", "chicken", "--rounds", "3", "--seeds", "1"]
BASE = {
    "play": ["chicken", "--learners", "hedge(1)", "--rounds", "5"],
    "train": TRAIN,
    "sweep": ["sweep.toml", "--out", "swept"],
    "solve": ["chicken"],
    "tournament": MATCH,
    "audit": ["log.jsonl"],
    "compare": ["log.jsonl"],
    "bench-agents": ["exp3(0.1)", "--episodes", "1", "--out", "bench"],
    "games": ["chicken"],
    "learners": [],
    "step-size": ["--actions", "3", "--horizon", "20"],
    "certify": ["--actions", "2", "--horizon", "3", "--sequences", "100"],
    "explore": ["--out", "page.html"],
    "reproduce": ["--quick", "--only", "step-size", "--out", "paper"],
}
"""A small call of each command; a field is then replaced by a hostile value."""
NUMBERS = ("-1", "0", "nan", "-inf", "1e400", str(2**63), "9" * 400, "0x10", "", "1_0", "½")
TEXTS = (
    "",
    "\x1b[31m",
    "(" * 3000,
    "a" * 20_000,
    "a(b=",
    'agent("x")',
    "../../etc",
    "\ud800",
    "-",
    "1(2)",
)
PATHS = ("", "/dev/full", "/dev/null/x.json", "/", "a" * 300 + ".png", "-", "x\x1b.json", "\x00")
HOSTILE = {int: NUMBERS, float: NUMBERS, str: TEXTS, Path: PATHS}
CODES = (0, 1, 2)


def options(name):
    """The options of a command: name, the type of one value, its choices, and whether it is positional."""
    for argument in build_app([name])[name].assemble_argument_collection():
        hint = argument.hint
        while get_origin(hint) is not None and get_origin(hint) is not Literal:
            hint = get_args(hint)[0]  # of int | None and tuple[str, ...]
        choices = get_args(hint) if get_origin(hint) is Literal else ()
        if not argument.children:
            yield argument.name, hint, choices, not argument.name.startswith("-")


def cases():
    for name, base in BASE.items():
        for option, kind, choices, positional in options(name):
            values = (*choices, "neither") if choices else HOSTILE.get(kind, ())
            for value in values:
                if positional:
                    yield name, [value, *base[1:]]
                else:
                    place = base.index(option) if option in base else len(base)
                    yield name, [*base[:place], f"{option}={value}", *base[place + 2 :]]


CASES = list(cases())
WORK = (
    "bench-agents",
    "certify",
    "reproduce",
    "train",
    "sweep",
)  # minutes where nothing is refused
ANSWERING = ("audit", "compare", "play", "tournament")  # seconds where nothing is refused


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    here = tmp_path_factory.mktemp("hostile")
    (here / "log.jsonl").write_text('{"action": 0, "losses": [0, 1]}\n' * 20)
    (here / "sweep.toml").write_text('model = "linear"\nsteps = 2\nbatch = 4\nsequences = 4\n')
    return here


def run(name, given, folder, capfd, monkeypatch):
    monkeypatch.chdir(folder)
    capfd.readouterr()
    code = 0
    try:
        main([name, *given])
    except SystemExit as stop:
        code = stop.code
    out, error = capfd.readouterr()
    assert "\x1b" not in out + error, given
    return code, error


@pytest.mark.parametrize("name", [name for name in BASE if name not in (*WORK, *ANSWERING)])
def test_hostile_values_are_refused_in_one_line(name, folder, capfd, monkeypatch):
    for given in [given for command, given in CASES if command == name]:
        if any("--coordinator=" in one for one in given):
            continue  # it waits for its peers, in a process of its own
        code, error = run(name, given, folder, capfd, monkeypatch)
        assert code in CODES, (given, code, error)
        if code == 2:
            assert error.startswith("regrax: error: "), (given, error)
            assert len(error.splitlines()) == 1, (given, error)
            assert len(error) < 1500, given


SERVER = """
import json, os, signal, sys, time
import jax, regrax.cli, regrax.games, regrax.training, regrax.agents.audit, regrax.theory
for line in sys.stdin:
    folder, arguments = json.loads(line)
    began, errors = time.monotonic(), os.memfd_create("errors")
    child = os.fork()
    if not child:
        signal.alarm(240)
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1), os.dup2(errors, 2)
        try:
            regrax.cli.main(arguments)
            code = 0
        except SystemExit as stop:
            code = stop.code
        sys.stderr.flush()
        os._exit(code)
    _, status, used = os.wait4(child, 0)
    os.lseek(errors, 0, 0)
    said = os.read(errors, 10**6).decode(errors="replace")
    os.close(errors)
    code = os.waitstatus_to_exitcode(status)
    print(json.dumps([code, said, time.monotonic() - began, used.ru_maxrss * 1024]), flush=True)
"""
"""Runs a command in a fork of a process that has imported what commands import: a tenth of the time of a fresh one."""


def samples(every, every_of_work):
    """Some cases that can be given to a process; each that makes a folder, its own."""
    for number, (name, given) in enumerate(CASES):
        plain = not any("\x00" in one or "\ud800" in one for one in given)
        if plain and number % (every_of_work if name in WORK else every) == 0:
            yield (
                name,
                [f"{x}{number}" if x in ("bench", "run", "swept", "paper") else x for x in given],
            )


@pytest.mark.slow
@pytest.mark.parametrize("half", [0, 1])
def test_in_processes_of_their_own(half, folder):
    """More than 300 cases: exit code, one line, time and memory of each."""
    cases = list(samples(2, 8))
    assert len(cases) >= 300
    cases = cases[half::2]
    lines = "".join(json.dumps([str(folder), [name, *given]]) + "\n" for name, given in cases)
    command = [sys.executable, "-W", "ignore", "-c", SERVER]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    for case, (code, error, seconds, memory) in zip(cases, found, strict=True):
        assert code in CODES, (case, code, error)
        assert (code == 2) <= len(error.splitlines()) <= (code > 0), (case, error)
        assert seconds < (60 if code == 2 else 240), case
        assert memory < 2e9, case
    refused = sum(code == 2 for code, *_ in found)
    largest = max(memory for *_, memory in found)
    print(f"{len(found)} cases, {refused} refused, at most {largest / 1e6:.0f} MB")


def test_every_command_is_tried():
    names = {name for commands in COMMANDS.values() for name in commands}
    assert set(BASE) | {"posttrain"} == names  # that one is tried where torch is
    assert len(CASES) > 300


def test_a_player_with_many_actions_is_shown_and_not_played(tmp_path, capfd, monkeypatch):
    np.savez_compressed(tmp_path / "wide.npz", payoffs=np.zeros((1, 200_000)))
    assert run("games", ["wide.npz"], tmp_path, capfd, monkeypatch)[0] == 0
    given = ["wide.npz", "--learners", "uniform()", "--rounds", "5"]
    code, error = run("play", given, tmp_path, capfd, monkeypatch)
    assert code == 2
    assert "the regrets of 200,000 actions" in error


LEARNERS = (
    "hedge([1, 2])",
    "hedge(inverse_sqrt([1, 2]))",
    "hedge(per_round())",
    "tree_swap(hedge(1), 9999, 9999)",
)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_learner_that_cannot_be_is_refused(learner, tmp_path, capfd, monkeypatch):
    given = ["chicken", "--learners", learner, "--rounds", "5"]
    code, error = run("play", given, tmp_path, capfd, monkeypatch)
    assert (code, len(error.splitlines())) == (2, 1), error


@pytest.mark.parametrize(
    "name", ["explore", "sweep", "train", pytest.param("reproduce", marks=pytest.mark.slow)]
)
def test_no_path_that_is_printed_moves_the_cursor(name, folder, capfd, monkeypatch):
    place = BASE[name].index("--out") + 1
    given = [*BASE[name]]
    given[place] = f"x\x1b[31m{given[place]}"
    if name == "reproduce":
        given += ["--actions", "2", "--horizon", "3"]
    assert run(name, given, folder, capfd, monkeypatch)[0] == 0
    assert (folder / given[place]).exists()


@pytest.fixture
def full_disk():
    """Let no file grow beyond 100 bytes."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)


FULL = {
    "games --save": (["games", "chicken", "--save", "x.json"], "x.json"),
    "play --log": (["play", *BASE["play"], "--log", "x.jsonl"], "x.jsonl"),
    "play --plot": (["play", *BASE["play"], "--plot", "x.png"], "x.png"),
    "explore --out": (["explore", "--out", "x.html"], "x.html"),
    "train --out": (["train", *BASE["train"]], "run/"),
}


@pytest.mark.parametrize("name", FULL)
@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_names_the_file(name, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command, file = FULL[name]
    with pytest.raises(SystemExit, match="2"):
        main(command)
    error = capsys.readouterr().err
    assert file in error
    assert "File too large" in error
    assert error.count("\n") == 1


WRITING = {
    "play --log": ["play", "chicken", "--learners", "uniform()", "--rounds", "2", "--log"],
    "games --save": ["games", "chicken", "--save"],
    "posttrain --export": ["posttrain", "model", "--out", "run", "--export"],
}


@pytest.mark.parametrize("name", WRITING)
@pytest.mark.parametrize("place", ["mine.json", "link.json"])
def test_data_of_others_is_never_overwritten(name, place, tmp_path, capfd, monkeypatch):
    (tmp_path / "mine.json").write_text("42 rows")
    (tmp_path / "link.json").symlink_to("mine.json")
    command, *given = WRITING[name]
    code, error = run(command, [*given, place], tmp_path, capfd, monkeypatch)
    assert code == 2
    assert f"{place} already exists: choose another file" in error
    assert (tmp_path / "mine.json").read_text() == "42 rows"


PLACES = {
    "pipe": os.mkfifo,
    "folder": Path.mkdir,
    "device": lambda place: place.symlink_to("/dev/null"),
    "circle": lambda place: place.symlink_to(place),
}


@pytest.mark.parametrize("name", PLACES)
def test_an_output_replaces_no_device_pipe_or_folder(name, tmp_path, capfd, monkeypatch):
    place = tmp_path / "there.html"
    PLACES[name](place)
    code, error = run("explore", ["--out", str(place)], tmp_path, capfd, monkeypatch)
    assert (code, len(error.splitlines())) == (2, 1), error
    assert "but it is a symlink loop" in error or "must be a regular file" in error
    assert place.is_symlink() or not place.is_file()


def test_an_output_behind_a_link_goes_to_its_target(tmp_path, capfd, monkeypatch):
    place, target = tmp_path / "link.json", tmp_path / "target.json"
    place.symlink_to(target)
    code, _ = run("games", ["chicken", "--save", str(place)], tmp_path, capfd, monkeypatch)
    assert code == 0
    assert place.is_symlink()
    assert b"swerve" in target.read_bytes()
