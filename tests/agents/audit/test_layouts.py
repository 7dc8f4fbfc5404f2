"""Logs of other harnesses: field maps, chat messages, rows per episode, and games that give the losses."""

import json

import numpy as np
import pytest
from tests.agents.audit.rows import rows_of

from regrax.agents.audit import Layout, audit_log, layout_of, read_layout
from regrax.agents.audit.formats import MAX_LINE_BYTES
from regrax.agents.audit.read import read_log
from regrax.cli import main
from regrax.games import matching_pennies, rock_paper_scissors
from regrax.regret import external_regret

RPS = ("rock", "paper", "scissors")
COIN = ("heads", "tails")


def chat(*answers):
    messages = []
    for answer in answers:
        messages += [{"role": "user", "content": "?"}, {"role": "assistant", "content": answer}]
    return messages


def test_a_field_map_equals_renamed_fields(write, tmp_path, capsys):
    rng = np.random.default_rng(0)
    plain = rows_of(action=rng.integers(2, size=(6, 8)), losses=rng.random((6, 8, 2)))
    foreign = []
    for row in plain:
        episode, turn, move, cost = (row[key] for key in ("episode", "round", "action", "losses"))
        foreign.append({"game": f"g{episode}", "info": {"turn": turn}, "move": move, "cost": cost})
    layout = tmp_path / "map.toml"
    layout.write_text('[fields]\nepisode = "game"\nround = "info.turn"\naction = "nothing"\n')
    options = ["--fields", "action=move", "losses=cost", "--layout", str(layout)]
    main(["audit", str(write(plain)), "--json"])
    main(["audit", str(write(foreign)), *options, "--json"])
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["agents"] == second["agents"]


def test_answers_in_chat_messages_are_read(write):
    cost = [[0, 1, 2], [1, 0, 2]]
    rows = [
        {"id": 1, "chat": chat("Rock!", "<think>paper?</think> scissors"), "cost": cost},
        {"id": 2, "chat": chat("I will not.", '{"action": 2}'), "cost": cost},
    ]
    layout = Layout({"episode": "id", "losses": "cost"}, messages="chat", actions=RPS)
    path = write(rows)
    log = read_log(path, layout=layout)
    assert log.bad == [("2", "none of think, regex, json, name, number can read the answer")]
    played = np.concatenate([log.agents["agent"].read("1"), log.agents["agent"].read("2")])
    assert played[:, :3].tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1]]
    answers = audit_log(path, layout=layout).agents[0].answers
    assert answers == log.agents["agent"].answers == {"name": 1, "think+name": 1, "json": 1}


COLUMNS = {"episode": "e", "action": [0, 1, 1], "losses": [[0, 1], [1, 0], [2, 0]]}
TURNS = [{"a": 0, "losses": [0, 1]}, {"a": 1, "losses": [1, 0]}, {"a": 1, "losses": [2, 0]}]


@pytest.mark.parametrize(
    ("record", "layout"),
    [
        (COLUMNS, Layout()),
        ({"episode": "e", "turns": TURNS}, Layout({"action": "a"}, rows="turns")),
    ],
)
def test_a_record_may_be_an_episode(write, record, layout):
    log = read_log(write([json.dumps(record, indent=1).encode()], "log.json"), layout=layout)
    assert log.rows == 3
    log = read_log(write([record] * 2), layout=layout)
    assert (log.rows, log.bad_rows) == (6, 0)
    assert list(log.agents["agent"].episodes) == ["e", "e#2"]  # the same name again


@pytest.mark.parametrize("together", [True, False])
def test_a_game_gives_the_losses_of_every_action(write, together):
    game = rock_paper_scissors()
    plays = np.random.default_rng(1).integers(3, size=(5, 20, 2))
    rows = []
    for n, player in enumerate(game.players):
        own = rows_of(action=np.array(RPS)[plays[..., n]], fields={"agent": player, "payoff": 0.0})
        rows += own
    if together:
        rows.sort(key=lambda row: (row["episode"], row["round"]))
    audit = audit_log(write(rows), game=game)
    for n, agent in enumerate(audit.agents):
        assert (agent.feedback, agent.actions) == ("full", RPS)
        losses = -np.moveaxis(game.payoffs[n], n, 0)[:, plays[..., 1 - n]]
        exact = [external_regret(np.eye(3)[plays[e, :, n]], losses[:, e].T) for e in range(5)]
        assert agent.regret["external"].total == pytest.approx(np.mean(exact))
    assert audit.gaps is not None


def test_a_row_may_give_the_others_actions(write, capsys):
    others = ("tails", "heads", 1, ["tails"])
    rows = [{"model": "m", "mine": "I say heads", "theirs": theirs} for theirs in others]
    fields = ["--fields", "agent=model", "action=mine", "others=theirs"]
    main(["audit", str(write(rows)), *fields, "--game", "matching-pennies", "--json"])
    (agent,) = json.loads(capsys.readouterr().out)["agents"]
    assert (agent["agent"], agent["loss"]["total"]) == ("m", -1 + 3)
    assert agent["regret"]["external"]["total"] == 4


