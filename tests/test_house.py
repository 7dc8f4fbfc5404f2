"""The top-level names: each loads, is documented and shows how it is used."""

import inspect
from pathlib import Path

import pytest

import regrax

DOCS = Path(regrax.__file__).parents[2] / "docs"
CALLABLES = [name for name in regrax.__all__ if callable(getattr(regrax, name))]
NO_EXAMPLE = {"BanditLearner", "HostLearner", "Learner", "TrainableLearner", "Trajectory"}


@pytest.mark.parametrize("name", CALLABLES)
def test_a_public_name_has_a_docstring_with_an_example(name):
    text = inspect.getdoc(getattr(regrax, name)) or ""
    assert text
    assert ">>>" in text or name in NO_EXAMPLE


def test_every_public_name_is_in_the_docs():
    pages = "".join(page.read_text() for page in DOCS.glob("*.md"))
    assert not [name for name in regrax.__all__ if name not in pages]


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nope"):
        _ = regrax.nope
