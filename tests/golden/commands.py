"""Commands whose `--json` output is stored next to this file, and how it is compared.

    python -m tests.golden.rewrite             # write all of them again, from the project's root
    python -m tests.golden.rewrite play-hedge  # write these

Rewrite only where a number or a name changes on purpose, and say in the commit message which and why.
"""

import contextlib
import io
import json
import math
from pathlib import Path
from typing import Any, NamedTuple

from regrax.cli import main

HERE = Path(__file__).parent
FOLDER = "FOLDER"  # in arguments and outputs: a folder that is empty at first


class Command(NamedTuple):
    """A command, without `--json`."""

    arguments: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = ()  # commands that write what this one reads
    relative: float = 1e-9
    absolute: float = 1e-12  # for numbers that are zero in exact arithmetic
    without: tuple[str, ...] = ()  # keys that are not compared
    slow: bool = False

    def drawn(self, *without: str) -> "Command":
        """Compare the layout alone: any finite number will do where actions are drawn at random."""
        return self._replace(absolute=math.inf, without=without)


def _play(game: str, *learners: str, rounds: int = 20, seed: int | None = None) -> tuple[str, ...]:
    drawn = () if seed is None else ("--seed", str(seed))
    return ("play", game, "--learners", *learners, "--rounds", str(rounds), *drawn)


def _solve(game: str, concept: str, *more: str) -> Command:
    return Command(("solve", game, "--concept", concept, *more))


def _step_size(actions: int, horizon: str, *more: str) -> Command:
    return Command(("step-size", "--actions", str(actions), "--horizon", horizon, *more))


def _tournament(*more: str) -> Command:
    games = ("chicken", "random(2, 2)", "jordan")
    return Command(("tournament", "--games", *games, "--rounds", "16", "--seeds", "2", *more))


def _train(model: str, *more: str, slow: bool = False) -> Command:
    size = ("--actions", "2", "--horizon", "4", "--steps", "6", "--batch", "32", "--out", FOLDER)
    return Command(
        ("train", "--model", model, *size, "--sequences", "20000", *more),
        relative=1e-3,  # trained in float32
        absolute=1e-5,
        without=("seconds",),
        slow=slow,
    )


def _audit(*played: str) -> Command:
    log = f"{FOLDER}/log.jsonl"
    return Command(("audit", log), before=((*played, "--log", log),))


SAVED = f"{FOLDER}/mine.nfg"
COMMANDS = {
    "play-hedge": Command(_play("weighted-rps", "hedge(0.4479)")),
    "play-blum-mansour": Command(_play("weighted-rps", "blum_mansour(hedge(0.99436))")),
    "play-one-per-seat": Command(
        _play("battle-of-the-sexes", "optimistic_hedge(0.5)", "delayed(regret_matching(), 2)")
    ),
    "play-internal": Command(
        _play("rock-paper-scissors", "internal_regret_matching()", "tree_swap(hedge(0.7), 3, 4)")
    ),
    "play-three-players": Command(_play("jordan", "predictive_regret_matching_plus()")),
    "play-three-sizes": Command(
        _play("random(2, 3, 2, seed=1)", "hedge(0.1)", "ada_hedge()", "euclidean_ftrl(0.3)")
    ),
    "play-sampled": Command(_play("weighted-rps", "hedge(0.3)", seed=1)).drawn(),
    "play-bandit": Command(_play("shapley", "exp3(inverse_sqrt(0.5), 0.1)", seed=2)).drawn(),
    "play-bandit-and-full": Command(
        _play("chicken", "tsallis_inf()", "fictitious_play()", seed=3)
    ).drawn(),
    "play-file": Command(
        _play(SAVED, "regret_matching_plus()"), before=(("games", "stag-hunt", "--save", SAVED),)
    ),
    "solve-ce-welfare": _solve("chicken", "ce", "--objective", "welfare"),
    "solve-ce-entropy": _solve("chicken", "ce", "--objective", "entropy"),
    "solve-cce-minimum": _solve("battle-of-the-sexes", "cce", "--objective", "minimum"),
    "solve-nash": _solve("weighted-rps", "nash"),
    "solve-nash-welfare": _solve("stag-hunt", "nash", "--objective", "welfare"),
    "solve-by": _solve("weighted-rps", "cce", "--by", "hedge(0.4479)", "--rounds", "20"),
    "solve-by-sampled": _solve(
        "shapley", "nash", "--by", "exp3(0.1, 0.2)", "--rounds", "20", "--seed", "3"
    ).drawn("deviation"),
    "games-chicken": Command(("games", "chicken")),
    "games-cournot": Command(("games", "cournot(firms=3, intercept=3)")),
    "step-size": _step_size(3, "20"),
    "step-size-limit": _step_size(3, "inf"),
    "step-size-ball": _step_size(2, "10", "--operator", "ball", "--radius", "2"),
    "tournament": _tournament("--learners", "hedge(0.3)", "regret_matching()", "uniform()"),
    "tournament-sampled": _tournament(
        "--learners", "hedge(0.3)", "exp3(0.1)", "--rank", "ce_gap"
    ).drawn("ranking"),
    "train-linear": _train("linear", "--seeds", "2", slow=True),
    "train-swap": _train("swap", slow=True),
    "audit": _audit(*_play("weighted-rps", "hedge(0.4)", "uniform()", rounds=30, seed=1)),
    "certify": Command(
        ("certify", "--actions", "2", "--horizon", "3", "--sequences", "4000"),
        relative=1e-3,  # random sequences in float32
        absolute=1e-5,
        without=("measured",),  # numbers as text
        slow=True,
    ),
}


def output(command: Command, folder: Path) -> Any:
    """Run the command and return what it prints, with `FOLDER` for the folder."""
    for arguments in (*command.before, (*command.arguments, "--json")):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            main([argument.replace(FOLDER, str(folder)) for argument in arguments])
    return _compared(json.loads(printed.getvalue().replace(str(folder), FOLDER)), command.without)


def _compared(value: Any, without: tuple[str, ...]) -> Any:
    """Leave out the keys that are not compared."""
    if isinstance(value, dict):
        items = value.items()
        return {key: _compared(inner, without) for key, inner in items if key not in without}
    if isinstance(value, list):
        return [_compared(inner, without) for inner in value]
    return value


def file_of(name: str) -> Path:
    """Return the file with the output of a command."""
    return HERE / f"{name}.json"