def test_an_episode_may_have_a_single_reward(write):
    chats = {"prompt": chat("old")[:1], "completion": chat(*COIN), "reward": 1.0, "info": {}}
    layout = Layout(format="verifiers", actions=COIN)
    path = write([{"example_id": e, **chats} for e in (0, 0, 1)])
    (agent,) = audit_log(path, layout=layout).agents
    assert (agent.episodes, agent.rounds, agent.loss.total) == (3, 6, -1.0)
    assert agent.fractions == {"heads": 0.5, "tails": 0.5}
    assert agent.exploration is None  # one reward for all rounds says nothing of any of them
    assert "losses are the same in every round of an episode" in agent.notes


def test_received_losses_give_fractions_and_exploration(write, tmp_path, capsys):
    payoff = 0.1 * np.random.default_rng(2).random((20, 10))
    payoff[:, 0] += 1
    action = np.array([["good"] + 9 * ["bad"]] * 20)  # found and left
    path = write(rows_of(action=action, payoff=payoff))
    (agent,) = audit_log(path).agents
    assert (agent.feedback, agent.regret) == ("received", {})
    assert agent.fractions == {"good": 0.1, "bad": 0.9}
    assert agent.exploration["suffix_failure"] == 1
    assert agent.exploration["minimum_fraction"] == pytest.approx(0.2)
    assert agent.loss.low < agent.loss.total < agent.loss.high
    assert "log the losses of every action or the propensity" in agent.learning.words
    main(["audit", str(path), "--html", str(tmp_path / "page.html")])
    assert "played: bad 90.0%, good 10.0%" in capsys.readouterr().out
    assert "Played: good 10.0%, bad 90.0%." in (tmp_path / "page.html").read_text()


GAME = {"game": matching_pennies()}
TURNED = {"layout": Layout(rows="turns")}
LONG = b'{"turns": "' + b"x" * MAX_LINE_BYTES + b'"}'
BAD = [
    (GAME, {"agent": "x", "action": "heads"}, "player (or agent) must be one of"),
    (GAME, {"agent": 0, "action": 2}, "action must be from 0 to 1, got 2"),
    (GAME, {"agent": 0, "policy": [0.5, 0.5]}, "must give the action that was played"),
    (GAME, {"agent": 0, "action": "no"}, "can read the answer"),
    (GAME, {"agent": 0, "action": 0, "round": 1.5}, "round must be an integer >= 0, got 1.5"),
    (GAME, {"agent": 0, "action": 0, "others": [0, 1]}, "others must have 1 actions, got 2"),
    (GAME, {"agent": 0, "action": 0, "others": "[0.5, 0.5]"}, "others must be actions"),
    (GAME, {"agent": 0, "action": 0, "round": 1}, "an action from every player, got 1 of 2"),
    (TURNED, b"[1]", "a row must be of type object"),
    (TURNED, b"{", "not JSON"),
    (TURNED, b'"text"', "a row must be of type object"),
    (TURNED, {"turns": 3}, "turns must be a list of rounds, got 3"),
    (TURNED, LONG, f"longer than {MAX_LINE_BYTES:,} bytes"),
]


@pytest.mark.parametrize(("options", "record", "reason"), BAD)
def test_a_record_that_cannot_be_used_has_a_reason(write, options, record, reason):
    ((_, why),) = read_log(write([record]), **options).bad
    assert reason in why


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fields = 3", "map.toml: fields must be of type object, got int"),
        ("[fields]\nepisode = 3", r"fields\[...\] must be of type str, got int"),
        ("[fields]\ncolour = 'x'", "fields must be among episode, .*, got 'colour'"),
        ("colour = 'x'", "may only set fields, rows, messages, .*, got 'colour'"),
        ("format = 'x'", "format must be one of inspect, rows, textarena, verifiers, got 'x'"),
        ("= 3", "must be valid TOML"),
        ("a = " + "[" * 5000, "must be valid TOML"),
        ("actions = ['a', 3]", r"actions\[1\] must be of type str, got int"),
        ("#" * (1 << 21), "must have at most 1,048,576 bytes"),
    ],
)
def test_bad_layouts_teach(tmp_path, text, message):
    (tmp_path / "map.toml").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_layout(tmp_path / "map.toml")
    with pytest.raises(ValueError, match="a layout may only set"):
        layout_of({"x": 1})


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--fields=episode", "--fields must be name=value, got episode"),
        ("--parsers=tea", "parsers must be among think, regex, json, name, number, got 'tea'"),
        ("--regex=(", "regex must be a regular expression"),
        ("--game=no-such-game", "unknown game"),
    ],
)
def test_bad_options_teach(write, capsys, option, message):
    with pytest.raises(SystemExit) as stopped:
        main(["audit", str(write([{"action": 0, "losses": [0, 1]}])), option])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


MANY = {"action": [0] * 20_000, "loss": [1.0] * 20_000, "losses": [0.0] * 19_999}
SQUARE = {"action": [0, 1], "losses": [0.0, 1.0]}  # as many rounds as actions


@pytest.mark.parametrize(("record", "rounds"), [(MANY, 20_000), (SQUARE, 2)])
def test_large_fields_are_not_copied_into_every_round(write, record, rounds):
    log = read_log(write([record]), layout=Layout())
    assert (log.rows, log.bad_rows) == (rounds, 0)
