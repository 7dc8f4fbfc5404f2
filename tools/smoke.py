"""Check an installation: `python smoke.py` in a separate environment, in about a minute.

Loads every top-level name, runs commands in an empty folder with the script that pip installed, and tries the
installed extras.
"""

import json
import subprocess
import sys
import tempfile
from contextlib import chdir
from importlib.util import find_spec
from pathlib import Path

LAZY = ("matplotlib", "rich", "torch", "pandas")
PLAYING = "import sys, regrax as rx; rx.play('chicken', 'hedge(0.1)', 5); print(*sys.modules)"


def main() -> None:
    """Run all checks in an empty folder."""
    import regrax

    names = len([getattr(regrax, name) for name in regrax.__all__])
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        commands()
        tried = extras()
    loaded = subprocess.run([sys.executable, "-c", PLAYING], capture_output=True, check=True)
    assert not set(LAZY) & set(loaded.stdout.decode().split()), (
        "playing a game loads what it need not"
    )
    print(
        f"regrax {regrax.__version__}: {names} names, five commands, extras: {', '.join(tried) or 'none'}"
    )


def regrax(*arguments: str) -> str:
    """Run the installed command; return its output."""
    command = Path(sys.executable).with_name("regrax")
    return subprocess.run([command, *arguments], capture_output=True, check=True, text=True).stdout


def commands() -> None:
    """Play, solve, train, play with the trained model and audit, with known results."""
    log = ("--seed", "1", "--log", "log.jsonl", "--plot", "play.png")
    regrax("play", "weighted-rps", "--learners", "hedge(0.4479)", "--rounds", "20", *log)
    assert Path("play.png").stat().st_size > 10_000
    solved = json.loads(regrax("solve", "chicken", "--objective", "welfare", "--json"))
    assert abs(sum(solved["payoffs"]) - 10.5) < 1e-6, solved
    small = "--model linear --actions 3 --horizon 5 --steps 5 --batch 8 --out run"
    regrax("train", *small.split())
    seated = "--learners", 'checkpoint("run/seed-0")', "--rounds", "5", "--json"
    assert json.loads(regrax("play", "weighted-rps", *seated))["rounds"] == 5
    audited = json.loads(regrax("audit", "log.jsonl", "--json", "--html", "audit.html"))
    assert [agent["rounds"] for agent in audited["agents"]] == [20, 20]


def extras() -> list[str]:
    """Try each installed extra once."""
    import regrax as rx

    tried = []
    if find_spec("pyspiel"):
        back = rx.games.from_openspiel(rx.games.to_openspiel("chicken"))
        assert (back.payoffs == rx.games.chicken().payoffs).all()
        tried.append("open_spiel")
    if find_spec("flint"):
        assert "0.414906903355" in regrax(
            "certify", "--rigorous", "--actions", "2", "--horizon", "20"
        )
        tried.append("python-flint")
    if find_spec("pyarrow"):
        import pyarrow as pa
        import pyarrow.parquet as parquet

        rows = {"action": [0, 1], "losses": [[0.0, 1.0], [0.0, 1.0]]}
        parquet.write_table(pa.table(rows), "log.parquet")
        assert rx.audit_log("log.parquet").agents[0].rounds == 2
        tried.append("pyarrow")
    return tried


if __name__ == "__main__":
    main()
