"""The command line as a person meets it: numbers, files, errors of one line, and start-up without jax."""

import json
import subprocess
import sys

import numpy as np
import pytest

from regrax._settings import settings_of
from regrax.cli import main
from regrax.cli._entry import COMMANDS, _command
from regrax.games import FORMATS, random

pytestmark = pytest.mark.usefixtures("as_users_run_it")


def run(capsys, *arguments):
    main(arguments)
    return capsys.readouterr().out


def run_json(capsys, *arguments):
    return json.loads(run(capsys, *arguments, "--json"))


def play(capsys, *learners, rounds=20, game="weighted-rps", more=()):
    return run_json(capsys, "play", game, "--learners", *learners, "--rounds", str(rounds), *more)


@pytest.mark.parametrize(
    ("learner", "gaps"),
    [
        ("hedge(0.4479)", {"cce_gap": 0.09022, "ce_gap": 0.05915, "swap_gap": 0.09022}),
        ("blum_mansour(hedge(0.99436))", {"ce_gap": 0.06172}),
        ("uniform()", {"cce_gap": 0.11111, "ce_gap": 0.11111, "swap_gap": 0.11111}),
    ],
)
def test_play_prints_the_known_gaps(capsys, learner, gaps):
    result = play(capsys, learner)
    for name, value in gaps.items():
        assert round(result[name], 5) == value
    assert result["learners"] == [learner, learner]
    for player in result["players"]:
        assert {"regret", "swap_regret"} <= set(player)
        assert player["regret"] == pytest.approx(20 * result["cce_gap"])


def test_play_writes_a_log_and_a_plot(capsys, tmp_path):
    log, plot = tmp_path / "log.jsonl", tmp_path / "gaps.png"
    play(capsys, "hedge(0.3)", more=("--seed", "1", "--log", str(log), "--plot", str(plot)))
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(rows) == 40
    assert rows[3]["round"] == 2
    assert set(rows[0]) == {"episode", "agent", "round", "policy", "action", "losses"}
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_play_takes_a_file_and_one_learner_per_seat(capsys, tmp_path):
    path = tmp_path / "mine.npz"
    path.write_bytes(FORMATS[".npz"].write(random(2, 3, 2, seed=1)))
    result = play(capsys, "hedge(0.1)", "uniform()", "regret_matching()", game=str(path))
    assert result["learners"][1] == "uniform()"
    assert len(result["players"]) == 3


def test_the_same_seed_gives_the_same_play(capsys):
    first, again, other = (play(capsys, "hedge(0.3)", more=("--seed", s)) for s in ("1", "1", "2"))
    assert first == again
    assert first["cce_gap"] != other["cce_gap"]


@pytest.mark.parametrize(
    ("start", "first"),
    [
        (("heads",), [[1, 0], [1, 0]]),
        (("0.2,0.8", "own"), [[0.2, 0.8], [0.5, 0.5]]),
        (("random(3)",), [np.random.default_rng((3, n)).dirichlet([1, 1]) for n in range(2)]),
    ],
)
def test_play_starts_where_it_is_told(capsys, tmp_path, start, first):
    log = tmp_path / "log.jsonl"
    more = ("--start", *start, "--log", str(log))
    result = play(capsys, "hedge(0.3)", game="matching-pennies", rounds=5, more=more)
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    np.testing.assert_allclose([row["policy"] for row in rows[:2]], first, atol=1e-12)
    assert result["start"] == list(start)
    assert result["players"][1]["regret"] > 0


def test_tables_for_people(capsys):
    assert "weighted-rps, 20 rounds" in run(
        capsys, "play", "weighted-rps", "--learners", "uniform()", "--rounds", "20"
    )
    assert "matching-pennies" in run(capsys, "games")
    assert "swerve" in run(capsys, "games", "chicken")
    assert "blum_mansour" in run(capsys, "learners")
    assert "more joint actions" in run(capsys, "games", "random(20, 20)")


