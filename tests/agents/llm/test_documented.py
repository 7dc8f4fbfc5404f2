"""The page on language models and the examples run, on a smaller scale."""

import re
import runpy
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tests.agents.llm.models import byte_pairs, tiny

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "how-to" / "llm.md").read_text()


def test_the_page_trains_a_model_in_a_folder(tmp_path, monkeypatch, capsys):
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len([line for line in block.splitlines() if line.strip()]) <= 20
    small = block.replace("steps=300, batch=32", "steps=2, batch=2")
    small = small.replace("tokenizer, task)\nfor", "tokenizer, task, sequences=4)\nfor")
    assert small.count("steps=2") == small.count("sequences=4") == 1
    tokenizer = byte_pairs()
    monkeypatch.chdir(tmp_path)
    tiny("llama", tokenizer, torch.float32).save_pretrained("models/my-model")
    tokenizer.save_pretrained("models/my-model")
    exec(compile(small, "llm.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "torch.Size([8, 10, 3])" in printed
    assert "Hedge at k*" in printed
    assert (tmp_path / "runs" / "routes" / "model" / "model.safetensors").exists()


def test_the_example_trains_from_scratch(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(ROOT / "examples")
    options = f"--steps 2 --batch 4 --sequences 50 --threads 1 --out {tmp_path}"
    monkeypatch.setattr(sys, "argv", ["llm_from_scratch.py", *options.split()])
    runpy.run_path(str(ROOT / "examples" / "llm_from_scratch.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "129,792 parameters" in printed
    assert re.search(r"^best possible +\d", printed, re.MULTILINE)


SMALLER = {
    "rmft": {"iterations": 1, "scenarios": 4},
    "grpo": {"iterations": 1, "steps": 1, "groups": 2},
}


@pytest.mark.filterwarnings("default")  # warnings of TRL and datasets are not ours
@pytest.mark.parametrize("method", SMALLER)
def test_the_other_example_trains_on_biased_losses(method, tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(ROOT / "examples")
    example = runpy.run_path(str(ROOT / "examples" / "llm_biased.py"))
    train, config, *words = example["METHODS"][method]
    assert f"`{type(config).__name__}({config.iterations}, " in PAGE
    example["METHODS"][method] = (train, replace(config, **SMALLER[method]), *words)
    options = f"--method {method} --sequences 20 --rounds 2 --threads 1 --out {tmp_path}"
    monkeypatch.setattr(sys, "argv", ["llm_biased.py", *options.split()])
    example["main"]()
    assert re.search(r"before .*\n.*\nafter +regret \d", capsys.readouterr().out)
