"""Commands as a user runs them: numbers, files, and errors of one line."""

import json
import shlex

import numpy as np
import pytest

from regrax.cli import main

pytestmark = pytest.mark.usefixtures("as_users_run_it")


@pytest.fixture
def run(capsys):
    def run(*arguments):
        main(arguments)
        return capsys.readouterr().out

    return run


@pytest.fixture
def result(run):
    return lambda *arguments: json.loads(run(*arguments, "--json"))


@pytest.fixture
def play(result):
    def play(*learners, rounds=20, game="weighted-rps", more=()):
        return result("play", game, "--learners", *learners, "--rounds", str(rounds), *more)

    return play


@pytest.mark.parametrize(
    ("learner", "gaps"),
    [
        ("hedge(0.4479)", {"cce_gap": 0.09022, "ce_gap": 0.05915, "swap_gap": 0.09022}),
        ("blum_mansour(hedge(0.99436))", {"ce_gap": 0.06172}),
        ("uniform()", {"cce_gap": 0.11111, "ce_gap": 0.11111, "swap_gap": 0.11111}),
    ],
)
def test_play_prints_the_known_gaps(play, learner, gaps):
    played = play(learner)
    for name, value in gaps.items():
        assert round(played[name], 5) == value
    assert played["learners"] == [learner, learner]
    for player in played["players"]:
        assert player["regret"] == pytest.approx(20 * played["cce_gap"])


def test_play_writes_a_log_and_a_plot(play, tmp_path):
    log, plot = tmp_path / "log.jsonl", tmp_path / "gaps.png"
    play("hedge(0.3)", more=("--seed", "1", "--log", str(log), "--plot", str(plot)))
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(rows) == 40
    assert rows[3]["round"] == 2
    assert set(rows[0]) == {"episode", "agent", "round", "policy", "action", "losses"}
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_the_same_seed_gives_the_same_play(play):
    first, again, other = (play("hedge(0.3)", more=("--seed", seed)) for seed in "112")
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
def test_play_begins_with_the_given_policies(play, tmp_path, start, first):
    log = tmp_path / "log.jsonl"
    more = ("--start", *start, "--log", str(log))
    played = play("hedge(0.3)", game="matching-pennies", rounds=5, more=more)
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    np.testing.assert_allclose([row["policy"] for row in rows[:2]], first, atol=1e-12)
    assert played["start"] == list(start)


def test_solve_counts_and_lists_nash_equilibria(run, result):
    every = result("solve", "chicken", "--concept", "nash", "--all")
    assert every["nash_equilibria"] == len(every["all"]) == 3
    out = run("solve", "chicken", "--concept", "nash", "--all")
    assert "Nash equilibrium 3 of 3" in out
    assert "0.6667" in out
    assert "3 extreme Nash equilibria" in run("solve", "chicken", "--concept", "nash")
    assert "nash_equilibria" not in result("solve", "jordan", "--concept", "ce")


def test_solve_by_dynamics_measures_the_gap_of_play(result, play):
    dynamics = ("--by", "hedge(0.4479)", "--rounds", "20")
    coarse = result("solve", "weighted-rps", "--concept", "cce", *dynamics)
    assert round(coarse["gap"], 5) == 0.09022
    nash = result("solve", "weighted-rps", "--concept", "nash", *dynamics)
    joint = np.array(nash["profile"])
    np.testing.assert_allclose(joint, np.outer(joint.sum(1), joint.sum(0)), atol=1e-12)
    assert nash["gap"] == pytest.approx(play("hedge(0.4479)")["nash_gap"])
    drawn = ("--by", "exp3(0.1, 0.2)", "--rounds", "20", "--seed", "3")
    coarse = result("solve", "weighted-rps", "--concept", "cce", *drawn)
    sampled = play("exp3(0.1, 0.2)", more=("--seed", "3"))
    assert coarse["gap"] == pytest.approx(sampled["cce_gap"], rel=1e-12)


def test_long_tables_say_how_much_is_left_out(run):
    by = ("--by", "uniform()", "--rounds", "2")
    assert "300 more rows" in run("solve", "random(20, 20)", "--concept", "cce", *by)
    assert "300 more rows" in run("games", "random(20, 20)")


