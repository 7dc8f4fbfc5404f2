"""Commands print what they printed before: keys, lengths, texts and integers exactly, floats to a tolerance.

The outputs are in `tests/golden`; `python -m tests.cli.test_golden [NAME ...]` writes them again, from the project's
root. Rewrite only where a number or a name changes on purpose, and say in the commit message which and why.
"""

import contextlib
import io
import json
import math
import shlex
import sys
import tempfile
from pathlib import Path

import pytest

from regrax.cli import main

pytestmark = pytest.mark.usefixtures("as_users_run_it")
GOLDEN = Path(__file__).parents[1] / "golden"
TRAIN = "train --actions 2 --horizon 4 --steps 6 --batch 32 --sequences 20000 --out FOLDER --model"
MATCHES = "tournament --games chicken 'random(2, 2)' jordan --rounds 16 --seeds 2 --learners"
COMMANDS = {
    "play-hedge": "play weighted-rps --learners 'hedge(0.4479)' --rounds 20",
    "play-blum-mansour": "play weighted-rps --learners 'blum_mansour(hedge(0.99436))' --rounds 20",
    "play-one-per-seat": "play battle-of-the-sexes --rounds 20 "
    "--learners 'optimistic_hedge(0.5)' 'delayed(regret_matching(), 2)'",
    "play-internal": "play rock-paper-scissors --rounds 20 "
    "--learners 'internal_regret_matching()' 'tree_swap(hedge(0.7), 3, 4)'",
    "play-three-players": "play jordan --learners 'predictive_regret_matching_plus()' --rounds 20",
    "play-three-sizes": "play 'random(2, 3, 2, seed=1)' --rounds 20 "
    "--learners 'hedge(0.1)' 'ada_hedge()' 'euclidean_ftrl(0.3)'",
    "play-sampled": "play weighted-rps --learners 'hedge(0.3)' --rounds 20 --seed 1",
    "play-bandit": "play shapley --learners 'exp3(inverse_sqrt(0.5), 0.1)' --rounds 20 --seed 2",
    "play-bandit-and-full": "play chicken --rounds 20 --seed 3 "
    "--learners 'tsallis_inf()' 'fictitious_play()'",
    "play-file": "games stag-hunt --save FOLDER/mine.nfg; "
    "play FOLDER/mine.nfg --learners 'regret_matching_plus()' --rounds 20",
    "solve-ce-welfare": "solve chicken --concept ce --objective welfare",
    "solve-ce-entropy": "solve chicken --concept ce --objective entropy",
    "solve-cce-minimum": "solve battle-of-the-sexes --concept cce --objective minimum",
    "solve-nash": "solve weighted-rps --concept nash",
    "solve-nash-welfare": "solve stag-hunt --concept nash --objective welfare",
    "solve-by": "solve weighted-rps --concept cce --by 'hedge(0.4479)' --rounds 20",
    "solve-by-sampled": "solve shapley --concept nash --by 'exp3(0.1, 0.2)' --rounds 20 --seed 3",
    "games-chicken": "games chicken",
    "games-cournot": "games 'cournot(firms=3, intercept=3)'",
    "step-size": "step-size --actions 3 --horizon 20",
    "step-size-limit": "step-size --actions 3 --horizon inf",
    "step-size-ball": "step-size --actions 2 --horizon 10 --operator ball --radius 2",
    "tournament": f"{MATCHES} 'hedge(0.3)' 'regret_matching()' 'uniform()'",
    "tournament-sampled": f"{MATCHES} 'hedge(0.3)' 'exp3(0.1)' --rank ce_gap",
    "train-linear": f"{TRAIN} linear --seeds 2",
    "train-swap": f"{TRAIN} swap",
    "audit": "play weighted-rps --learners 'hedge(0.4)' 'uniform()' --rounds 30 --seed 1 "
    "--log FOLDER/log.jsonl; audit FOLDER/log.jsonl",
    "certify": "certify --actions 2 --horizon 3 --sequences 4000",
}
"""By name: a command without `--json`, perhaps after one that writes what it reads."""
DRAWN = ("play-sampled", "play-bandit", "play-bandit-and-full", "solve-by-sampled")
DRAWN += ("tournament-sampled",)
"""Commands that draw actions: any finite float will do. `tests/test_against_numpy.py` compares distributions."""
SLOW = ("train-linear", "train-swap", "certify")
"""Commands that compile for seconds, and compute in float32."""
NOT_COMPARED = {
    "certify": "measured",  # numbers as text
    "solve-by-sampled": "deviation",
    "tournament-sampled": "ranking",
    "train-linear": "seconds",
    "train-swap": "seconds",
}


def output(name, folder):
    """Run a command and return what it prints, with `FOLDER` for the folder."""
    for command in f"{COMMANDS[name]} --json".split("; "):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            main([token.replace("FOLDER", str(folder)) for token in shlex.split(command)])

    def compared(pairs):
        return {key: value for key, value in pairs if key != NOT_COMPARED.get(name)}

    text = printed.getvalue().replace(str(folder), "FOLDER")
    return json.loads(text, object_pairs_hook=compared)


def assert_alike(value, golden, tolerance, where=""):
    """Compare nested lists and dictionaries; a failure names the place."""
    assert type(value) is type(golden), where
    if isinstance(golden, dict):
        assert value.keys() == golden.keys(), where
        for key in golden:
            assert_alike(value[key], golden[key], tolerance, f"{where}.{key}")
    elif isinstance(golden, list):
        assert len(value) == len(golden), where
        for index, (mine, other) in enumerate(zip(value, golden, strict=True)):
            assert_alike(mine, other, tolerance, f"{where}[{index}]")
    elif isinstance(golden, float):
        assert value == pytest.approx(golden, **tolerance), where
    else:
        assert value == golden, where


MARKED = [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in COMMANDS]


@pytest.mark.parametrize("name", MARKED)
def test_a_command_prints_what_it_printed_before(name, tmp_path):
    tolerance = {"rel": 1e-9, "abs": 1e-12}  # for numbers that are zero in exact arithmetic
    if name in SLOW:
        tolerance = {"rel": 1e-3, "abs": 1e-5}
    if name in DRAWN:
        tolerance = {"abs": math.inf}
    golden = json.loads((GOLDEN / f"{name}.json").read_text())
    assert_alike(output(name, tmp_path), golden, tolerance)


def test_every_golden_file_belongs_to_a_command():
    assert {file.stem for file in GOLDEN.glob("*.json")} == set(COMMANDS)


if __name__ == "__main__":
    for chosen in sys.argv[1:] or COMMANDS:
        with tempfile.TemporaryDirectory() as temporary:
            found = output(chosen, Path(temporary))
        text = json.dumps(found, indent=1, ensure_ascii=False)
        (GOLDEN / f"{chosen}.json").write_text(f"{text}\n")