def test_lists_as_json(capsys):
    assert "chicken" in run_json(capsys, "games")
    assert np.shape(run_json(capsys, "games", "chicken")["payoffs"]) == (2, 2, 2)
    assert "hedge" in run_json(capsys, "learners")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("play", "weighted-rsp", "--learners", "uniform()", "--rounds", "2"),
            "did you mean weighted-rps",
        ),
        (("play", "chicken", "--learners", "hegde(1)", "--rounds", "2"), "did you mean hedge"),
        (
            ("play", "chicken", "--learners", "hedge(-1)", "--rounds", "2"),
            "step_size must be above 0",
        ),
        (
            ("play", "chicken", "--learners", "uniform()", "--rounds", "0"),
            "rounds must be an integer",
        ),
        (("play", "chicken", "--learners", "uniform()", "--rounds", "x"), "--rounds"),
        (("play", "chicken", "--learners", "uniform()"), "--rounds"),
        (("play", "chicken", "--learners", "--rounds", "2"), "--learners: expected at least one"),
        (("play", "no.json", "--learners", "uniform()", "--rounds", "2"), "no.json: No such file"),
        (
            ("play", "chicken", "--learners", "uniform()", "--rounds", "2", "--plot", "x.gif"),
            "must end in .pdf, .png, .svg",
        ),
        (
            ("play", "chicken", "--learners", "uniform()", "--rounds", "2", "--seed", "-1"),
            "seed must be an integer",
        ),
        (
            (
                "play",
                "chicken",
                "--learners",
                "uniform()",
                "--rounds",
                "2",
                "--log",
                "/no/such/log",
            ),
            "/no/such/log must be in a folder that exists",
        ),
        (("frobnicate",), "frobnicate"),
        (("play", "chicken", "--roundz", "5"), "unrecognized arguments: --roundz"),
        ((), "play"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(capsys, arguments, message):
    with pytest.raises(SystemExit) as left:
        main(arguments)
    out, err = capsys.readouterr()
    assert left.value.code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("regrax: error: ")
    assert message in err


def run_in_new_process(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("arguments", [("train", "--help"), ("learners",)])
def test_a_reader_that_leaves_early_is_no_error(arguments):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-m", "regrax", *arguments], **pipes) as process:
        process.stdout.close()
        assert process.stderr.read() == ""


def test_importing_regrax_sets_nothing():
    code = "import regrax; regrax.Hedge(0.4); import jax; print(jax.config.jax_enable_x64)"
    assert run_in_new_process(code) == "False\n"


def test_solve_prints_an_equilibrium_and_its_gap(capsys):
    result = run_json(capsys, "solve", "chicken", "--concept", "ce", "--objective", "welfare")
    assert {"profile", "payoffs", "welfare", "gap"} <= set(result)
    np.testing.assert_allclose(result["profile"], [[0.5, 0.25], [0.25, 0]], atol=1e-9)
    assert result["payoffs"] == pytest.approx([5.25, 5.25])
    assert result["welfare"] == pytest.approx(10.5)
    assert abs(result["gap"]) < 1e-9
    nash = run_json(capsys, "solve", "weighted-rps", "--concept", "nash")
    np.testing.assert_allclose(np.sum(nash["profile"], 0), np.array([3, 2, 1]) / 6, atol=1e-8)


def test_solve_by_dynamics_measures_the_gap_of_play(capsys):
    dynamics = ("--by", "hedge(0.4479)", "--rounds", "20")
    result = run_json(capsys, "solve", "weighted-rps", "--concept", "cce", *dynamics)
    assert round(result["gap"], 5) == 0.09022
    nash = run_json(capsys, "solve", "weighted-rps", "--concept", "nash", *dynamics)
    joint = np.array(nash["profile"])
    np.testing.assert_allclose(joint, np.outer(joint.sum(1), joint.sum(0)), atol=1e-12)
    assert nash["gap"] == pytest.approx(play(capsys, "hedge(0.4479)")["nash_gap"])
    drawn = ("--by", "exp3(0.1, 0.2)", "--rounds", "20", "--seed", "3")
    result = run_json(capsys, "solve", "weighted-rps", "--concept", "cce", *drawn)
    assert result["gap"] == play(capsys, "exp3(0.1, 0.2)", more=("--seed", "3"))["cce_gap"]


def test_solve_for_people(capsys):
    out = run(capsys, "solve", "chicken", "--objective", "welfare")
    assert "chicken: correlated equilibrium, exact, objective welfare\n" in out
    assert "0.500000" in out
    assert "gap 0: nobody gains" in out
    out = run(capsys, "solve", "chicken", "--concept", "nash", "--by", "hedge(1)", "--rounds", "1")
    assert "Nash equilibrium, by hedge(1), 1 rounds" in out
    assert "player 1 gains 0.25 by always playing swerve" in out
    by = ("--concept", "cce", "--by", "uniform()", "--rounds", "2")
    assert "380 more joint actions" in run(capsys, "solve", "random(20, 20)", *by)
    assert "5 more" in run(capsys, "solve", "random(25, 25)", "--concept", "nash", *by[2:])


def test_a_defect_of_ours_is_one_line_and_exit_code_seventy(capsys, monkeypatch):
    def broken(_):
        raise KeyError("nowhere")

    monkeypatch.setattr("regrax.specs.registered", broken)
    with pytest.raises(SystemExit) as left:
        main(["games"])
    assert left.value.code == 70
    err = capsys.readouterr().err
    assert err == (
        "regrax: error: a defect of regrax, KeyError: 'nowhere' (REGRAX_DEBUG=1 shows where)\n"
    )
    monkeypatch.setenv("REGRAX_DEBUG", "1")
    with pytest.raises(KeyError):
        main(["games"])


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_line_of_help(capsys, name):
    with pytest.raises(SystemExit) as left:
        main([name, "--help"])
    out = capsys.readouterr().out
    assert left.value.code == 0
    assert out.startswith(f"usage: regrax {name} ")
    for one in settings_of(_command(name)):
        assert one.help, one.name
        assert one.name.replace("_", "-") in out.lower()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--by", "hedge(1)"), "--by and --rounds come together"),
        (("--rounds", "5"), "--by and --rounds come together"),
        (
            ("--by", "hedge(1)", "--rounds", "5", "--objective", "welfare"),
            "dynamics have no objective",
        ),
        (("--concept", "stable"), "--concept"),
        (("--concept", "nash", "--objective", "entropy"), '"entropy" requires concept "ce" or'),
        (("--by", "hedge(1)", "--rounds", "0"), "rounds must be an integer >= 1"),
        (("--seed", "1"), "--seed is for dynamics"),
        (("--by", "hedge(1)", "--rounds", "2", "--seed", "-1"), "seed must be an integer"),
        (("--by", "exp3(0.1)", "--rounds", "2"), "needs a key (a seed)"),
        (("more",), "error: unrecognized arguments: more (see"),
    ],
)
def test_bad_input_to_solve_is_one_line(capsys, arguments, message):
    with pytest.raises(SystemExit) as left:
        main(("solve", "chicken", *arguments))
    err = capsys.readouterr().err
    assert left.value.code == 2
    assert err.count("\n") == 1
    assert message in err


