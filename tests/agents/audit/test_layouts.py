"""Logs of other harnesses: field maps, chat messages, rows per episode, and games that give the losses."""

import json
from contextlib import suppress

import numpy as np
import pytest

from regrax.agents.audit import Layout, audit_log, layout_of, read_layout
from regrax.agents.audit.formats import MAX_RECORD_BYTES
from regrax.agents.audit.log import read_log
from regrax.cli import main
from regrax.games import matching_pennies, rock_paper_scissors
from regrax.regret import external_regret

pytestmark = pytest.mark.usefixtures("as_users_run_it")
RPS = ("rock", "paper", "scissors")


def write(path, rows):
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    return path


def chat(*answers):
    asked = {"role": "user", "content": "?"}
    said = [[asked, {"role": "assistant", "content": answer}] for answer in answers]
    return [message for pair in said for message in pair]


def test_a_field_map_equals_renamed_fields(tmp_path, capsys):
    rng = np.random.default_rng(0)
    plain = [
        {"episode": e, "round": t, "action": int(rng.integers(2)), "losses": rng.random(2).tolist()}
        for e in range(6) for t in range(1, 9)
    ]  # fmt: skip
    foreign = [
        {"game_id": f"g{r['episode']}", "info": {"turn": r["round"]}, "move": r["action"], "cost": r["losses"]}
        for r in plain
    ]  # fmt: skip
    first, second = write(tmp_path / "a.jsonl", plain), write(tmp_path / "b.jsonl", foreign)
    (tmp_path / "map.toml").write_text(
        '[fields]\nepisode = "game_id"\nround = "info.turn"\naction = "nothing"\n'
    )
    options = ["--fields", "action=move", "losses=cost", "--layout", str(tmp_path / "map.toml")]
    main(["audit", str(first), "--json"])
    main(["audit", str(second), *options, "--json"])
    one, other = map(json.loads, capsys.readouterr().out.splitlines())
    assert one["agents"] == other["agents"]


def test_answers_in_chat_messages_are_read(tmp_path):
    rows = [
        {"id": 1, "chat": chat("Rock!", "<think>paper?</think> scissors"), "cost": [[0, 1, 2], [1, 0, 2]]},
        {"id": 2, "chat": chat("I will not.", '{"action": 2}'), "cost": [[0, 1, 2], [1, 0, 2]]},
    ]  # fmt: skip
    layout = Layout({"episode": "id", "losses": "cost"}, messages="chat", actions=RPS)
    log = read_log(write(tmp_path / "log.jsonl", rows), layout=layout)
    assert log.bad == [("2", "none of think, regex, json, name, number can read the answer")]
    assert log.agents["agent"].answers == {"name": 1, "think+name": 1, "json": 1}
    played = np.concatenate([log.read("agent", "1"), log.read("agent", "2")])
    assert played[:, :3].tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1]]
    audit = audit_log(tmp_path / "log.jsonl", layout=layout)
    assert audit.agents[0].answers == {"name": 1, "think+name": 1, "json": 1}


def test_a_record_may_be_an_episode(tmp_path):
    columns = [{"episode": "e", "action": [0, 1, 1], "losses": [[0, 1], [1, 0], [2, 0]]}] * 2
    rounds = [
        {"episode": "e", "turns": [{"a": 0, "losses": [0, 1]}, {"a": 1, "losses": [1, 0]}, {"a": 1, "losses": [2, 0]}]}
    ] * 2  # fmt: skip
    for rows, layout in ((columns, Layout()), (rounds, Layout({"action": "a"}, rows="turns"))):
        log = read_log(write(tmp_path / "log.jsonl", rows), layout=layout)
        assert (log.rows, log.bad_rows) == (6, 0)
        assert list(log.agents["agent"].episodes) == ["e", "e#2"]  # the same name again


@pytest.mark.parametrize("together", [True, False])
def test_a_game_gives_the_losses_of_every_action(tmp_path, together):
    game, rng = rock_paper_scissors(), np.random.default_rng(1)
    plays = rng.integers(3, size=(5, 20, 2))
    rows = [
        {"episode": e, "round": t + 1, "agent": game.players[n], "action": RPS[plays[e, t, n]], "payoff": 0.0}
        for e, t, n in np.ndindex(5, 20, 2)
    ]  # fmt: skip
    if not together:
        rows.sort(key=lambda row: row["agent"])
    audit = audit_log(write(tmp_path / "log.jsonl", rows), game=game)
    for n, agent in enumerate(audit.agents):
        assert (agent.feedback, agent.actions) == ("full", RPS)
        losses = -np.moveaxis(game.payoffs[n], n, 0)[:, plays[..., 1 - n]]
        exact = [external_regret(np.eye(3)[plays[e, :, n]], losses[:, e].T) for e in range(5)]
        assert agent.regret["external"].total == pytest.approx(np.mean(exact))
    assert audit.gaps is not None


def test_a_row_may_give_the_others_actions(tmp_path, capsys):
    rows = [
        {"model": "m", "mine": "I say heads", "theirs": t} for t in ("tails", "heads", 1, ["tails"])
    ]
    fields = ["--fields", "agent=model", "action=mine", "others=theirs"]
    fields += ["--game", "matching-pennies"]
    main(["audit", str(write(tmp_path / "log.jsonl", rows)), *fields, "--json"])
    (agent,) = json.loads(capsys.readouterr().out)["agents"]
    assert (agent["agent"], agent["loss"]["total"]) == ("m", -1 + 3)
    assert agent["regret"]["external"]["total"] == 4


