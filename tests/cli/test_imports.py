"""What a command or a first call imports: nobody waits for jax who does not need it.

Nor does who gives bad input, with one exception: what only the thing itself knows, which is a module of equinox. Which
arguments a learner, a distribution or a model takes, and of which range, is told after jax is imported: `hedge(x=1)`,
`hedge(-1)`, `ball(1.0)` at a seat, a width that heads do not divide, a step of `certify`; so are numbers of sequences
and of retries that are too small, and what the memory has no room for.
"""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("numpy", "scipy", "rich", "jax", "equinox", "optax", "matplotlib")
COMMANDS = {
    "--help": "",
    "train --help": "",
    "frobnicate": "",
    "play chicken": "",
    "games": "rich",
    "games nonsense": "",
    "games chicken": "numpy rich",
    "learners": "rich",
    "play nonsense --learners 'hedge(1)' --rounds 5": "numpy",
    "play chicken --learners 'hedge(1)' --rounds 0": "numpy",
    "step-size --actions 3 --horizon 20": "numpy scipy rich",
    "certify --actions 1 --horizon 20": "numpy",
    "certify --actions 4 --horizon 20 --rigorous": "numpy",
    "certify --actions 2 --horizon 2 --rigorous": "numpy scipy rich",
    "solve chicken --concept nash": "numpy rich",
    "solve chicken --objective welfare": "numpy scipy rich",
    "solve chicken --objective entropy": "numpy scipy rich",
    "play chicken --learners 'hedge(1)' --rounds 5": "numpy rich jax equinox",
}
REFUSALS = [
    "play chicken --learners nonsense --rounds 5",
    "play chicken --learners 'hedge(1)' 'blum_mansour(nonsense)' --rounds 5",
    "play chicken --learners 'hedge(1)' 'hedge(1)' 'hedge(1)' --rounds 5",
    "play chicken --learners 'hedge(1)' --rounds 5 --start 7,8",
    "play chicken --learners 'checkpoint(\"nofile\")' --rounds 5",
    "play chicken --learners 'hedge(1)' --rounds 5 --episodes 0",
    "solve chicken --by nonsense --rounds 5",
    "solve chicken --by 'hedge(1)' --rounds 0",
    "tournament --rounds 0",
    "tournament --games nonsense",
    "tournament --learners 'hedge(1)' 'blum_mansour(nonsense)'",
    "tournament --devices 0",
    "certify --actions 1 --horizon 20",
    "certify --actions 3 --horizon 20 --process-id 1",
    "audit nofile",
    "audit nofile.jsonl",
    "audit number.toml --parsers nonsense",
    "compare nofile nofile2",
    "sweep nofile",
    "sweep broken.toml",
    "sweep number.toml",
    "sweep number.toml --out number.toml",
    "reproduce --quick --out number.toml/deeper",
    "train --model linear --out number.toml",
    "train --model linear --surrogate nonsense --out x",
    "train --model linear --actions 0 --out x",
    "train --model linear --objective swap --out x",
    "train --model linear --distribution nonsense --out x",
    "train --model linear --devices 0 --out x",
    "train --model linear --out trained",
]
CALLS = {
    "import regrax": "",
    "rx.joint_gaps(np.full((2, 2), 0.25), rx.games.chicken())": "numpy",
    "rx.swap_regret(np.full((20, 3), 1 / 3), np.ones((20, 3)))": "numpy",
    "rx.nash_equilibria('chicken')": "numpy",
    "rx.solve('chicken', 'cce', 'minimum')": "numpy scipy",
}


def imported(code: str, folder: Path | None = None) -> str:
    """The heavy modules that some code imports, run in a folder."""
    code += f"\nprint('imported', *[name for name in {HEAVY} if name in sys.modules])"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    return ran.stdout.rpartition("imported")[2].strip()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_imports_what_it_needs(command):
    run = f"try: main({shlex.split(command)})\nexcept SystemExit: pass"
    assert imported(f"import sys\nfrom regrax.cli import main\n{run}") == COMMANDS[command]


@pytest.mark.parametrize("command", REFUSALS)
def test_bad_input_is_refused_without_jax(command, tmp_path):
    (tmp_path / "broken.toml").write_text("a = [")
    (tmp_path / "number.toml").write_text('model = "linear"\nactions = 0')
    (tmp_path / "trained").mkdir()
    (tmp_path / "trained" / "training.json").touch()
    run = f"try: main({shlex.split(command)})\nexcept SystemExit as end: assert end.code == 2"
    found = imported(
        f"import sys\nfrom regrax.cli import main\n{run}\nelse: raise SystemExit(1)", tmp_path
    )
    assert "jax" not in found.split()


@pytest.mark.parametrize("call", CALLS)
def test_a_call_on_numpy_arrays_imports_what_it_needs(call):
    numpy = "import numpy as np; " if CALLS[call] else ""
    assert imported(f"import sys; {numpy}import regrax as rx; {call}") == CALLS[call]


@pytest.mark.parametrize(
    "first",
    [
        "import jax; import regrax as rx",
        "import regrax as rx",
        # only looked for, as libraries do that can do without it
        "import importlib.util; import regrax as rx; rx.games.chicken(); importlib.util.find_spec('jax')",
    ],
)
def test_games_are_pytrees_whichever_was_imported_first(first):
    code = f"""{first}
game = rx.games.chicken()
profile = rx.solve(game, "nash")
import jax, jax.numpy as jnp, numpy as np
gap = jax.jit(lambda game: rx.nash_gap(np.full((2, 2), 0.25), game))(game)
games = jax.tree.map(lambda *tables: jnp.stack(tables), game, game)
print(float(gap), games.payoffs.shape, games.labels.name == "", len(jax.tree.leaves(profile)))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "0.25 (2, 2, 2, 2) True 2\n"
