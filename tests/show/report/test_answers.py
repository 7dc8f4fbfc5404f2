"""Reports open with the answer: a badge and one plain sentence, before anything else."""

import html
import json
import re
from types import SimpleNamespace

import pytest

from regrax.agents.audit import audit_log, compare_logs
from regrax.show.report import audit_page, compare_page, posttrain_page


def answers(page):
    """Return the badge and the sentence of each answer, and check that they come first."""
    head, body = re.split(r"<ul class=\"answers[^>]*>", page, maxsplit=1)
    assert "<p>" not in head
    items = re.findall(r"<li>(.*?)</li>", body.partition("</ul>")[0])
    found = [re.fullmatch(r'<span class="badge \w+">(.*?)</span> (.*)', item) for item in items]
    return [tuple(html.unescape(part) for part in match.groups()) for match in found]


@pytest.fixture
def logged(tmp_path):
    """Write a log of agents that play one action each for eight episodes; paper always loses 1 less."""

    def write(**agents):
        rows = []
        for agent, action in agents.items():
            for episode in range(8):
                losses = {"rock": 1 + episode % 3, "paper": episode % 3}
                row = {"agent": agent, "episode": episode, "action": action, "losses": losses}
                rows += 10 * [json.dumps(row)]
        path = tmp_path / "log.jsonl"
        path.write_text("\n".join(rows))
        return path

    return write


def test_an_audit_opens_with_its_verdict(logged):
    page = audit_page(audit_log(logged(steady="paper", rocky="rock")), "log.jsonl")
    assert answers(page) == [
        (
            "no regret",
            "steady does as well as the best single action: its regret was 0 per round in the first half of an "
            "episode and 0 in the second.",
        ),
        (
            "not learning",
            "rocky is not learning: its regret was 1 per round in the first half of an episode and 1 in the second.",
        ),
    ]
    assert "2 actions (rock, paper)" in page
    assert "when it played rock, paper would have saved 1 per round" in page


def test_a_comparison_opens_with_the_difference(logged):
    path = logged(steady="paper", rocky="rock")
    found = compare_logs([path], measure="loss")
    assert answers(compare_page(found)) == [
        ("worse", "rocky loses 10 more per episode than steady.")
    ]
    again = compare_logs([logged(one="rock", two="rock")])
    (answer,) = answers(compare_page(again))
    assert answer[0] == "no clear difference"


def test_a_comparison_of_several_opens_with_the_ranking(logged):
    found = compare_logs([logged(steady="paper", rocky="rock", also="rock")])
    badges, sentences = zip(*answers(compare_page(found)), strict=True)
    assert badges == tuple(f"rank {agent.ranks()}" for agent in found.ranking())
    assert sentences[0] == "steady regrets 0 per episode (0 to 0)."


TRAINED = {
    10.4: ("no clear difference", "10.40 ± 0.20, not distinguishable from before (10.00 ± 0.30)."),
    8.0: ("better", "8.00 ± 0.20, down from 10.00 ± 0.30."),
    12.0: ("worse", "12.00 ± 0.20, up from 10.00 ± 0.30."),
}


@pytest.mark.parametrize("after", TRAINED)
def test_post_training_opens_with_before_and_after(after):
    def player(name, squared, squared_error):
        curves = {"curve": [1.0, 2.0], "squared_curve": [1.0, squared], "leader": [0.5, 0.6]}
        numbers = {"regret": 3.0, "regret_error": 0.1, "squared": squared, "step": 1, "distance": 0}
        return SimpleNamespace(name=name, squared_error=squared_error, **numbers, **curves)

    players = [player("before", 10.0, 0.3), player("after", after, 0.2)]
    explored = SimpleNamespace(suffix_failure=0.1, minimum_fraction=0.2, greedy_fraction=0.3)
    comparison = SimpleNamespace(
        task=SimpleNamespace(name="gaussian", d=2, rounds=2, feedback="full"),
        reactive=False,
        sequences=100,
        trained_on=SimpleNamespace(players=players, share=0.5, share_error=0.1),
        elsewhere=(),
        language=SimpleNamespace(text="sentences", tokens=50, kl=0.1, before=9.0, after=9.1),
        odds=([(0.0, 0.0), (1.0, -1.0)], []),
        valid=(1.0, 1.0),
        exploration=(explored, explored),
        player=lambda name: next(one for one in players if one.name == name),
    )
    page = posttrain_page(comparison, "tiny", "regret")
    badge, words = TRAINED[after]
    assert answers(page) == [(badge, f"After training, squared regret is {words}")]
    assert page.count("<svg") == 5
