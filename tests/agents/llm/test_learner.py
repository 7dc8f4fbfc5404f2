"""A language model as a learner: in play, tournaments and evaluation."""

import json

import jax
import numpy as np
import pytest
from examples.llm_scratch import scratch_model, scratch_task, scratch_tokenizer
from tests.agents.llm.models import byte_pairs, tiny

import regrax as rx
from regrax.agents.llm import LanguageLearner, Task, llm
from regrax.cli import main
from regrax.specs import parse_learner
from regrax.training import RegretObjective


def played(spec, rounds, *options):
    seats = ("--learners", spec, "uniform()")
    return ["play", "rock-paper-scissors", *seats, "--rounds", str(rounds), *options]


def test_spec_plays_and_its_log_is_audited(saved, capsys, tmp_path):
    log = str(tmp_path / "log.jsonl")
    spec = f'llm("{saved}")'
    main(played(spec, 4, "--log", log, "--json"))
    assert json.loads(capsys.readouterr().out)["learners"][0] == spec
    main(["audit", log])
    assert "4 rounds in 1 episode" in capsys.readouterr().out


def test_tournaments_with_any_number_of_actions(saved, capsys):
    games = ("--games", "matching-pennies", "random(4, 4, seed=1)")
    players = ("--learners", f'llm("{saved}")', "uniform()")
    main(["tournament", *games, *players, "--rounds", "3", "--json"])
    assert "llm" in capsys.readouterr().out


def test_bandit_feedback_needs_a_seed(saved, capsys, one_line_error):
    spec = f'llm("{saved}", bandit=true)'
    main(played(spec, 3, "--seed", "1", "--json"))
    assert json.loads(capsys.readouterr().out)["rounds"] == 3
    assert "pass a seed" in one_line_error(*played(spec, 3))


def test_too_many_rounds_raise_before_the_first(saved, one_line_error):
    said = one_line_error(*played(f'llm("{saved}")', 200))
    assert "but the model's context is 2048: use fewer rounds" in said


def test_name_is_the_spec(saved):
    assert str(llm(str(saved))) == f'llm("{saved}")'
    named = llm(str(saved), chat=True, dtype="bfloat16")
    assert str(named) == f'llm("{saved}", chat=true, dtype="bfloat16")'
    with pytest.raises(ValueError, match="unknown learner 'llm'"):
        parse_learner(str(named))  # data cannot name models


def test_evaluate_measures_models():
    task = scratch_task(3, 5)
    tokenizer = scratch_tokenizer(task)
    learner = LanguageLearner(scratch_model(tokenizer), tokenizer, task)
    found = rx.evaluate(learner, RegretObjective(3, 5), key=jax.random.key(0), sequences=200)
    assert found.optimal_loss < found.loss < 1.2 * rx.theory.uniform_loss(3, 5)


def test_states_can_be_used_twice():
    tokenizer = byte_pairs()
    learner = LanguageLearner(tiny("llama", tokenizer), tokenizer, Task(2, 3))
    first = learner.update(learner.init(2, 3), np.array([1.0, 0.0]))
    expected = np.asarray(learner.policy(first))
    learner.update(first, np.array([0.0, 5.0]))  # its reader goes on
    np.testing.assert_allclose(np.asarray(learner.policy(first)), expected, atol=1e-6)
