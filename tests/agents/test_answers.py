"""Reading answers: every style by its parser, nothing guessed, and no answer that takes long to read."""

import numpy as np
import pytest

from regrax.agents import AnswerReader, Expression

pytestmark = pytest.mark.usefixtures("as_users_run_it")
COINS = ("heads", "tails")
THREE = ("0", "1", "2")
ONE_TO_THREE = ("1", "2", "3")


@pytest.mark.parametrize(
    ("text", "names", "policy"),
    [
        (" 2\n", THREE, [0, 0, 1]),
        ('{"action": 0}', THREE, [1, 0, 0]),
        ("[0.25, 0.25, 0.5]", THREE, [0.25, 0.25, 0.5]),
        ('```json\n{"policy": [0, 1, 0]}\n```', THREE, [0, 1, 0]),
        ("[0.33, 0.33, 0.33]", THREE, [1 / 3] * 3),
        ("Answer: 2", ONE_TO_THREE, [0, 1, 0]),
        ("2", ONE_TO_THREE, [0, 1, 0]),
    ],
)
def test_actions_and_distributions_are_read(text, names, policy):
    np.testing.assert_allclose(AnswerReader().read(text, names), policy)


@pytest.mark.parametrize(
    ("text", "action", "parser"),
    [
        ("Let me think ... Final answer: 1", 1, "number"),
        ("heads", 0, "name"),
        ("**Tails!**", 1, "name"),
        ("I would take action 1.", 1, "number"),
        ("I choose 1, since action 0 lost more.", 1, "number"),
        ("heads lost more than tails, so my choice is: tails rather than heads", 1, "name"),
        ("Heads lost 0.7 and tails 0.2.\nFinal answer:\n\n**tails**", 1, "name"),
        ("[tails]", 1, "name"),
        ("<think>heads? or [0.5, 0.5]?</think>\ntails", 1, "think+name"),
        ("<think>0</think> I say 1", 1, "think+number"),
        ('Here you are: {"reasoning": "it lost less", "action": "Heads"}. Good luck!', 0, "json"),
        ('Sure!\n```json\n{"action": 1}\n```\nIt has been best.', 1, "json"),
        ('{"move": "tails"}', 1, "json"),
        ('{"heads": 0.0, "tails": 1.0}', 1, "json"),
        ('{"policy": {"tails": 1, "heads": 0}}', 1, "json"),
        ("Rounds 1 to 12 say so: 1", 1, "number"),
        ('"1"', 1, "json"),
    ],
)
def test_each_style_is_read_by_its_parser_and_counted(text, action, parser):
    reader = AnswerReader()
    assert reader.read(text, COINS).argmax() == action
    assert reader.last == "+".join(reader.counts) == parser


@pytest.mark.parametrize(
    "text",
    [
        "", "3", "-1", "1.5", "true", "null", "I cannot help.", "[1, 0]", "[0.5, 0.5, 0.5]", "I cannot choose.",
        "[1, 0, NaN]", "[2, -1, 0]", '{"action": 1, "policy": [1, 0, 0]}', '{"colour": 1}', "[" * 100_000,
        "[1, 0, true]", "[[1, 0, 0]]", "1" * 5000, '{"action": [1]}', "<think>1", "2 <think> or 1", "answer: 7",
        "50 %", "So it is 0.5", '{"action": {"action": 1}}', "r2d2", '{"policy": [0.1, 0.2]} or action 1',
    ],
)  # fmt: skip
def test_refusals_and_nonsense_are_never_guessed_at(text):
    reader = AnswerReader()
    with pytest.raises(ValueError, match=r"action|distribution|can read the answer"):
        reader.read(text, THREE)
    assert reader.counts["unread"] == 1


def test_names_that_are_numbers_are_no_indices():
    with pytest.raises(ValueError, match="action"):
        AnswerReader().read("0", ONE_TO_THREE)


def test_an_expression_comes_first_and_searches_the_end():
    reader = AnswerReader(regex=r"move (\d)")
    assert reader.read("move 0, move 1; the answer is 0", COINS).argmax() == 1
    assert reader.read("move 1" + " " * 5000 + "the answer is 0", COINS).argmax() == 0
    assert dict(reader.counts) == {"regex": 1, "number": 1}
    assert Expression("b+").first("a bb b", 1.0) == "bb"
    assert Expression("(b)|a").last("a", 1.0) is None


def test_an_expression_that_never_ends_is_stopped():
    reader = AnswerReader(("regex",), regex=r"(a|aa|b)+$")
    evil = "a" * 80 + "c"
    for _ in range(2):
        with pytest.raises(ValueError, match=r"regex took more than 0.2 s on the answer"):
            reader.read(evil, ("a", "b"), 0.2)
    assert reader.read("b a", ("a", "b"), 5.0).argmax() == 0
    with pytest.raises(TimeoutError, match="on 3 answers"):
        reader.read(evil, ("a", "b"), 0.2)


@pytest.mark.parametrize(
    "pattern",
    ["(", "a" * 1001, "a{99999999999999999999}", "(((a{1000}){9,999}){,999})", "(a{9999}){9999,}"],
)
def test_bad_expressions_are_rejected(pattern):
    with pytest.raises(ValueError, match="regex must be a regular expression"):
        Expression(pattern)


@pytest.mark.parametrize(
    "inner",
    ["\n" * 5_000, "\n " * 200_000, "`" * 400_000, "json\n" * 100_000, "[" * 400_000, "{" * 400_000,
     "a1 " * 100_000, "answer " * 60_000, "9" * 400_000, "-9." * 100_000, "</think>" * 50_000],
)  # fmt: skip
@pytest.mark.parametrize("fence", ["```", "```json\n", ""])
def test_long_answers_do_not_make_a_parser_backtrack(fence, inner):
    with pytest.raises(
        ValueError, match=r"neither an action nor a distribution|can read the answer"
    ):
        AnswerReader().read(fence + inner, THREE)
