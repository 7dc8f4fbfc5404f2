"""What commands print: tables that fit, and every number of the summary with its unit."""

import json
import re
import shlex
import subprocess
import sys

import pytest

from regrax._text import fitted_table, number
from regrax.cli import main
from regrax.cli.app import COMMANDS as GROUPS

pytestmark = pytest.mark.usefixtures("as_users_run_it")

PLAYED = "play weighted-rps --learners 'hedge(0.4)' 'uniform()' --rounds 30"
DRAWN = f"{PLAYED} --seed 1 --episodes 6"
MATCHES = "tournament --rounds 16 --seeds 2 --games chicken jordan"
THREE = "--learners 'hedge(0.3)' 'regret_matching()' 'uniform()'"
TRAIN = "train --model linear --steps 3 --batch 8 --sequences 50"
CHECKED = "certify --actions 2 --horizon 3"
PAPER = "reproduce --quick --only step-size --actions 2 --horizon 3"
SWEEP = 'model = ["linear", "swap"]\nsteps = 3\nbatch = 8\nsequences = 50\nseeds = 2\n'
REGRETS = ("regret, total", "internal regret, total", "swap regret, total", "payoff per round")
GAPS = ("CCE gap, per round", "CE gap (pairwise), per round", "swap gap, per round")
RANKED = ("regret per round", "swap regret per round", "CCE gap per round", "CE gap per round")
LOSSES = ("loss at that step size, total", "lower bound for any policy, total")
COMMANDS = {
    "play": (PLAYED, (*REGRETS, *GAPS, "Nash gap, per round")),
    "play --seed": (DRAWN, ("means over 6", *REGRETS, *GAPS)),
    "solve": ("solve chicken --objective entropy", ("payoff per round", "probability")),
    "solve nash": ("solve chicken --concept nash", ("payoff per round", "3 extreme")),
    "solve all": ("solve chicken --concept nash --all", ("payoff per round", "3 of")),
    "tournament": (f"{MATCHES} {THREE}", RANKED),
    "games": ("games", ("chicken",)),
    "games chicken": ("games chicken", ("payoffs of player 1 (rows), player 2 (columns)",)),
    "games jordan": ("games jordan", ("pays player 3",)),
    "learners": ("learners", ("hedge(0.4479)",)),
    "train": (f"{TRAIN} --out FOLDER/run", ("squared", "time, s")),
    "sweep": (
        "sweep FOLDER/grid.toml --out FOLDER/swept",
        ("loss, total", "lower bound, total", "above bound, %", "time, s"),
    ),
    "step-size": ("step-size --actions 3 --horizon 20", LOSSES),
    "step-size inf": (
        "step-size --actions 3 --horizon inf",
        ("loss at that step size, per round", "step size x sqrt(T)"),
    ),
    "certify": (f"{CHECKED} --sequences 4000", ("claim", "verdict")),
    "worst case": (f"{CHECKED} --worst-case", ("worst-case regret, total", "above minimax, %")),
    "proofs": (f"{CHECKED} --rigorous", ("L(k*), total", "L*, total", "eigenvalue (step)")),
    "reproduce": (f"{PAPER} --out FOLDER/paper --table", ("paper", "here", "exact")),
    "audit": ("audit FOLDER/log.jsonl", ("per round", "per episode")),
    "compare": ("compare FOLDER/log.jsonl", ("per round", "per episode", "effect size, SD")),
    "bench-agents": (
        "bench-agents 'exp3(0.1)' --episodes 2 --out FOLDER/bench",
        ("regret per round", "95 % interval"),
    ),
    "explore": ("explore --out FOLDER/page.html", ("kB",)),
}
"""By name: the command, and phrases with units that its text contains."""
SLOW = {"train", "sweep", "certify", "proofs", "reproduce", "compare", "bench-agents"}
UNPRINTED = {
    "solve all": "all.profile",  # printed as mixed strategies
    "games chicken": "equilibria.profile",
    "games jordan": "equilibria.profile",
    "tournament": r"(pairings|by_game)\..*",  # matrices, which --plot draws
    "sweep": r"rows\..*",  # results.csv
    "certify": "claims.eigenvalues.value",  # the smallest, the largest and the count are printed
    "worst case": "worst_cases.losses",  # sequences
    "audit": r"agents\.((baseline_)?curve.*"  # per round: --html draws them
    r"|baselines\..*\.(internal|dynamic))",
}
"""By name: paths of numbers of the summary that the text does not contain, and where they are instead."""


