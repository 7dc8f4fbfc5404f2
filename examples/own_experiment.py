"""Your own experiment: settings, a computation and a figure, cached in a folder.

python examples/own_experiment.py out/own
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import regrax as rx
from regrax.experiments import Store
from regrax.show.report import Chart, Section, Series, render


@dataclass(frozen=True)
class Config:
    """Settings: Hedge against itself with several step sizes."""

    game: str = "weighted-rps"
    steps: tuple[float, ...] = (0.1, 0.4479, 2.0)
    rounds: int = 200


@dataclass(frozen=True)
class Result:
    """CCE gap after every round, one curve per step size."""

    gaps: list[list[float]]


def compute(config: Config) -> Result:
    """Play with every step size."""
    game, found = rx.specs.parse_game(config.game), []
    for step in config.steps:
        gaps = rx.running_gaps(rx.play(game, rx.Hedge(step), config.rounds), game)
        found.append(np.asarray(gaps["cce_gap"], float).tolist())
    return Result(found)


def page(config: Config, result: Result) -> str:
    """Draw the curves on a page that needs no network."""
    rounds, curves = range(1, config.rounds + 1), zip(config.steps, result.gaps, strict=True)
    series = [Series(f"step {k}", rounds, gaps, color=i) for i, (k, gaps) in enumerate(curves)]
    chart = Chart("gaps", f"Hedge in {config.game}", "round", "CCE gap", series, True, True)
    return render("Which step is best?", [], [Section("gaps", "Gaps of joint play", [], [chart])])


def main(folder: str, config: Config = Config()) -> None:  # noqa: B008
    """Load the result of these settings, or compute and store it, and draw it."""
    store = Store(folder)
    with store.locked():
        stored = store.result("steps", config, Result, lambda: compute(config))
        (Path(folder) / "report.html").write_text(page(config, stored.result))


if __name__ == "__main__":
    main(*sys.argv[1:])
