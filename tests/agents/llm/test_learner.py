"""A language model as a learner: in play, tournaments and evaluation."""

import json

import jax
import numpy as np
import pytest
import torch
from examples.llm_scratch import scratch_model, scratch_task, scratch_tokenizer
from tests.agents.llm.models import byte_pairs, tiny

import regrax as rx
from regrax.agents.llm import LanguageLearner, Task, llm, save_model, scenario
from regrax.cli import main
from regrax.specs import parse_learner
from regrax.training import RegretObjective


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model that knows English letters, in a folder, with its task."""
    path, tokenizer = tmp_path_factory.mktemp("models") / "tiny", byte_pairs()
    save_model(path, tiny("llama", tokenizer, torch.float32), tokenizer, scenario("routes", 4))
    return path


def out_of(capsys, *arguments):
    main(list(arguments))
    return capsys.readouterr().out


def error_of(capsys, *arguments):
    with pytest.raises(SystemExit, match="2"):
        main(list(arguments))
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def test_spec_plays_and_its_log_is_audited(folder, capsys, tmp_path):
    log = str(tmp_path / "log.jsonl")
    seats = ("--learners", f'llm("{folder}")', "hedge(0.4)")
    game = ("play", "rock-paper-scissors", *seats, "--rounds", "4")
    played = json.loads(out_of(capsys, *game, "--log", log, "--json"))
    assert played["learners"][0] == f'llm("{folder}")'
    assert "hedge" in out_of(capsys, "audit", log)


def test_tournaments_with_any_number_of_actions(folder, capsys):
    games = ("--games", "matching-pennies", "random(4, 4, seed=1)")
    players = ("--learners", f'llm("{folder}")', "uniform()")
    assert "llm" in out_of(capsys, "tournament", *games, *players, "--rounds", "3", "--json")


def test_bandit_feedback_needs_a_seed(folder, capsys):
    seats = ("--learners", f'llm("{folder}", bandit=true)', "uniform()")
    game = ("play", "rock-paper-scissors", *seats, "--rounds", "3")
    assert json.loads(out_of(capsys, *game, "--seed", "1", "--json"))["rounds"] == 3
    assert "pass a seed" in error_of(capsys, *game)


def test_name_is_the_spec(folder):
    assert str(llm(str(folder))) == f'llm("{folder}")'
    named = llm(str(folder), chat=True, dtype="bfloat16")
    assert str(named) == f'llm("{folder}", chat=true, dtype="bfloat16")'


def test_too_many_rounds_raise_before_the_first(folder, capsys):
    seats = ("--learners", f'llm("{folder}")', "uniform()")
    said = error_of(capsys, "play", "rock-paper-scissors", *seats, "--rounds", "200")
    assert "but the model's context is 2048: use fewer rounds" in said


def test_data_cannot_name_models(folder):
    with pytest.raises(ValueError, match="unknown learner 'llm'"):
        parse_learner(f'llm("{folder}")')


def test_evaluate_measures_models():
    task = scratch_task(3, 5)
    tokenizer = scratch_tokenizer(task)
    learner = LanguageLearner(scratch_model(tokenizer), tokenizer, task)
    found = rx.evaluate(learner, RegretObjective(3, 5), key=jax.random.key(0), sequences=200)
    assert found.optimal_loss < found.loss < 1.2 * rx.theory.uniform_loss(3, 5)


def test_states_can_be_used_twice():
    task, tokenizer = Task(2, 3), byte_pairs()
    learner = LanguageLearner(tiny("llama", tokenizer), tokenizer, task)
    first = learner.update(learner.init(2, 3), np.array([1.0, 0.0]))
    expected = np.asarray(learner.policy(first))
    learner.update(first, np.array([0.0, 5.0]))  # its reader goes on
    np.testing.assert_allclose(np.asarray(learner.policy(first)), expected, atol=1e-6)
