"""The command `regrax step-size`."""

import json
import math

import pytest

from regrax.cli import main

pytestmark = pytest.mark.usefixtures("as_users_run_it")


def step_size(capsys, *arguments):
    main(["step-size", *arguments, "--json"])
    return json.loads(capsys.readouterr().out)


def test_the_step_and_the_losses_around_it(capsys):
    result = step_size(capsys, "--actions", "3", "--horizon", "20")
    assert abs(result["step_size"] - 0.447904905444) < 1e-12
    assert result["error"] < 1e-12
    assert result["scaled"] == result["step_size"] * math.sqrt(20)
    losses = [result[name] for name in ("optimal_loss", "loss", "uniform_loss")]
    assert [round(loss, 7) for loss in losses] == [14.6276164, 14.7940792, 18.8466223]


def test_an_infinite_horizon_gives_the_limits(capsys):
    result = step_size(capsys, "--actions", "3", "--horizon", "inf")
    assert result["step_size"] == result["scaled"]
    assert abs(result["scaled"] - 2.0488938) < 1e-7
    assert 0.7 < result["optimal_loss"] < result["loss"] < result["uniform_loss"] < 1


def test_the_ball_has_no_uniform_play(capsys):
    result = step_size(
        capsys, "--actions", "3", "--horizon", "20", "--operator", "ball", "--radius", "2"
    )
    assert abs(result["step_size"] - 2 * 0.1189416) < 1e-7
    assert result["uniform_loss"] is None
    assert result["optimal_loss"] < result["loss"]


def test_the_table_shows_all_digits(capsys):
    main(["step-size", "--actions", "3", "--horizon", "20"])
    out = capsys.readouterr().out
    assert "0.447904905444" in out
    assert "3 actions, 20 rounds, softmax" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--actions", "1", "--horizon", "20"), "actions must be an integer >= 2"),
        (("--actions", "3", "--horizon", "1"), "horizon must be an integer >= 2"),
        (("--actions", "3", "--horizon", "many"), "horizon must be an integer or inf"),
        (
            ("--actions", "3", "--horizon", "20", "--radius", "2"),
            "radius is only for operator='ball'",
        ),
        (("--actions", "3", "--horizon", "20", "--operator", "cube"), "--operator"),
    ],
)
def test_a_bad_option_is_one_line(capsys, arguments, message):
    with pytest.raises(SystemExit) as exit:
        main(["step-size", *arguments])
    assert exit.value.code == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
