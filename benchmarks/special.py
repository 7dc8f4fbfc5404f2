"""Special rows: the exact step against Monte Carlo, and the time of commands and imports."""

import sys
from statistics import median, stdev
from typing import Any

from benchmarks import limit
from benchmarks.measure import Measured, Result
from benchmarks.side import OURS, PEERS, Side, command_seconds

ERROR = 1e-6
IMPORTS = {
    "import jax": "import jax",
    "import regrax; regrax.Hedge(0.4)": "import regrax; regrax.Hedge(0.4)",
}
PEER_IMPORTS = {
    "noregret": "import noregret.games, noregret.regret_minimizers",
    "open_spiel": "import pyspiel; from open_spiel.python.algorithms import regret_matching",
    "quantecon": "import quantecon.game_theory",
    "torch": "import torch",
}


def exact_against_monte_carlo(repeats: int) -> Result:
    """Compare the time to compute k*(3, 20) to 1e-6; that of Monte Carlo is extrapolated from its spread."""
    runs = 50
    with Side(OURS) as exact, Side(OURS) as sampled:
        first = exact.prepare("exact_step", actions=3, horizon=20)
        drawn = sampled.prepare("monte_carlo", actions=3, horizon=20, runs=runs)
        turns = [(exact.run(), sampled.run()) for _ in range(repeats)]
    enough = (stdev(drawn["gave"]) / ERROR) ** 2 / runs
    fast, slow = [a["cpu"] for a, _ in turns], [enough * b["cpu"] for _, b in turns]
    sides = {
        OURS: Measured(first["cpu"], median(fast), min(fast), max(fast), 1.0, turns[-1][0]["peak_mb"]),
        "Monte Carlo": Measured(
            drawn["cpu"], median(slow), min(slow), max(slow),
            median(b / a for a, b in zip(fast, slow, strict=True)), turns[-1][1]["peak_mb"],
        ),
    }  # fmt: skip
    return Result("k*(3, 20) to 1e-6", limit.exact_step(3, 20), {"Monte Carlo": 1000}, sides)


def start_up(repeats: int) -> dict[str, Any]:
    """Measure wall seconds of commands and imports, and of peers, in turns."""
    regrax = [sys.executable, "-m", "regrax", "--help"]
    commands = {"regrax --help": regrax}
    commands |= {name: [sys.executable, "-c", code] for name, code in IMPORTS.items()}
    commands |= {
        f"import of {name}": [str(PEERS), "-c", code] for name, code in PEER_IMPORTS.items()
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, command in commands.items():
            times[name].append(command_seconds(*command))
    plain, ours = (times[name] for name in IMPORTS)
    return {
        "seconds": {name: median(took) for name, took in times.items()},
        "import_ratio": median(b / a for a, b in zip(plain, ours, strict=True)),
    }