def test_a_game_is_shown_with_its_matrix_and_source(run, result):
    out = run("games", "chicken")
    assert [line.split() for line in out.splitlines() if line.startswith(("swerve ", "dare "))] == [
        ["swerve", "6,", "6", "2,", "7"],
        ["dare", "7,", "2", "0,", "0"],
    ]
    assert "never both dare" in out
    assert "Reference: Aumann (1974)" in out
    shown = result("games", "cournot(intercept=3)")
    assert shown["reference"].startswith("Cournot (1838)")
    assert shown["equilibria"][0]["profile"][1][1] == 1


@pytest.mark.parametrize("suffix", ["json", "nfg", "npz"])
def test_a_game_is_saved_and_read_back(run, result, tmp_path, suffix):
    file = tmp_path / f"mine.{suffix}"
    run("games", "weighted-rps", "--save", str(file))
    saved, shown = result("games", str(file)), result("games", "weighted-rps")
    assert saved["payoffs"] == shown["payoffs"]
    assert (saved["name"], saved["actions"]) == (shown["name"], shown["actions"])
    assert saved["reference"] == ""


def test_lists_name_everything_that_can_be_typed(run, result):
    games, learners = run("games"), run("learners")
    for name in result("games"):
        assert f"\n{name}" in games
    for name, about in result("learners").items():
        assert name in learners
        for example in about["examples"]:
            assert f"\n{example}" in learners
    assert "\n " not in learners.split("external")[0].replace("\n   ", ""), "no row without a name"
    for name in ("checkpoint(", "agent(", "llm("):
        assert f"\n{name}" in learners


BAD = """
play chicken --learners 'uniform()' --rounds 3.5  ->  must be an integer
play chicken --learners 'uniform()'  ->  --rounds
play chicken --learners --rounds 2  ->  --learners
play chicken --rounds 2 --learners 'uniform()' --roundz 5  ->  Did you mean --rounds
solve chicken --concept stable  ->  "nash", "ce", "cce"
solve chicken more  ->  more
frobnicate  ->  frobnicate
pla  ->  Did you mean "play"
--nothing  ->  --nothing
play weighted-rsp --rounds 2 --learners 'uniform()'  ->  did you mean weighted-rps
play no.json --rounds 2 --learners 'uniform()'  ->  no.json: No such file
play chicken --rounds 2 --learners 'hegde(1)'  ->  did you mean hedge
play chicken --rounds 2 --learners 'hedge(-1)'  ->  step_size must be above 0
play chicken --rounds 2 --learners 'uniform()' 'uniform()' 'uniform()'  ->  one for each of 2 players
play chicken --rounds 2 --learners 'exp3(0.1)'  ->  needs a key (a seed)
play chicken --rounds 2 --learners 'uniform()' --seed -1  ->  seed must be an integer
play chicken --rounds 2 --learners 'uniform()' --plot x.gif  ->  must end in .pdf, .png, .svg
play chicken --rounds 2 --learners 'uniform()' --log /dev/null/log  ->  must be in an existing folder
solve chicken --by 'hedge(1)'  ->  --by and --rounds must be used together
solve chicken --rounds 5  ->  --by and --rounds must be used together
solve chicken --by u --rounds 5 --objective welfare  ->  --objective does not apply to dynamics
solve chicken --concept nash --objective entropy  ->  objective "entropy" requires concept "ce" or "cce"
solve chicken --by 'hedge(1)' --rounds 0  ->  rounds must be an integer >= 1
solve chicken --seed 1  ->  --seed is only for dynamics
solve chicken --all  ->  --all needs --concept nash
solve chicken --concept nash --all --objective welfare  ->  and no --by or --objective
solve jordan --concept nash --all  ->  two players
games --save x.nfg  ->  --save needs a game
games chicken --save x.txt  ->  a game file must end in .json, .nfg, .npz
games chicken --save /dev/null/x.nfg  ->  must be in an existing folder
step-size --actions 3 --horizon many  ->  horizon must be an integer or inf
compare  ->  at least one log
"""


@pytest.mark.parametrize("line", BAD.strip().splitlines())
def test_bad_input_is_one_line_that_teaches(capsys, line):
    command, message = line.split("  ->  ")
    with pytest.raises(SystemExit, match="2"):
        main(shlex.split(command))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("regrax: error: ")
    assert message in err