def test_every_command_is_rendered():
    names = {name for commands in GROUPS.values() for name in commands}
    rendered = {command.split()[0] for command, _ in COMMANDS.values()}
    assert rendered | {"posttrain"} == names  # that one is rendered where torch is


def numbers(value, path=""):
    """Every number with the keys that lead to it; texts that are numbers count."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from numbers(inner, f"{path}.{name}".removeprefix("."))
    elif isinstance(value, list):
        for inner in value:
            yield from numbers(inner, path)
    elif isinstance(value, str):
        for text in re.findall(r"(?<![\w.])-?\d+\.\d+\b(?!e)", value):
            yield path, float(text)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value


def is_printed(value, found):
    """Is the value among the printed ones, to three significant digits, as a fraction or in percent?"""
    forms = (value, 100 * value)
    return any(abs(form - other) <= 5.1e-3 * abs(form) + 1e-9 for form in forms for other in found)


MARKED = [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in COMMANDS]


@pytest.mark.parametrize("name", MARKED)
def test_every_quantity_is_printed_at_80_columns(name, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    command, units = COMMANDS[name]
    given = shlex.split(command.replace("FOLDER", str(tmp_path)))
    (tmp_path / "grid.toml").write_text(SWEEP)
    if "log.jsonl" in given[-1]:
        main([*shlex.split(DRAWN), "--log", given[-1]])
    capsys.readouterr()
    main(given)
    out = capsys.readouterr().out
    lines = [line for line in out.splitlines() if str(tmp_path) not in line]  # paths stay whole
    assert max(map(len, lines), default=0) <= 80
    assert not any(line.endswith(" ") for line in lines)
    for unit in units:
        assert set(unit.split()) <= set(out.split()), unit
    if name == "explore":
        return
    given = [f"{text}-again" if text.endswith("/bench") else text for text in given]
    main([*given, *(["--resume"] if name == "train" else []), "--json"])
    result = json.loads(capsys.readouterr().out)
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", out)
    found = [float(text) for text in re.findall(r"-?\d+\.?\d*(?:e[-+]\d+)?", plain)]
    if name == "bench-agents":  # of classical learners the text has the share only
        result["rows"] = [row for row in result["rows"] if not row["is_reference"]]
    missing = {path for path, value in numbers(result) if not is_printed(value, found)}
    hidden = re.compile(UNPRINTED.get(name, "(?!)"))
    assert [path for path in sorted(missing) if not hidden.fullmatch(path)] == []


def test_no_table_cuts_a_number_or_drops_a_column(monkeypatch):
    columns = ["agent", *(f"measure {index}, per round" for index in range(12))]
    row = ["a learner with a long name " * 4, *(0.123456 * 10**-index for index in range(12))]
    for width in (40, 60, 80, 120, 300):
        monkeypatch.setenv("COLUMNS", str(width))
        out = fitted_table(columns, [row, row])
        assert max(map(len, out.splitlines())) <= width
        for value in row[1:]:
            assert out.count(number(value)) >= 2
        assert len(re.findall(r"\d+,", out)) == 12


def test_verdicts_are_coloured_only_on_a_terminal_that_wants_it(capsys, monkeypatch):
    code = "from regrax._text import fitted_table; from regrax.cli.shared import print_result; "
    code += "print_result(fitted_table(['v'], [['not learning'], ['holds']]))"
    environments = [
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({}, False),
    ]
    for settings, coloured in environments:
        environment = {
            "PATH": "/usr/bin",
            "TERM": "xterm",
            "PYTHONPATH": ":".join(sys.path),
            **settings,
        }
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert ("\x1b[31m" in done.stdout) == coloured


def test_a_bar_shows_its_task_and_is_gone_at_the_end(tmp_path):
    code = """
import threading
from regrax.cli.shared import progress_bar
from regrax.experiments import Progress
with progress_bar() as show:
    tasks = [threading.Thread(target=lambda n=n: [show(Progress(f"task {n}", i, 50)) for i in range(51)])
             for n in range(4)]
    [task.start() for task in tasks]
    [task.join() for task in tasks]
print("done")
"""
    (tmp_path / "bar.py").write_text(code)
    command = ["script", "-qec", f"{sys.executable} {tmp_path / 'bar.py'}", "/dev/null"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "task" in out
    assert out.rstrip().endswith("done")
    assert "\x1b[2K" in out.split("task")[-1], "the line of the bar is erased"
    piped = subprocess.run(
        [sys.executable, tmp_path / "bar.py"], capture_output=True, text=True, check=True
    )
    assert (piped.stdout, piped.stderr) == ("done\n", "")
