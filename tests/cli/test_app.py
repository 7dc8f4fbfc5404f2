"""The shell around the commands: help, errors of one line, exit codes, and how jax is set up."""

import os
import re
import shlex
import subprocess
import sys
import warnings

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
    assert not re.search(r" $", out, re.M), "a line of the description was broken"
    examples = re.findall(rf"^    regrax ({name}.*)$", out, re.M)
    assert len(examples) == 2
    for example in examples:
        build_app([name]).parse_args(shlex.split(example))
    line = next(group[name] for group in COMMANDS.values() if name in group)
    assert line in out, "the overview and the command describe it alike"
    for argument in build_app([name])[name].assemble_argument_collection(parse_docstring=True):
        if argument.show:
            assert argument.parameter.help, argument.name
            assert "\n" not in argument.parameter.help, "only the window breaks lines"
            assert argument.name in out


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


def run_python(code, *arguments, **environment):
    command = [sys.executable, "-c", code, *arguments]
    environment = {**os.environ, **environment}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("debug", ["", "1"])
def test_a_bug_is_one_line_with_its_own_exit_code(debug):
    code = """
from regrax.cli import main
from regrax.specs import register
@register("game")
def broken():
    raise KeyError("nowhere")
main(["games", "broken"])
"""
    done = run_python(code, REGRAX_DEBUG=debug)
    line = (
        "regrax: error: a bug in regrax, KeyError: 'nowhere' (REGRAX_DEBUG=1 shows the traceback)\n"
    )
    if debug:
        assert done.stderr.startswith("Traceback")
    else:
        assert (done.returncode, done.stderr) == (70, line)


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


@pytest.mark.parametrize(
    ("command", "module"), [("--help", "jax"), ("play --help", "jax"), ("games", "equinox")]
)
def test_a_command_imports_only_what_it_needs(command, module):
    code = "import sys, regrax.cli; regrax.cli.main(sys.argv[2:]); assert sys.argv[1] not in sys.modules"
    assert run_python(code, module, *command.split()).returncode == 0


def test_importing_regrax_sets_nothing():
    code = "import regrax; regrax.Hedge(0.4); import jax; assert not jax.config.jax_enable_x64"
    assert run_python(code).returncode == 0


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


def run_process(*arguments, **environment):
    return run_python("from regrax.cli import main; main()", *arguments, **environment)


@pytest.mark.slow
def test_compiled_programs_are_reused_and_damage_is_harmless(home, monkeypatch):
    monkeypatch.setenv("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    first = run_process(*PLAY)
    entries = sorted(cache_folder().glob("*-cache"))
    assert entries
    assert run_process(*PLAY).stdout == first.stdout
    assert sorted(cache_folder().glob("*-cache")) == entries
    for entry in entries:
        entry.write_bytes(entry.read_bytes()[:100])
    damaged = run_process(*PLAY)
    assert (damaged.stdout, damaged.stderr) == (first.stdout, first.stderr)


def test_a_cache_folder_that_cannot_be_made_is_not_an_error(home):
    (home / "regrax").write_text("a file where the folder would be")
    done = run_process(*PLAY)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("platform", ["cuda", pytest.param("nosuch", marks=pytest.mark.slow)])
def test_an_unknown_platform_is_one_line(platform):
    done = run_process(*PLAY, JAX_PLATFORMS=platform)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert "jax cannot use the devices in JAX_PLATFORMS" in done.stderr
