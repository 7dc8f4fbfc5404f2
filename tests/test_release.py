"""What is released: the wheel holds the package's files and nothing else, is small, and has one version."""

import io
import re
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder
from tools.versions import lower_bounds

import regrax

ROOT = Path(__file__).parent.parent
MAX_WHEEL_BYTES = 2_000_000


@pytest.fixture(scope="module")
def tracked():
    done = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git clone: which files belong to the package is not known")
    return {file for file in done.stdout.split() if (ROOT / file).exists()}


def built(builder, folder):
    return Path(next(builder(str(ROOT)).build(directory=str(folder), versions=["standard"])))


def test_the_wheel_contains_only_the_package(tmp_path, tracked):
    wheel = built(WheelBuilder, tmp_path)
    assert wheel.stat().st_size < MAX_WHEEL_BYTES
    names = zipfile.ZipFile(wheel).namelist()
    inside = {f"src/{name}" for name in names if name.startswith("regrax/")}
    assert inside == tracked
    about = f"regrax-{regrax.__version__}.dist-info/"
    assert {name for name in names if not name.startswith("regrax/")} == {
        about + name
        for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
    }


def test_the_source_distribution_builds_the_wheel(tmp_path, tracked):
    data = built(SdistBuilder, tmp_path).read_bytes()
    with tarfile.open(fileobj=io.BytesIO(data)) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    assert tracked | {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"} <= names


def test_the_version_is_the_same_everywhere():
    version = regrax.__version__
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dynamic"] == ["version"]
    cited = dict(
        re.findall(r"^(version|date-released): (.*)$", (ROOT / "CITATION.cff").read_text(), re.M)
    )
    changed = re.search(r"^## \[([\d.]+)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert (version, cited["date-released"]) == changed.groups()
    assert cited["version"] == version


def test_every_dependency_has_a_lower_bound_that_is_tried():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    bounds = lower_bounds(project)
    assert len(bounds) >= len(project["dependencies"])
    assert all(re.fullmatch(r"[\w-]+==[\d.]+", bound) for bound in bounds)
