"""A language model takes a learner's seat: in play, in tournaments, in evaluation, and its log is audited."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the extra `llm`")
pytest.importorskip("transformers", reason="transformers is not installed: the extra `llm`")
pytestmark = [pytest.mark.extras, pytest.mark.usefixtures("as_users_run_it")]

from tests.llm.models import byte_pairs, tiny

import regrax as rx
from regrax.agents.llm import (
    LanguageLearner,
    Task,
    llm,
    load_model,
    save_model,
    scenario,
    scratch_model,
    scratch_task,
    scratch_tokenizer,
)
from regrax.cli import main
from regrax.specs import parse_learner
from regrax.training import RegretObjective

SOURCE = Path(__file__).parent.parent.parent / "src"


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
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    assert stopped.value.code == 2
    said = capsys.readouterr().err.strip()
    assert len(said.splitlines()) == 1
    return said


def test_it_plays_by_its_spec_and_its_log_is_audited(folder, capsys, tmp_path):
    log = tmp_path / "log.jsonl"
    seats = ("--learners", f'llm("{folder}")', "hedge(0.4)")
    played = json.loads(
        out_of(
            capsys,
            "play",
            "rock-paper-scissors",
            *seats,
            "--rounds",
            "4",
            "--log",
            str(log),
            "--json",
        )
    )
    assert played["learners"][0] == f'llm("{folder}")'
    assert "hedge" in out_of(capsys, "audit", str(log))


def test_it_enters_a_tournament_with_any_number_of_actions(folder, capsys):
    games = ("--games", "matching-pennies", "random(4, 4, seed=1)")
    players = ("--learners", f'llm("{folder}")', "uniform()")
    text = out_of(capsys, "tournament", *games, *players, "--rounds", "3", "--json")
    assert "llm" in text


def test_it_sees_only_its_own_loss_with_bandit_feedback(folder, capsys):
    seats = ("--learners", f'llm("{folder}", bandit=true)', "uniform()")
    game = ("play", "rock-paper-scissors", *seats, "--rounds", "3")
    assert json.loads(out_of(capsys, *game, "--seed", "1", "--json"))["rounds"] == 3
    assert "give a seed" in error_of(capsys, *game)


def test_its_name_is_its_spec(folder):
    assert str(llm(str(folder))) == f'llm("{folder}")'
    assert str(llm(str(folder), chat=True, dtype="bfloat16")) == (
        f'llm("{folder}", chat=true, dtype="bfloat16")'
    )


def test_what_does_not_fit_is_known_before_the_first_round(folder, capsys):
    seats = ("--learners", f'llm("{folder}")', "uniform()")
    said = error_of(capsys, "play", "rock-paper-scissors", *seats, "--rounds", "200")
    assert "but the model's context holds 2048: fewer rounds" in said


def test_a_folder_without_a_part_is_one_line(folder, tmp_path):
    for part, name in (("weights", "model.safetensors"), ("tokenizer", "tokenizer*")):
        shutil.copytree(folder, tmp_path / part)
        for file in (tmp_path / part).glob(name):
            file.unlink()
        with pytest.raises(ValueError, match=rf"{part} holds no {part}: it has no"):
            load_model(tmp_path / part)


def test_data_cannot_name_it(folder):
    with pytest.raises(ValueError, match="unknown learner 'llm'"):
        parse_learner(f'llm("{folder}")')


def test_evaluate_measures_it_against_the_best_possible():
    task = scratch_task(3, 5)
    tokenizer = scratch_tokenizer(task)
    learner = LanguageLearner(scratch_model(tokenizer), tokenizer, task)
    found = rx.evaluate(learner, RegretObjective(3, 5), key=jax.random.key(0), sequences=200)
    assert found.optimal_loss < found.loss < 1.2 * rx.theory.uniform_loss(3, 5)


def test_a_state_that_is_used_twice_is_read_again():
    task, tokenizer = Task(2, 3), byte_pairs()
    learner = LanguageLearner(tiny("llama", tokenizer), tokenizer, task)
    first = learner.update(learner.init(2, 3), np.array([1.0, 0.0]))
    expected = np.asarray(learner.policy(first))
    learner.update(first, np.array([0.0, 5.0]))  # its reader goes on
    np.testing.assert_allclose(np.asarray(learner.policy(first)), expected, atol=1e-6)


def test_saved_models_load_with_plain_transformers(folder):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder)
    assert len(AutoTokenizer.from_pretrained(folder)) == model.config.vocab_size
    assert load_model(folder).task == scenario("routes", 4)


BAD_FOLDERS = {
    "no such/place/here": "is no folder, and no name on the hub, which is owner/name",
    "tests": "holds no model: it has no config.json",
}


@pytest.mark.parametrize(("path", "message"), BAD_FOLDERS.items())
def test_a_missing_folder_is_one_line(path, message, capsys):
    said = error_of(capsys, "posttrain", path, "--out", "nowhere")
    assert message in said


def test_a_hub_name_without_a_network_is_one_line():
    """In a process of its own: the settings are read at import. The endpoint is a name that nobody can have."""
    command = [sys.executable, "-m", "regrax", "posttrain", "nobody/nothing", "--out", "nowhere"]
    for setting in ({"HF_HUB_OFFLINE": "1"}, {"HF_ENDPOINT": "https://hub.invalid"}):
        environment = {**os.environ, "PYTHONPATH": str(SOURCE), **setting}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert done.returncode == 2
        said = done.stderr.strip()
        assert said.startswith("regrax: error: nobody/nothing is no folder here, and the hub did")
        assert len(said.splitlines()) == 1


def test_words_that_cannot_be_told_are_one_line(folder, tmp_path):
    tokenizer = byte_pairs()
    model = tiny("llama", tokenizer, torch.float32)
    losses = np.zeros((1, 4, 2))

    def asked(task, model=model, tokenizer=tokenizer):
        return rx.llm.policies(model, tokenizer, task, losses[:, :, : task.d])

    with pytest.raises(ValueError, match="cannot tell the action names 'a' and 'ab' apart"):
        asked(Task(("a", "ab"), 4))
    with pytest.raises(ValueError, match="context holds 64: fewer rounds, or shorter words"):
        asked(Task(2, 4), tiny("llama", tokenizer, torch.float32, max_position_embeddings=64))
    small = byte_pairs(300)
    with pytest.raises(ValueError, match="they do not belong together"):
        asked(Task(2, 4), tiny("llama", small, torch.float32))
    words = scratch_tokenizer(scratch_task(2, 4))
    with pytest.raises(ValueError, match=r"the tokenizer does not know a word of .*: is it this"):
        asked(Task(2, 4), tokenizer=words)
    with pytest.raises(ValueError, match="has no tokens for the action name 'left'"):
        asked(scratch_task(2, 4).replace(actions=("left", "A")), tokenizer=words)
    with pytest.raises(ValueError, match="this tokenizer has no chat template"):
        asked(scratch_task(2, 4, chat=True), tokenizer=words)
