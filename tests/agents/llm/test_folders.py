"""A training's folder is one process's and one base model's; what is refused leaves nothing, what is done is kept."""

import json
from dataclasses import dataclass

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the extra `llm`")
pytest.importorskip("transformers", reason="transformers is not installed: the extra `llm`")
pytestmark = [pytest.mark.extras, pytest.mark.usefixtures("as_users_run_it")]

from regrax.agents.llm import TrainConfig, scratch_model, scratch_task, scratch_tokenizer, train
from regrax.agents.llm._descent import divergence
from regrax.agents.llm._run import Run
from regrax.experiments import Store, ignore

TASK = scratch_task(2, 3, decimals=0)
SHORT = TrainConfig(steps=2, batch=2, warmup=0)


def made(**fields):
    tokenizer = scratch_tokenizer(TASK)
    return scratch_model(tokenizer, width=8, heads=2, layers=1, **fields), tokenizer, TASK


def test_a_folder_is_one_process(tmp_path):
    busy = pytest.raises(ValueError, match="another process is using")
    with Store(tmp_path).held(), busy:
        train(*made(), SHORT, tmp_path)


def test_a_folder_is_one_training_of_one_model(tmp_path):
    model, *told = made()
    first = train(model, *told, SHORT, tmp_path)
    again = train(*made(), SHORT, tmp_path)
    pairs = zip(first.state_dict().values(), again.state_dict().values(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)
    for other in (model, made(seed=1)[0]):  # one that training has changed, one that is another
        with pytest.raises(ValueError, match="holds a run with base_model = 'qwen3 "):
            train(other, *told, SHORT, tmp_path)
    with pytest.raises(ValueError, match="holds a run with steps = 2, got 3"):
        train(*made(), TrainConfig(steps=3, batch=2, warmup=0), tmp_path)
    with pytest.raises(ValueError, match="already holds a run: add --resume to continue it"):
        train(*made(), SHORT, tmp_path, resume=False)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rounds": 200}, "has 599 tokens, but the model's context holds 512"),
        ({"feedback": "bandit"}, "need transcripts of losses only"),
        ({"actions": ("A", "left")}, "has no tokens for the action name 'left'"),
        ({"losses": "gausian"}, "did you mean gaussian"),
    ],
)
def test_what_cannot_be_trained_leaves_no_folder(changes, message, tmp_path):
    model, tokenizer, task = made()
    with pytest.raises(ValueError, match=message):
        train(model, tokenizer, task.replace(**changes), SHORT, tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["state.safetensors", "training.json"])
def test_a_damaged_file_is_one_line(name, tmp_path):
    with Store(tmp_path).held():
        pass
    (tmp_path / name).write_bytes(b"cut off")
    with pytest.raises(ValueError, match=rf"{name} is damaged"):
        train(*made(), SHORT, tmp_path)


@dataclass(frozen=True)
class Iterations:
    iterations: int = 3


def test_iterations_that_are_done_are_kept(tmp_path):
    seen = []

    def improve(model, number):
        seen.append(number)
        if seen == [0, 1]:
            raise RuntimeError("killed")
        with torch.no_grad():
            model.lm_head.weight.add_(1)
        return model, {"regret": float(number)}

    def run():
        return Run("test", *made(), Iterations(), tmp_path, ignore, True).iterate(improve)

    with pytest.raises(RuntimeError):
        run()
    trained = run()
    assert seen == [0, 1, 1, 2]
    difference = trained.lm_head.weight - made()[0].lm_head.weight
    torch.testing.assert_close(difference, torch.full_like(difference, 3.0))
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["iteration"] for line in lines] == [1, 2, 3]
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["model"]


def test_a_training_removes_only_its_own_iterations(tmp_path):
    def improve(model, _):
        return model, {"regret": 0.0}

    with Store(tmp_path).held():
        pass
    mine = ["iteration-0", "iteration-notes", "iteration-2b", "iteration-7"]
    for name in mine:
        (tmp_path / name).mkdir()
        (tmp_path / name / ".draft.tmp").write_text("mine")
    Run("test", *made(), Iterations(), tmp_path, ignore, True).iterate(improve)
    assert all((tmp_path / name / ".draft.tmp").exists() for name in mine)
    assert not (tmp_path / "iteration-3").exists()


def test_a_folder_of_others_is_refused_untouched(tmp_path):
    (tmp_path / ".draft.tmp").write_text("mine")
    with pytest.raises(
        ValueError, match=r"regrax did not write, such as \.draft\.tmp: choose a new"
    ):
        train(*made(), SHORT, tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == [".draft.tmp"]


def test_a_probability_of_zero_has_a_divergence():
    logits = torch.tensor([0.0, -200.0, 1.0], requires_grad=True)
    value = divergence(torch.softmax(logits, -1), torch.tensor([0.5, 0.5, 0.0]))
    value.backward()
    assert value.isfinite()
    assert logits.grad.isfinite().all()