def test_verifiers_records(tmp_path):
    rows = [
        {"example_id": e, "prompt": chat("old")[:1], "completion": chat("heads", "tails"), "reward": 1.0, "info": {}}
        for e in (0, 0, 1)
    ]  # fmt: skip
    layout = Layout(format="verifiers", actions=("heads", "tails"))
    (agent,) = audit_log(write(tmp_path / "log.jsonl", rows), layout=layout).agents
    assert (agent.episodes, agent.rounds, agent.loss.total) == (3, 6, -1.0)
    assert agent.fractions == {"heads": 0.5, "tails": 0.5}
    assert agent.exploration is None  # one reward for all rounds says nothing of any of them
    assert "losses are the same in every round of an episode" in agent.notes


def test_received_losses_give_fractions_and_exploration(tmp_path, capsys):
    rng = np.random.default_rng(2)
    rows = []
    for e in range(20):
        for t in range(10):
            action = "good" if t == 0 else "bad"  # found and left
            payoff = float(action == "good") + 0.1 * rng.random()
            rows.append({"episode": e, "action": action, "payoff": payoff})
    path = write(tmp_path / "log.jsonl", rows)
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


GAME = [
    ({"agent": "x", "action": "heads"}, "player (or agent) must be one of"),
    ({"agent": 0, "action": 2}, "action must be from 0 to 1, got 2"),
    ({"agent": 0, "policy": [0.5, 0.5]}, "must give the action that was played"),
    ({"agent": 0, "action": "no"}, "can read the answer"),
    ({"agent": 0, "action": 0, "round": 1.5}, "round must be an integer >= 0, got 1.5"),
    ({"agent": 0, "action": 0, "others": [0, 1]}, "others must have 1 actions, got 2"),
    ({"agent": 0, "action": 0, "others": "[0.5, 0.5]"}, "others must be actions"),
    ({"agent": 0, "action": 0, "round": 1}, "its round must have an action from every player, got 1 of 2"),
]  # fmt: skip


@pytest.mark.parametrize(("row", "reason"), GAME)
def test_a_row_that_a_game_cannot_use_has_a_reason(tmp_path, row, reason):
    log = read_log(write(tmp_path / "log.jsonl", [row]), game=matching_pennies())
    ((_, why),) = log.bad
    assert reason in why


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ("[1]", "a record must be of type object, got int"),
        ("{", "not JSON"),
        ('"text"', "a record must be of type object"),
        (json.dumps({"turns": 3}), "turns must be a list of rounds, got 3"),
        ('{"turns": "' + "x" * MAX_RECORD_BYTES + '"}', f"longer than {MAX_RECORD_BYTES:,} bytes"),
    ],
)
def test_a_bad_record_has_a_reason(tmp_path, record, reason):
    log = read_log(write(tmp_path / "log.jsonl", [record]), layout=Layout(rows="turns"))
    ((_, why),) = log.bad
    assert reason in why or "a row must be of type object" in why


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


def test_bad_options_teach(tmp_path, capsys):
    path = write(tmp_path / "log.jsonl", [{"action": 0, "losses": [0, 1]}])
    for options, message in (
        (["--fields", "episode"], "--fields must be name=value, got episode"),
        (
            ["--parsers", "tea"],
            "parsers must be among think, regex, json, name, number, got 'tea'",
        ),
        (["--regex", "("], "regex must be a regular expression"),
        (["--game", "no-such-game"], "unknown game"),
    ):
        with pytest.raises(SystemExit) as stopped:
            main(["audit", str(path), *options])
        assert stopped.value.code == 2
        assert message in capsys.readouterr().err
    with pytest.raises(ValueError, match="a layout may only set"):
        layout_of({"x": 1})


def test_hostile_records_never_crash(tmp_path):
    rng, path = np.random.default_rng(3), tmp_path / "log.jsonl"
    values = [None, 0, 1, -1, 1.5, 1e308, "", "heads", "0", [], [1], {}, {"role": "assistant"}, [[0, "heads"]], True,
              chat("heads", "1"), ["heads", "tails"], {"0": 1}, "\ud800", 10**25]  # fmt: skip
    names = ["episode", "agent", "round", "action", "payoff", "losses", "others", "player", "chat", "turns", "logs",
             "rewards", "policy", "example_id", "completion"]  # fmt: skip
    layouts = [Layout(format="textarena", actions=("heads", "tails")), Layout(format="verifiers"), Layout(),
               Layout(rows="turns"), Layout(messages="chat", actions=("heads", "tails"))]  # fmt: skip
    for _ in range(600):
        rows = []
        for _ in range(4):
            fields = rng.choice(len(names), rng.integers(1, 7))
            rows.append({names[name]: values[rng.integers(len(values))] for name in fields})
        layout = layouts[rng.integers(len(layouts))]
        game = [None, matching_pennies()][rng.integers(2)]
        with suppress(ValueError):  # nothing names the actions
            read_log(write(path, rows), layout=layout, game=game)


def test_large_fields_are_not_copied_into_every_round(tmp_path):
    many = 20_000
    record = {"action": [0] * many, "loss": [1.0] * many, "losses": [0.0] * (many - 1)}
    log = read_log(write(tmp_path / "log.jsonl", [record]), layout=Layout())
    assert (log.rows, log.bad_rows) == (many, 0)
    square = {"action": [0, 1], "losses": [0.0, 1.0]}  # as many rounds as actions
    log = read_log(write(tmp_path / "log.jsonl", [square]), layout=Layout())
    assert (log.rows, log.bad_rows) == (2, 0)
