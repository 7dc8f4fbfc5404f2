"""Results as CSV, LaTeX and data frames."""

import csv
import io
import itertools
import json
import pickle
import sys

import jax
import numpy as np
import pytest

import regrax as rx


def test_a_trajectory_has_a_row_per_round_player_and_action():
    played = rx.play("chicken", "exp3(0.1)", 3, key=jax.random.key(0))
    table = played.columns()
    assert {len(column) for column in table.values()} == {12}
    mine = (table["round"] == 2) & (table["player"] == 1)
    np.testing.assert_array_equal(table["probability"][mine], played.policies[1][1])
    np.testing.assert_array_equal(table["loss"][mine], played.losses[1][1])
    assert np.flatnonzero(table["drawn"][mine]).tolist() == [int(played.actions[1][1])]
    rows = list(csv.DictReader(io.StringIO(played.to_csv())))
    assert [float(row["loss"]) for row in rows] == table["loss"].tolist()


def test_a_game_of_two_is_a_bimatrix_and_others_have_a_row_per_joint_action():
    game = rx.games.bimatrix(
        [[3, 0, 1], [5, 1, 2]], [[3, 5, 0], [0, 1, 9]], actions=(["u", "d"], ["l", "m", "r"])
    )
    assert r"u & 3, 3 & 0, 5 & 1, 0 \\" in game.to_latex()
    assert r"d & 5, 0 & 1, 1 & 2, 9 \\" in game.to_latex()
    assert r"heads & heads & tails & 1 & -1 & 1 \\" in rx.games.jordan().to_latex()
    profile = rx.solve("chicken", "ce", "welfare").to_latex()
    assert r"swerve & swerve & 0.5 \\" in profile
    assert profile.startswith(r"\begin{tabular}{llr}")


def test_latex_escapes_names_and_leaves_missing_numbers_blank():
    game = rx.Game(np.zeros((2, 2, 2)), actions=[["50 & more", "{x}\\"]] * 2)
    table = rx.solve(game).to_latex()
    assert r"50 \& more" in table or r"\{x\}\textbackslash{}" in table
    failed = rx.round_robin(["optimal(2)", "uniform()"], ["chicken"], 3).to_latex()
    assert "nan" not in failed


FORMULAS = ("=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "=HYPERLINK(0)")


@pytest.mark.parametrize("formula", FORMULAS)
def test_no_cell_of_a_csv_is_a_formula(formula, tmp_path):
    names = {"actions": [[formula, "b"]] * 2, "players": (formula, "p")}
    game = rx.Game(np.zeros((2, 2, 2)), **names)
    log = tmp_path / "log.jsonl"
    row = {"agent": formula, "action": 0, "losses": [0.0, 1.0]}
    log.write_text("\n".join(json.dumps(row) for _ in range(3)))
    for table in (game, rx.solve(game), rx.audit_log(log)):
        for cell in itertools.chain(*csv.reader(io.StringIO(table.to_csv()))):
            assert not cell.startswith(("=", "+", "@", "\t", "-1+")), cell


def test_results_show_themselves_in_a_notebook():
    found = rx.round_robin(["hedge(0.1)"], ["chicken"], 2)
    for result in (rx.games.chicken(), rx.solve("chicken"), found):
        assert "<tr><th>" in result._repr_html_()
    assert "<td>hedge(0.1)</td>" in found._repr_html_()
    hostile = rx.Game(np.zeros((2, 2, 2)), players=("<b>", "<i>"))
    assert "&lt;b&gt;" in hostile._repr_html_()


def test_a_game_is_shown_as_its_bimatrix():
    game = rx.games.chicken()
    assert str(game).splitlines() == [
        "chicken: player 1 (rows), player 2 (columns)",
        "        swerve  dare",
        "swerve  6, 6    2, 7",
        "dare    7, 2    0, 0",
    ]
    assert "<tr><td>dare</td><td>7, 2</td><td>0, 0</td></tr>" in game._repr_html_()
    assert repr(game) == "chicken"
    assert len(str(rx.games.random(99, 99))) < 100
    assert str(rx.games.jordan()).count("\n") == 9


@pytest.mark.parametrize("keep", ["all", "summary"])
def test_a_play_shows_its_game_learners_and_numbers(keep, x64):
    played = rx.play("chicken", ["hedge(0.1)", "uniform()"], 20, keep=keep)
    regret = played.summary().regrets() if keep == "all" else played.regrets()
    gap = rx.cce_gap(played.joint, "chicken")
    for text in (repr(played), played._repr_html_()):
        for part in ("chicken, 20 rounds", "hedge(0.1)", f"{regret[1]:.4g}", f"CCE {gap:.4g}"):
            assert part in text
    assert played._repr_html_().count("<svg") == (2 if keep == "all" else 0)


def test_the_shown_game_is_no_part_of_the_tuple():
    played = rx.play("chicken", "hedge(0.1)", 3)
    policies, losses, actions, joint = played
    again = rx.Trajectory(policies, losses, actions, joint)
    assert jax.tree.structure(again) == jax.tree.structure(played)
    assert repr(again).startswith("3 rounds")
    assert "chicken" in repr(pickle.loads(pickle.dumps(played)))
    with pytest.raises(AttributeError):
        played.joint = None
    jax.jit(
        lambda: repr(rx.play("chicken", "hedge(0.1)", 3)) and 0
    )()  # traced values have no numbers


def test_without_pandas_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas, or use to_csv instead"):
        rx.solve("chicken").to_pandas()


@pytest.mark.extras
def test_data_frames():
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = rx.play("chicken", "hedge(0.1)", 3).to_pandas()
    assert frame.groupby(["round", "player"])["probability"].sum().round(6).eq(1).all()
    assert list(rx.solve("chicken").to_pandas()) == ["player 1", "player 2", "probability"]
