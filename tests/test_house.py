"""The top-level names: each loads and has a docstring with an example."""

import inspect

import pytest

import regrax

CALLABLES = [name for name in regrax.__all__ if callable(getattr(regrax, name))]
NO_EXAMPLE = {"BanditLearner", "HostLearner", "Learner", "TrainableLearner", "Trajectory"}


@pytest.mark.parametrize("name", CALLABLES)
def test_a_public_name_has_a_docstring_with_an_example(name):
    text = inspect.getdoc(getattr(regrax, name)) or ""
    assert text
    assert ">>>" in text or name in NO_EXAMPLE


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nope"):
        _ = regrax.nope
