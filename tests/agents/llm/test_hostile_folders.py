"""Folders of models made by others: what is missing, elsewhere, pickled or without end is refused in one line."""

import json
import os
import shutil

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: the extra `llm`")
pytest.importorskip("transformers", reason="transformers is not installed: the extra `llm`")
pytestmark = [pytest.mark.extras, pytest.mark.usefixtures("as_users_run_it")]

from safetensors.torch import load_file, save_file
from tests.llm.models import byte_pairs, tiny

from regrax.agents.llm import Task, load_model, policies, save_model, scenario
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


def test_a_missing_parameter_is_named(folder, capsys):
    with_weights(folder, lambda weights: weights.pop(NORM))
    with pytest.raises(ValueError, match=rf"lacks parameters of its model: {NORM}$"):
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
    wanted = rf"lacks parameters of its model: {EMBEDDING}, {NORM}, and holds other"
    with pytest.raises(ValueError, match=wanted):
        load_model(folder)


def test_weights_in_several_files_are_read(folder):
    sharded(folder, {})
    load_model(folder)


@pytest.mark.parametrize("name", ["w.bin", "../x.safetensors", "sub/x.safetensors", "", None, 3])
def test_an_index_names_safetensors_in_its_folder_only(folder, name, tmp_path):
    torch.save(load_file(folder / "model.safetensors"), folder / "w.bin")
    shutil.copy(folder / "model.safetensors", tmp_path / "x.safetensors")
    sharded(folder, {NORM: name})
    with pytest.raises(ValueError, match="must name safetensors files in its folder, got"):
        load_model(folder)


def test_an_index_names_no_absolute_path(folder, tmp_path):
    shutil.copy(folder / "model.safetensors", tmp_path / "x.safetensors")
    sharded(folder, {NORM: str(tmp_path / "x.safetensors")})
    with pytest.raises(ValueError, match="must name safetensors files in its folder, got"):
        load_model(folder)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"weight_map": 3}', "[" * 100_000])
def test_a_damaged_index_is_refused(folder, text):
    (folder / "model.safetensors.index.json").write_text(text)
    with pytest.raises(ValueError, match="is damaged: it must be JSON with a weight_map"):
        load_model(folder)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_links_out_of_the_folder_are_refused(folder, name, tmp_path):
    (folder / name).rename(tmp_path / "outside")
    (folder / name).symlink_to(tmp_path / "outside")
    with pytest.raises(ValueError, match=rf"{name} is a link out of the folder"):
        load_model(folder)


def test_links_inside_of_the_folder_are_read(folder):
    (folder / "model.safetensors").rename(folder / "blob")
    (folder / "model.safetensors").symlink_to("blob")
    load_model(folder)


def test_pipes_and_adapters_are_refused(folder):
    os.mkfifo(folder / "generation_config.json.pipe")
    with pytest.raises(ValueError, match="must be a regular file"):
        load_model(folder)
    (folder / "generation_config.json.pipe").unlink()
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "/"}')
    with pytest.raises(ValueError, match="holds an adapter: merge it into its model"):
        load_model(folder)


LOOP = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
TEMPLATES = {
    "without end": (LOOP, "it takes more than 10 s"),
    "large": ("{{ 'x' * 10**10 }}", "it takes more than 1 GiB of memory"),
    "long": ("{{ 'x' * 10**7 }}", "it writes more than 1,048,576 characters"),
    "raises": ("{{ raise_exception('no system role') }}", "no system role"),
    "not Jinja": ("{% for %}", "Expected an expression"),
    "unknown": ("{{ nothing.at.all }}", "'nothing' is undefined"),
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_chat_templates_are_refused_in_one_line(folder, name, capsys):
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
def test_a_tokenizer_without_end_is_refused(folder, steps, limit):
    file = folder / "tokenizer.json"
    about = json.loads(file.read_text())
    about["normalizer"] = {"type": "Sequence", "normalizers": steps}
    file.write_text(json.dumps(about))
    message = f"no tokenizer that can be read: it takes more than {limit}"
    with pytest.raises(ValueError, match=message):
        load_model(folder)


def test_a_parser_that_never_ends_is_refused(folder):
    task = Task(2, 3, parser=r"((?:a+)+)$")
    with pytest.raises(ValueError, match="regex took more than 10 s on the answer"):
        task.parse("a" * 200 + "!")
    assert task.replace(parser=r"(\w)").parse("B A") == 1


@pytest.mark.parametrize("parser", ["(" * 500 + "a", "(a)" * 1000, "(a{99999999999})"])
def test_parsers_that_cannot_be_compiled_are_refused(parser):
    with pytest.raises(ValueError, match="parser must be first, last, exact or a regular"):
        Task(2, 3, parser=parser)


def test_a_template_is_rendered_as_transformers_does(folder):
    tokenizer = byte_pairs()
    tokenizer.chat_template = "{{ eos_token }}{{ messages[0].content }}<|assistant|>"
    model, losses = tiny("llama", tokenizer), [[[0.0, 1.0], [1.0, 0.0]]]
    asked = policies(model, tokenizer, Task(2, 2, chat=True), losses)
    opening = f"{tokenizer.eos_token}{Task(2, 2).opening}"
    plain = Task(2, 2, opening=opening, ask=Task(2, 2).ask + "<|assistant|>", answer="{action}")
    first = policies(model, tokenizer, plain, losses)[0, 0]
    torch.testing.assert_close(asked[0, 0], first)
