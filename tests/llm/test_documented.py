"""What the page on language models and its example say is run here, on a smaller scale."""

import re
import runpy
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the extra `llm`")
pytest.importorskip("peft", reason="peft is not installed: the extra `llm-train`")
pytestmark = [pytest.mark.extras, pytest.mark.usefixtures("as_users_run_it")]

from tests.llm.models import byte_pairs, tiny

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "llm.md").read_text()


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


def test_the_example_trains_from_nothing(tmp_path, monkeypatch, capsys):
    options = f"--steps 2 --batch 4 --sequences 50 --threads 1 --out {tmp_path}"
    monkeypatch.setattr(sys, "argv", ["llm_from_scratch.py", *options.split()])
    runpy.run_path(str(ROOT / "examples" / "llm_from_scratch.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "129,792 parameters" in printed
    assert re.search(r"^best possible +\d", printed, re.MULTILINE)
