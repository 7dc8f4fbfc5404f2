"""Every reader of files on changed files: a result or one ValueError, and nothing else.

At least a third of each format's cases must pass its first check, so that what lies behind it is tried as well.
"""

import zipfile

import jax
import pytest
from tests.fuzz.mutation import mutated
from tests.fuzz.readers import READERS, SPECS, archive, header, passes, refusal, repacked

from regrax.agents.audit.read import read_log
from regrax.checkpoints import load_model, read_contents
from regrax.games import FORMATS

pytestmark = pytest.mark.usefixtures("as_users_run_it")  # types are checked by the readers alone

FEW, MANY = 50, 1650
MAX_MESSAGE = 1000


def tried(name, folder, seeds):
    """How many of the cases passed the first check; each is read, or refused by a ValueError of one sentence."""
    reader = READERS[name](folder)
    file = folder / f"case{reader.suffix}"
    passed = 0
    for seed in seeds:
        case = mutated(reader.data, seed)
        passed += passes(reader.first_check, case)
        file.write_bytes(case)
        assert len(refusal(reader.read, file)) < MAX_MESSAGE, seed
    return passed


@pytest.mark.parametrize("name", READERS)
def test_invalid_files_raise(name, tmp_path):
    reader = READERS[name](tmp_path)
    file = tmp_path / f"case{reader.suffix}"
    file.write_bytes(reader.data)
    assert refusal(reader.read, file) == ""
    for case in reader.bad:
        file.write_bytes(case)
        assert 0 < len(refusal(reader.read, file)) < 3 * MAX_MESSAGE, case[:200]


@pytest.mark.parametrize("name", READERS)
def test_changed_files_are_read_or_refused(name, tmp_path):
    passed = tried(name, tmp_path, range(FEW))
    assert passed >= FEW / 3, passed


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_many_changed_files_are_read_or_refused(name, tmp_path):
    passed = tried(name, tmp_path, range(FEW, FEW + MANY))
    print(
        f"{name}: {passed:,} of {MANY:,} cases passed the first check, of {MANY * len(READERS):,} cases in all"
    )
    assert MANY * len(READERS) >= 20_000
    assert passed >= MANY / 3, passed


@pytest.mark.parametrize("parse", SPECS, ids=lambda parse: parse.__name__)
def test_changed_specs_are_read_or_refused(parse):
    for seed in range(2 * FEW):
        text = mutated(SPECS[parse].encode(), seed).decode("utf-8", "replace")
        assert len(refusal(parse, text)) < MAX_MESSAGE


def test_oversized_archives_raise_before_allocation():
    squeezed = {"compression": zipfile.ZIP_DEFLATED}
    for data in (
        archive(("payoffs.npy", header((2, 2**14, 2**14)) + bytes(2**20)), **squeezed),
        archive(("payoffs.npy", header((2, 2**40, 2**4)))),
    ):
        with pytest.raises(ValueError, match=r"payoffs must be an array of at most .* bytes"):
            FORMATS[".npz"].read(data)


def test_members_that_are_not_needed_are_not_read(tmp_path):
    file = tmp_path / "game.npz"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("payoffs.npy", header((2, 2, 2)) + bytes(64))
        made.writestr("bomb.npy", bytes(2**28))
    assert FORMATS[".npz"].read(file.read_bytes()).sizes == (2, 2)


def test_a_wide_csv_header_is_read_in_linear_time(tmp_path):
    names = ",".join(f"c{n}" for n in range(100_000))
    (tmp_path / "wide.csv").write_text(f"{names}\n{names}\n")
    assert read_log(tmp_path / "wide.csv").bad_rows == 1


def test_the_header_of_a_checkpoint_is_checked_before_anything_is_built(tmp_path):
    data = READERS["checkpoint"](tmp_path).data
    changed = repacked(data, lambda about, top: about["settings"].update(actions=10**6))
    assert read_contents(changed, tmp_path).about["settings"]["actions"] == 10**6
    (tmp_path / "m.safetensors").write_bytes(changed)
    with jax.check_tracer_leaks(False), pytest.raises(ValueError, match="does not match"):
        load_model(tmp_path / "m")
