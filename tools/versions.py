"""Install the built packages in fresh environments and check that they work: `python -m tools.versions`.

Builds the wheel and the source distribution, installs them into environments under `.venv-versions`, and runs
`tools/smoke.py`: on the oldest Python with every dependency at its lower bound, and on newer ones with the newest.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
TRIED_EXTRAS = ("openspiel", "pyarrow", "rigorous")  # those whose oldest wheels are small
TYPED = """import regrax as rx
from regrax.theory import step_size
game: rx.Game = rx.games.weighted_rps()
play: rx.Trajectory = rx.play(game, [rx.Hedge(0.45), "uniform()"], rounds=5)
gap: float = float(rx.cce_gap(play.joint, game)) + step_size(3, 20)
rx.nonsense  # error
rx.play(game, "uniform()", rounds="ten")  # error
"""


class Setup(NamedTuple):
    """An environment: the Python version, the built file, and whether dependencies are at their lower bounds."""

    python: str
    suffix: str
    lowest: bool = False

    @property
    def folder(self) -> Path:
        """Folder of the environment."""
        return ROOT / ".venv-versions" / (self.python + ("-lowest" if self.lowest else ""))


SETUPS = (Setup("3.11", ".whl", lowest=True), Setup("3.12", ".whl"), Setup("3.13", ".tar.gz"))


def lower_bounds(project: dict) -> list[str]:
    """Return every dependency, including those of the tested extras, at its lower bound.

    >>> lower_bounds({"dependencies": ["jax>=0.8"], "optional-dependencies": {"pyarrow": ["pyarrow>=17"]}})
    ['jax==0.8', 'pyarrow==17']
    """
    extras = project["optional-dependencies"]
    needs = [*project["dependencies"], *(n for e in TRIED_EXTRAS for n in extras.get(e, ()))]
    return [need.replace(">=", "==") for need in needs]


def interpreter(version: str) -> str | None:
    """Find a Python of this version on the path or in pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = sorted(pyenv.glob(f"{version}.*/bin/python"))
    return str(found[-1]) if found else shutil.which(f"python{version}")


def run(*command: object, **options: object) -> subprocess.CompletedProcess:
    """Run a command; show its output only if it fails."""
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done


def build(folder: Path) -> dict[str, Path]:
    """Build the wheel and the source distribution; return them by suffix."""
    shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "hatchling", "build", "-d", folder, cwd=ROOT)
    return {end: next(folder.glob(f"*{end}")) for end in (".whl", ".tar.gz")}


def install(setup: Setup, python: str, built: Path) -> Path:
    """Install the built file into an environment, and dependencies if they changed; return its Python."""
    own, made = setup.folder / "bin" / "python", setup.folder / "made-for.toml"
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    if not made.exists() or made.read_text("utf-8") != project:
        run(python, "-I", "-m", "venv", "--clear", setup.folder)
        pinned = lower_bounds(tomllib.loads(project)["project"]) if setup.lowest else []
        run(own, "-I", "-m", "pip", "install", "--quiet", built, *pinned)
        made.write_text(project, "utf-8")
    run(own, "-I", "-m", "pip", "install", "--quiet", "--no-deps", "--force-reinstall", built)
    return own


def check_types(own: Path) -> None:
    """Check that a type checker accepts installed names and reports missing ones."""
    checker = Path(sys.executable).with_name("basedpyright")
    with TemporaryDirectory() as folder:
        file = Path(folder) / "typed.py"
        file.write_text(TYPED, "utf-8")
        command = [checker, "--level", "error", "--pythonpath", own, file]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    wrong = [number for number, line in enumerate(TYPED.splitlines(), 1) if "# error" in line]
    seen = sorted({int(line) for line in re.findall(r"typed\.py:(\d+):\d+ - error", done.stdout)})
    assert seen == wrong, done.stdout


def check(setup: Setup, built: dict[str, Path]) -> str:
    """Install and test one environment; print one line with the result."""
    python = interpreter(setup.python)
    name = setup.folder.name
    if python is None:
        return f"{name}: skipped, Python {setup.python} is not installed"
    own = install(setup, python, built[setup.suffix])
    smoke = run(own, "-I", ROOT / "tools" / "smoke.py", env={**os.environ, "JAX_PLATFORMS": "cpu"})
    check_types(own)
    return f"{name}, {built[setup.suffix].name}: {smoke.stdout.strip()}"


def main() -> None:
    """Test every environment, two at a time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("versions", nargs="*", help="only these, such as 3.11-lowest")
    chosen = parser.parse_args().versions or [setup.folder.name for setup in SETUPS]
    built = build(ROOT / "dist")
    with ThreadPoolExecutor(2) as pool:
        setups = [setup for setup in SETUPS if setup.folder.name in chosen]
        for line in pool.map(lambda setup: check(setup, built), setups):
            print(line, flush=True)


if __name__ == "__main__":
    main()