def test_one_game_is_shown_with_its_equilibria_and_source(capsys):
    out = run(capsys, "games", "chicken")
    assert "never both dare" in out
    assert "0.6667 swerve, 0.3333 dare" in out
    assert "Reference: Aumann (1974)" in out
    result = run_json(capsys, "games", "cournot(intercept=3)")
    assert result["reference"].startswith("Cournot (1838)")
    assert result["equilibria"][0]["profile"][1][1] == 1
    assert "(firms=2, intercept=12, cost=0)" in " ".join(run(capsys, "games").split())


@pytest.mark.parametrize("suffix", ["json", "nfg", "npz"])
def test_a_game_is_saved_and_read_back(capsys, tmp_path, suffix):
    file = tmp_path / f"mine.{suffix}"
    run(capsys, "games", "weighted-rps", "--save", str(file))
    saved = run_json(capsys, "games", str(file))
    shown = run_json(capsys, "games", "weighted-rps")
    assert saved["payoffs"] == shown["payoffs"]
    assert (saved["name"], saved["actions"]) == (shown["name"], shown["actions"])
    assert saved["reference"] == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("games", "--save", "x.nfg"), "--save needs a game"),
        (("games", "chicken", "--save", "x.txt"), "a game file must end in .json, .nfg, .npz"),
        (("games", "chicken", "--save", "/no/such/x.nfg"), "must be in a folder that exists"),
    ],
)
def test_bad_input_to_games_is_one_line(capsys, arguments, message):
    with pytest.raises(SystemExit) as left:
        main(arguments)
    err = capsys.readouterr().err
    assert left.value.code == 2
    assert err.count("\n") == 1
    assert message in err
