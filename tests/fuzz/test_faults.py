"""The cases of the readers find faults: with any guard switched off, some file is treated otherwise.

`pytest -m slow tests/fuzz/test_faults.py -s` lists how many there are in each module.
"""

import pytest
from tests.fuzz.faults import faults_of, planted
from tests.fuzz.mutation import mutated
from tests.fuzz.readers import READERS

MUTATIONS = 30
GUARDED = {
    "regrax.games.formats._arrays": ("game.json", "game.npz"),
    "regrax.games.formats._nfg": ("game.nfg",),
    "regrax.games._game": ("game.json", "game.npz"),
    "regrax.specs": ("spec",),
    "regrax.checkpoints": ("checkpoint", "trained model"),
    "regrax.agents.audit.rows": ("log.jsonl", "log.csv"),
    "regrax.agents.audit.formats": ("log.jsonl", "log.csv"),
    "regrax.agents.audit.log": ("log.jsonl",),
    "regrax.agents.audit.layouts": ("layout.toml", "episodes.jsonl", "textarena.jsonl"),
    "regrax.experiments._store": ("kept result", "training.json", "metrics.jsonl"),
    "regrax.experiments.sweep._grid": ("sweep.toml",),
    "regrax.experiments.sweep._results": ("sweep.json",),
    "regrax.experiments.runs._config": ("sweep.toml",),
    "regrax.experiments.runs._measure": ("trained model",),
}
"""Which readers use the guards of a module."""
ELSEWHERE = {
    "game_to_nfg", "symmetric", "bimatrix", "_matrix", "as_learner", "as_game", "_calibrated", "Checkpoint.__init__",
    "file_of", "Row.exact_step_loss", "_write_table",
    "Store.held", "Store.check_folder", "_has_keys", "_check_text", "TrainConfig._check_choices",
    "_parquet_rows", "read_rows", "Log.check_usable", "RunFolder._claim", "RunFolder.check_unused", "row_of", "_parsed",
}  # fmt: skip
"""Functions of these modules that are no part of a reader's work on a file, or are tried by other tests."""


def outcome(reader, file, case):
    """What becomes of a file: what it is read as, or how it is refused."""
    file.write_bytes(case)
    try:
        return repr(reader.read(file))[:200]
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.slow
def test_every_seeded_fault_is_found(tmp_path):
    readers, before = {}, {}
    for name in READERS:
        (tmp_path / name).mkdir()
        readers[name] = READERS[name](tmp_path / name)
        file = tmp_path / name / f"case{readers[name].suffix}"
        cases = (*readers[name].bad, *(mutated(readers[name].data, s) for s in range(MUTATIONS)))
        before[name] = [(file, case, outcome(readers[name], file, case)) for case in cases]
    seeded, missed = 0, []
    for module, names in GUARDED.items():
        faults = [fault for fault in faults_of(module) if fault.function not in ELSEWHERE]
        seeded += len(faults)
        for fault in faults:
            with planted(fault):
                found = any(
                    outcome(readers[name], file, case) != usual
                    for name in names
                    for file, case, usual in before[name]
                )
            missed += [] if found else [str(fault)]
        print(f"{module}: {len(faults)} faults")
    print(f"{seeded - len(missed)} of {seeded} faults are found")
    assert not missed, "\n".join(missed)
    assert seeded >= 50
