"""Specs: what parses, what does not, and what the errors say."""

import equinox as eqx
import pytest
from hypothesis import given, strategies as st

from regrax import games
from regrax.cli.shared import read_learner
from regrax.games import read_game, read_games
from regrax.specs import parse_distribution, parse_learner

pytestmark = pytest.mark.usefixtures("as_users_run_it")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("hedge(0.4479)", "hedge(0.4479)"),
        ("  Hedge ( step-size = 1e-3 ) ", "hedge(0.001)"),
        ("blum-mansour(hedge(0.9944))", "blum_mansour(hedge(0.9944))"),
        ("blum_mansour(regret_matching, tolerance=1e-8)", "blum_mansour(regret_matching(), 1e-08)"),
        ("uniform", "uniform()"),
        ("euclidean_ftrl(0.3, ball)", "euclidean_ftrl(0.3, ball(1.0))"),
        ("hedge(per_round(.5, 4., 3))", "hedge(per_round(0.5, 4.0, 3.0))"),
    ],
)
def test_learner_specs(text, canonical):
    learner = parse_learner(text)
    assert str(learner) == canonical
    assert str(parse_learner(canonical)) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"expected name, or name\(arguments\) with numbers.* got ''"),
        ("hedge(0.4", r"'\(' was never closed"),
        ("hedge(0.4))", r"unmatched '\)'"),
        ("hedge(0.4 0.5)", "Perhaps you forgot a comma"),
        ("hedge(0.4abc)", "invalid decimal literal"),
        ("hegde(0.4)", "unknown learner 'hegde'; did you mean hedge"),
        ("hedge", "called as hedge.step_size, prior=None.: missing a required argument"),
        ("hedge(1, [0.5, 0.5], 2)", "too many positional arguments"),
        ("hedge(stepp=1)", "unexpected keyword argument 'stepp'"),
        ("hedge(step_size=1, step_size=2)", "every keyword must have a name and appear only once"),
        ("euclidean_ftrl(step_size=1, 2)", "positional argument follows keyword argument"),
        ("hedge(-0.5)", "step_size must be above 0, got -0.5"),
        ("hedge(1e999)", "step_size must be finite numbers, got inf"),
        ('hedge("fast")', "step_size must be numbers, got 'fast'"),
        ("hedge(inverse_sqrt(-1))", "scale must be above 0"),
        ("inverse_sqrt(1)", "expected a learner"),
        ("blum_mansour(0.4)", "base must be a learner, got 0.4"),
        ("blum_mansour(euclidean_ftrl(0.3, ball))", "base must play on the simplex"),
        ('euclidean_ftrl(0.3, "cube")', "domain must be Simplex"),
        ("__import__('os')", "unknown learner '__import__'"),
        ("hedge(*[1])", "is not a number, string or spec"),
        ("hedge(**uniform)", "every keyword must have a name"),
        ("(lambda: 0)()", "is not a number, string or spec"),
        ("hedge(1j)", "is not a number, string or spec"),
        ("hedge({[]: 1})", "is not a number, string or spec"),
        ("0.4", "it has no name"),
        ("hedge(0.4)" + " " * 10_000 + "x", "longer than 10000 characters"),
        ("blum_mansour(" * 30 + "uniform" + ")" * 30, "specs may be nested at most 8 deep"),
        ("hedge(" + "1" * 5000 + ")", "an integer may have at most 40 digits|Exceeds the limit"),
    ],
)
def test_bad_learner_specs_raise_helpful_errors(text, message):
    with pytest.raises(ValueError, match=message):
        parse_learner(text)


FORMS = [
    " Hedge( step-size={} )",
    "blum_mansour(hedge(inverse-sqrt({})))",
    "importance-weighted(delayed(hedge(per_round({0}, {0})), 3), 0.5)",
]


@pytest.mark.parametrize("form", FORMS)
@given(number=st.floats(min_value=1e-300, max_value=1e300) | st.integers(1, 10**9))
def test_a_learner_prints_a_spec_that_makes_it_again(form, number):
    learner = parse_learner(form.format(number))
    again = parse_learner(str(learner))
    assert str(again) == str(learner)
    assert eqx.tree_equal(again, learner)


def test_a_game_may_be_a_file(tmp_path):
    path = str(tmp_path / "mine.json")
    games.chicken().save(path)
    assert repr(read_game(path)) == "chicken"
    assert len(read_games(path, 3)) == 1
    with pytest.raises(FileNotFoundError):
        read_game(str(tmp_path / "none.json"))
    (tmp_path / "mine.txt").write_text("")
    with pytest.raises(ValueError, match=r"a game file must end in .json, .nfg, .npz, got"):
        read_game(str(tmp_path / "mine.txt"))


EVIL = [
    'agent("python:evil:play")',
    'blum_mansour(agent("python:evil:play"))',
    'checkpoint("model")',
    'agent("http://127.0.0.1:9")',
]


@pytest.mark.parametrize("learner", EVIL)
def test_a_spec_in_data_reaches_no_agent_module_or_file(tmp_path, monkeypatch, learner):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    (tmp_path / "mine.json").write_bytes(games.game_to_json(games.chicken()))
    with pytest.raises(ValueError, match="unknown learner"):
        parse_learner(learner)
    quoted = learner.replace('"', '\\"')
    with pytest.raises(ValueError, match="unknown learner"):
        parse_distribution(f'in-game("weighted-rps", "{quoted}")')
    with pytest.raises(ValueError, match=r"unknown game|expected"):
        parse_distribution('in-game("mine.json", "uniform")')


def test_the_command_line_accepts_agents():
    assert str(read_learner('agent("python:numpy:argmin")')) == 'agent("python:numpy:argmin")'
