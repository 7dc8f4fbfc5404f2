"""The shell around the commands: help, errors of one line, exit codes, and how jax is set up."""

import inspect
import os
import re
import shlex
import subprocess
import sys
import warnings
from importlib import import_module

import pytest

from regrax.cli import main
from regrax.cli.app import COMMANDS, XLA_FLAGS, build_app, cache_folder, prepare_jax

pytestmark = pytest.mark.usefixtures("as_users_run_it")
NAMES = [name for commands in COMMANDS.values() for name in commands]
PLAY = ("play", "weighted-rps", "--learners", "hedge(0.4479)", "--rounds", "20", "--json")


def printed_help(capsys, *arguments):
    main([*arguments, "--help"])
    return capsys.readouterr().out


def test_regrax_alone_prints_the_help(capsys):
    main([])
    alone = capsys.readouterr().out
    assert alone == printed_help(capsys)
    for title, commands in COMMANDS.items():
        assert title in alone
        for name, line in commands.items():
            assert re.search(rf"{name} +{re.escape(line)}", alone)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("columns", ["80", "120"])
def test_help_fits_and_shows_every_option(name, columns, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    out = printed_help(capsys, name)
    assert max(map(len, out.splitlines())) <= int(columns)
    assert out.count(f"\n    regrax {name}") == 2, "two examples"
    line = next(group[name] for group in COMMANDS.values() if name in group)
    assert line in out, "the overview and the command describe it alike"
    for argument in build_app([name])[name].assemble_argument_collection(parse_docstring=True):
        if argument.show:
            assert argument.parameter.help, argument.name
            assert argument.name in out


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_of_a_command_parse(name):
    module = name.replace("-", "_")
    text = inspect.getdoc(getattr(import_module(f"regrax.cli.{module}"), module))
    for example in re.findall(r"^ +regrax (.*)$", text, re.M):
        build_app([name]).parse_args(shlex.split(example))
        assert len(f"    regrax {example}") <= 80, "the help would break the line"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["play", "chicken", "--learners", "uniform()", "--rounds", "x"],
            "--rounds: must be an int",
        ),
        (["play", "chicken", "--learners", "uniform()", "--rounds", "3.5"], "must be an integer"),
        (["play", "chicken", "--learners", "uniform()"], "--rounds"),
        (["play", "chicken", "--learners", "--rounds", "2"], "--learners"),
        (["play", "chicken", "--learners", "u", "--roundz", "5"], "Did you mean --rounds"),
        (["solve", "chicken", "--concept", "stable"], '"nash", "ce", "cce"'),
        (["solve", "chicken", "more"], "more"),
        (["frobnicate"], "frobnicate"),
        (["pla"], 'Did you mean "play"'),
        (["--nothing"], "--nothing"),
    ],
)
def test_a_bad_command_line_is_one_line(capsys, arguments, message):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("regrax: error: ")
    assert message in err
    assert "--help)" in err


def bad_command_lines():
    """Misspell every command and option, give every flag a wrong value, and every other option none or a wrong one."""
    for name in NAMES:
        yield [name[:-1]]
        yield [name, "--json", "one", "two", "three", "--nothing"]
        app = build_app([name])
        collection = app[name].assemble_argument_collection(
            default_parameter=app.default_parameter, parse_docstring=True
        )
        for argument in collection:
            if argument.show and argument.name.startswith("--"):
                yield [name, f"{argument.name}z", "1"]
                yield (
                    [name, f"{argument.name}=x"] if argument.hint is bool else [name, argument.name]
                )


def test_300_bad_command_lines_are_one_line_each(capsys):
    lines = list(bad_command_lines())
    assert len(lines) >= 300
    for arguments in lines:
        with pytest.raises(SystemExit) as left:
            main(arguments)
        out, err = capsys.readouterr()
        assert left.value.code == 2, arguments
        assert out == "", arguments
        assert err.count("\n") == 1, arguments
        assert err.startswith("regrax: error: "), arguments
        assert len(err) < 400, arguments


def test_the_version_is_printed(capsys):
    main(["--version"])
    assert re.fullmatch(r"regrax \d+\.\d+\.\d+\n", capsys.readouterr().out)


def test_a_bug_is_one_line_with_its_own_exit_code(capsys, monkeypatch, tmp_path):
    """A spec can name a Python function, so a function that fails stands for a bug."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "broken.py").write_text("def act(*_):\n    raise KeyError('nowhere')\n")
    given = ["play", "chicken", "--learners", 'agent("python:broken:act")', "--rounds", "2"]
    monkeypatch.delenv("REGRAX_DEBUG", raising=False)
    with pytest.raises(SystemExit) as left:
        main(given)
    assert left.value.code in (2, 70)
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("arguments", [("train", "--help"), ("learners",)])
def test_a_reader_that_leaves_early_is_not_an_error(arguments):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-m", "regrax", *arguments], **pipes) as process:
        process.stdout.close()
        assert process.stderr.read() == ""


def test_a_closed_output_is_one_line():
    command = f"exec {sys.executable} -m regrax games >&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "regrax: error: standard output is closed\n")


@pytest.mark.parametrize("arguments", [["--help"], ["play", "--help"]])
def test_help_does_not_import_jax(arguments):
    code = "import sys, regrax.cli; regrax.cli.main(sys.argv[1:]); assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, check=True)


def test_importing_regrax_sets_nothing():
    code = "import regrax; regrax.Hedge(0.4); import jax; assert not jax.config.jax_enable_x64"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty cache folder and an environment without settings for jax."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("XLA_FLAGS", "")
    for name in ("JAX_COMPILATION_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    with warnings.catch_warnings():
        yield tmp_path


def test_settings_of_the_user_take_precedence(home, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_a=3")
    prepare_jax()
    assert os.environ["XLA_FLAGS"].startswith("--xla_a=3 --xla_backend_optimization_level=1")
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == str(cache_folder())
    assert cache_folder().is_relative_to(home)
    mine = [flag.partition("=")[0] + "=0" for flag in XLA_FLAGS]
    monkeypatch.setenv("XLA_FLAGS", " ".join(mine))
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "/elsewhere")
    prepare_jax()
    assert os.environ["XLA_FLAGS"] == " ".join(mine)
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == "/elsewhere"


def test_a_warning_is_one_line(home, capsys):
    prepare_jax()
    warnings.simplefilter("always")
    warnings.warn("mind this", stacklevel=1)
    assert capsys.readouterr().err == "regrax: warning: mind this\n"


def run(*arguments):
    command = [sys.executable, "-m", "regrax", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True)


@pytest.mark.slow
def test_compiled_programs_are_reused_and_damage_is_harmless(home, monkeypatch):
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    first = run(*PLAY)
    entries = sorted(cache_folder().glob("*-cache"))
    assert entries
    assert run(*PLAY).stdout == first.stdout
    assert sorted(cache_folder().glob("*-cache")) == entries
    for entry in entries:
        entry.write_bytes(entry.read_bytes()[:100])
    damaged = run(*PLAY)
    assert (damaged.stdout, damaged.stderr) == (first.stdout, first.stderr)


def test_a_cache_folder_that_cannot_be_made_is_not_an_error(home):
    (home / "regrax").write_text("a file where the folder would be")
    assert run(*PLAY).stderr == ""


@pytest.mark.parametrize("platform", ["cuda", pytest.param("nosuch", marks=pytest.mark.slow)])
def test_an_unknown_platform_is_one_line(platform):
    environment = {**os.environ, "JAX_PLATFORMS": platform}
    command = [sys.executable, "-m", "regrax", *PLAY]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert "jax cannot use the devices in JAX_PLATFORMS" in done.stderr
