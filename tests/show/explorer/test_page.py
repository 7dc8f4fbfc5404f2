"""The explorer in a real browser, used as a person uses it."""

import itertools
import json
import re
import shlex
import subprocess
import sys
import time
import xml.etree.ElementTree as tree
from pathlib import Path

import jax
import numpy as np
import pytest
from tests.show.explorer.golden import GAPS as NAMED, begun

import regrax as rx
from regrax.games import zero_sum
from regrax.show.explorer import explore, page

MAX_PAGE_BYTES = 700_000
SHOTS = Path(__file__).parents[3] / "out" / "screenshots"
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
GAPS = "Object.fromEntries(Object.entries(regrax.app.run.gaps).map(([k, s]) => [k, s.at(s.length - 1)]))"


def drag(opened, locator, dx, dy):
    """Drag an element by its centre."""
    x, y = middle(locator)
    opened.mouse.move(x, y)
    opened.mouse.down()
    opened.mouse.move(x + dx, y + dy, steps=8)
    opened.mouse.up()


def until(opened, condition, seconds=20):
    """Poll a condition: the security policy of the page stops waiting scripts inside it."""
    end = time.monotonic() + seconds
    while not opened.evaluate(condition):
        assert time.monotonic() < end, f"never: {condition}"
        opened.wait_for_timeout(30)


def middle(locator):
    """Scroll an element to the middle of the window and return its centre."""
    locator.evaluate(
        "(element) => element.scrollIntoView({ block: 'center', behavior: 'instant' })"
    )
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def choose(opened, game, *learners, horizon=None, rounds=None):
    """Choose a game, learners and rounds by the controls; stop at `rounds` if it is given."""
    opened.select_option("#game", game)
    for n, learner in enumerate(learners):
        opened.select_option(f"[data-seat='{n}'] select", learner)
    if horizon:
        opened.fill("#horizon", str(horizon))
        opened.press("#horizon", "Enter")
    if rounds is not None:
        opened.locator("#scrub").fill(str(rounds))
        until(opened, f"regrax.app.run.round === {rounds} && !regrax.app.isPlaying")


def at_the_end(opened):
    """Go to the last round."""
    opened.locator("#scrub").fill(opened.input_value("#horizon"))
    until(opened, "regrax.app.run.round === regrax.app.last && !regrax.app.dirty")


def state_of(opened):
    return opened.evaluate(
        """() => {
            const { game, seats, rounds, starts } = regrax.app.state;
            const inner = ({ kind, value }) => kind === "blum_mansour" ? `hedge(${value})` : value ?? "";
            const specs = seats.map((seat) => `${seat.kind}(${inner(seat)})`);
            return { sizes: game.sizes, payoffs: game.payoffs.flatMap((t) => Array.from(t)), specs, rounds, starts };
        }"""
    )


def game_of(state):
    return rx.Game(np.reshape(state["payoffs"], (len(state["sizes"]), *state["sizes"])))


def python_gaps(opened):
    """Return the gaps that the library computes for the state of the page."""
    state = state_of(opened)
    with jax.enable_x64(True):
        learners = [rx.specs.parse_learner(text) for text in state["specs"]]
        begin = begun(learners, state["starts"])
        played = rx.play(game_of(state), learners, state["rounds"], **begin)
        return rx.games.joint_gaps(played.joint, played.game)


def check_gaps(opened, expected):
    """Compare the gaps that the page shows with those of a command or the library."""
    for name, gap in opened.evaluate(GAPS).items():
        assert gap == pytest.approx(float(expected[NAMED[name]]), abs=1e-9), name


def reopened(browse, opened, rounds, **window):
    """Open the link of a page in another window, and wait until it has played to the same round."""
    again = browse("#" + opened.evaluate("regrax.app.link()").split("#")[1], **window)
    until(again, f"regrax.app.runs.every((run) => run.round === {rounds})")
    return again


def test_the_page_is_small_whole_and_opens_with_a_game_of_ones_own():
    text = page(zero_sum([[1, 0], [0, 1]]))
    assert len(text.encode()) < MAX_PAGE_BYTES
    assert not re.search(r'(?:src|href)="(?!#|data:)', text)
    assert "Content-Security-Policy" in text
    assert '"about":"","reference":""' in text.split('"game":')[-1]


def test_it_opens_playing_and_shows_the_first_answer(opened):
    assert opened.title().startswith("regrax explorer")
    assert opened.inner_text("#question") == "Will Hedge settle?"
    until(opened, "regrax.app.run.round > 0")
    assert "Vote" in opened.inner_text("#answer")
    opened.select_option("#pace", "fast")
    until(opened, "document.querySelector('#votes .right')")
    assert "They circle" in opened.inner_text("#votes .right")
    until(opened, "regrax.app.run.round < 100")  # it starts again
    assert opened.inner_text("#play") == "Pause"


@pytest.mark.parametrize("horizon", [20, 5000])
def test_a_play_takes_six_seconds_whatever_its_length(opened, horizon):
    opened.clock.install()  # the test controls the time
    opened.reload()
    choose(opened, "shapley", horizon=horizon)
    opened.click("#reset")
    opened.click("#play")
    opened.clock.run_for(3000)
    assert opened.evaluate("regrax.app.run.round") == pytest.approx(horizon / 2, rel=0.1)
    opened.clock.run_for(3200)
    assert opened.evaluate("regrax.app.run.round") == horizon


SCENES = (
    "Will Hedge settle?",
    "And with optimism?",
    "Rock-paper-scissors: who wins?",
    "Does fictitious play converge?",
    "Can a traffic light beat Nash?",
    "Hedge or Blum-Mansour?",
    "Will prisoners cooperate?",
    "How much regret can you force?",
)


def test_scenes_ask_play_and_give_answers_that_match_their_play(opened):
    """Check the claims of the answers with numbers that the page computes."""

    def show(scene):
        opened.get_by_role("button", name=SCENES[scene - 1]).click()
        assert opened.inner_text("#question") == SCENES[scene - 1]
        assert opened.inner_text("#answer") == "Vote, then press play."
        assert opened.evaluate("regrax.app.isPlaying") is False
        opened.locator("#votes button").first.click()
        until(opened, "regrax.app.run.round > 0")
        at_the_end(opened)
        assert opened.locator("#votes .right").count() == 1
        assert opened.inner_text("#answer") != "Vote, then press play."
        return opened.evaluate(
            """() => regrax.app.runs.map((run) => ({
                policies: run.players.map((seat) => seat.policies.map((column) => column.at(run.round - 1))),
                means: run.players.map((seat) => seat.means.map((column) => column.at(run.round - 1))),
                paid: run.players.map((seat) => seat.payoffs.at(run.round - 1)),
                cce: run.gaps.cce.at(run.round - 1),
                swap: run.gaps.swap.at(run.round - 1),
            }))"""
        )

    def off_centre(policies):
        return max(abs(p - 1 / len(side)) for side in policies for p in side)

    (circling,) = show(1)
    assert off_centre(circling["policies"]) > 0.4
    assert off_centre(circling["means"]) < 0.05
    plain, optimistic = show(2)
    assert off_centre(plain["policies"]) > 0.4
    assert off_centre(optimistic["policies"]) < 0.05
    (even,) = show(3)
    assert max(map(abs, even["paid"])) < 0.05
    assert off_centre(even["means"]) < 0.1
    (shapley,) = show(4)
    assert off_centre(shapley["means"]) > 0.1
    (chicken,) = show(5)
    assert sum(chicken["paid"]) < 28 / 3
    hedge, swapping = show(6)
    assert hedge["cce"] < 0.02
    assert hedge["swap"] == pytest.approx(0.13, abs=0.01)
    assert swapping["swap"] < 0.02
    (prisoners,) = show(7)
    assert prisoners["policies"][0][1] > 0.99
    show(8)
    assert "3.31" in opened.inner_text("#adversary-note")


def test_chosen_games_and_learners_play_at_once(opened):
    opened.click("#play")
    assert opened.evaluate("regrax.app.isPlaying") is False
    opened.select_option("#game", "rock-paper-scissors")
    until(opened, "regrax.app.isPlaying && regrax.app.run.round > 5")
    moved = "Math.abs(regrax.app.run.players[0].policies[0].at(4) - 1 / 3)"
    assert opened.evaluate(moved) > 0.05  # off the centre, where nothing would move
    opened.click("#play")
    opened.select_option("[data-seat='0'] select", "regret_matching")
    until(opened, "regrax.app.isPlaying && regrax.app.run.round > 5")


def test_regret_is_shown_as_the_area_between_two_losses(opened):
    choose(opened, "weighted-rps", "hedge", "uniform", horizon=100, rounds=100)
    gained = r"would have gained .* per round by (always )?playing"
    assert re.search(gained, opened.inner_text("#gaps"))
    note = opened.inner_text("#regret figcaption")
    assert re.match(r"Player 1 has won [\d.]+; always playing \w+ would have won [\d.]+", note)
    shown = float(re.search(r"The difference is the regret: (.*)\.$", note)[1])
    played = rx.play(game_of(state_of(opened)), state_of(opened)["specs"], 100)
    regret = float(rx.external_regret(played.policies[0], played.losses[0]))
    assert shown == pytest.approx(regret, rel=5e-3)
    opened.get_by_role("button", name="per round").first.click()
    legend = opened.locator("#regret .legend li", has_text="regret").inner_text()
    assert float(legend.split()[-1]) == pytest.approx(regret / 100, rel=5e-3)


def test_a_point_in_a_figure_has_a_tooltip(opened):
    choose(opened, "chicken", horizon=50, rounds=50)
    tips = {
        "#where svg[role] .now": "/^Round 50: player 1 swerve/",
        "#joint .cell": "/^swerve, swerve: .* of play, pays 6, 6$/",
    }
    for place, tip in tips.items():
        opened.mouse.move(*middle(opened.locator(place).first))
        until(opened, f"{tip}.test(document.getElementById('tip').textContent)")


def test_an_edited_payoff_updates_the_gaps(opened):
    choose(opened, "chicken", "optimistic_hedge", "blum_mansour", horizon=500, rounds=500)
    before = opened.evaluate(GAPS)
    cell = opened.locator("[data-cell='0-3']")
    cell.fill("nonsense")
    assert cell.get_attribute("aria-invalid") == "true"
    assert opened.evaluate(GAPS) == before
    cell.fill("7/2")
    until(opened, "regrax.app.run.round === 500")
    assert opened.evaluate("regrax.app.state.game.payoffs[0][3]") == 3.5
    assert opened.evaluate("document.getElementById('game').value") == ""
    assert opened.evaluate(GAPS) != before
    check_gaps(opened, python_gaps(opened))


def test_dragging_the_step_replays_the_same_rounds(opened):
    choose(opened, "weighted-rps", "hedge", "hedge", horizon=200, rounds=200)
    before = opened.evaluate(GAPS)
    rail = opened.locator("[data-seat='0'] input[type=range]")
    drag(opened, rail, 0.3 * rail.bounding_box()["width"], 0)
    until(opened, "regrax.app.run.round === 200")
    assert opened.evaluate("regrax.app.state.seats[0].value") > 1
    assert opened.evaluate(GAPS) != before
    check_gaps(opened, python_gaps(opened))
    opened.get_by_role("button", name=re.compile("^k\\* ")).first.click()
    star = opened.evaluate("regrax.app.state.seats[0].value")
    assert star == pytest.approx(rx.theory.step_size(3, 200), rel=1e-7)


def test_a_dragged_start_replays_to_the_same_round(opened):
    choose(opened, "rock-paper-scissors", "hedge", "hedge", horizon=50, rounds=37)
    before = opened.evaluate(GAPS)
    handle = opened.locator("#where").get_by_role("slider", name="Start: player 1")
    drag(opened, handle, 10, -60)
    until(opened, "regrax.app.run.round === 37")
    start = opened.evaluate("regrax.app.state.starts[0]")
    assert sum(start) == pytest.approx(1)
    assert start[2] > 0.3  # scissors are at the top, as in rx.plots
    assert opened.evaluate(GAPS) != before


def test_an_equilibrium_is_listed_and_a_click_goes_there(opened):
    choose(opened, "weighted-rps", "hedge", "hedge", horizon=60, rounds=0)
    row = opened.get_by_role("button", name="Nash 1")
    assert "1/2 rock + 1/3 paper + 1/6 scissors" in row.inner_text()
    row.click()
    assert opened.evaluate("regrax.app.state.starts[0]") == pytest.approx([1 / 2, 1 / 3, 1 / 6])
    at_the_end(opened)
    played = opened.evaluate("regrax.app.run.players[0].policies.map((column) => column.at(59))")
    assert played == pytest.approx([1 / 2, 1 / 3, 1 / 6], abs=1e-9)
    opened.get_by_role("button", name="Best CE").click()
    assert opened.input_value("#joint-what") == "ce"


def test_a_person_in_seat_1_sees_their_regret(browse_explorer, opened):
    choose(opened, "rock-paper-scissors", "hand", "hedge")
    for key in "1122":
        opened.locator("#hand").get_by_role("button", name=key).click()
    until(opened, "regrax.app.run.round === 4")
    words = opened.inner_text("#hand p")
    assert re.search(r"You: paper. Player 2: \w+\. You are paid -?\d", words)
    assert "Your regret" in words
    opened.evaluate("document.activeElement.blur()")
    opened.keyboard.press("3")
    until(opened, "regrax.app.run.round === 5")
    again = reopened(browse_explorer, opened, 5)
    assert again.inner_text("#hand p") == opened.inner_text("#hand p")
    opened.click("#copy-python")
    assert "copy the link" in opened.inner_text("#take-note")
    opened.click("#reset")
    until(opened, "regrax.app.run.round === 0 && regrax.app.last === 0")


def test_two_plays_are_shown_side_by_side(browse_explorer, opened):
    choose(opened, "shapley", "hedge", "hedge", horizon=300)
    opened.click("#compare")
    opened.select_option("#versus [data-seat='0'] select", "blum_mansour")
    at_the_end(opened)
    left, right = opened.evaluate(
        "['where', 'where-2'].map((id) => document.getElementById(id).getBoundingClientRect().toJSON())"
    )
    assert right["left"] >= left["right"]
    assert right["top"] == pytest.approx(left["top"], abs=2)
    swap = "regrax.app.runs.map((run) => run.gaps.swap.at(299))"
    first, second = opened.evaluate(swap)
    assert first != second
    again = reopened(browse_explorer, opened, 300)
    assert again.evaluate(swap) == [first, second]


def test_a_link_for_the_hall_hides_the_controls(browse_explorer):
    opened = browse_explorer(viewport={"width": 1920, "height": 1080})
    opened.click("#copy-hall")
    link = opened.inner_text("#copied").split("#")[1]
    hall = browse_explorer("#" + link, viewport={"width": 1920, "height": 1080})
    for hidden in ("#game", "#seats", "#story", "#take"):
        assert not hall.locator(hidden).is_visible()
    assert hall.locator("#where").is_visible()
    size = "parseFloat(getComputedStyle(document.documentElement).fontSize)"
    assert hall.evaluate(size) >= 24
    assert hall.locator("#figures").bounding_box()["width"] > 1800
    hall.keyboard.press("PageDown")
    assert hall.inner_text("#question") == SCENES[1]
    hall.keyboard.press("f")
    assert hall.locator("#game").is_visible()


def test_the_keyboard_reaches_start_play_and_paint(opened):
    choose(opened, "shapley", "hedge", "hedge", horizon=400, rounds=0)
    handle = opened.locator("#where").get_by_role("slider", name="Start: player 2")
    handle.focus()
    before = handle.get_attribute("aria-valuetext")
    opened.keyboard.press("ArrowUp")
    until(opened, f"document.activeElement.getAttribute('aria-valuetext') !== {json.dumps(before)}")
    opened.evaluate("document.activeElement.blur()")
    opened.keyboard.press(".")
    until(opened, "regrax.app.run.round === 1")
    opened.keyboard.press(" ")
    assert opened.get_attribute("#play", "aria-pressed") == "true"
    opened.keyboard.press(" ")
    assert opened.get_attribute("#play", "aria-pressed") == "false"
    cell = opened.get_by_role("gridcell").first
    cell.focus()
    label = cell.get_attribute("aria-label")
    opened.keyboard.press("+")
    until(opened, f"document.activeElement.getAttribute('aria-label') !== {json.dumps(label)}")
    opened.keyboard.press("ArrowRight")
    assert "round 2" in opened.evaluate("document.activeElement.getAttribute('aria-label')")


def test_touch_moves_the_start(browse_explorer):
    opened = browse_explorer(**PHONE)
    choose(opened, "shapley", "hedge", "hedge")
    handle = opened.locator("#where").get_by_role("slider", name="Start: player 1")
    x, y = middle(handle)
    session = opened.context.new_cdp_session(opened)
    for kind, dy in (("touchStart", 0), ("touchMove", -20), ("touchMove", -50)):
        points = [{"x": x, "y": y + dy}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert opened.evaluate("regrax.app.state.starts[0][2]") > 0.25


DROP = """([name, bytes]) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([Uint8Array.from(bytes)], name));
    for (const kind of ["dragover", "drop"]) {
        document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));
    }
}"""


def test_dropped_files_become_games_with_escaped_text(opened):
    nfg = rx.games.game_to_nfg(rx.games.jordan())
    opened.evaluate(DROP, ["three.nfg", list(nfg)])
    until(opened, "regrax.app.state.game.sizes.length === 3")
    evil = "<img src=x onerror=alert(1)>"
    table = {"name": evil, "players": [evil, "b"], "actions": [[evil, "y"], ["z", "w"]]}
    table["payoffs"] = [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]
    opened.evaluate(DROP, ["evil.json", list(json.dumps(table).encode())])
    until(opened, "regrax.app.state.game.sizes.length === 2")
    opened.click("#reset")
    opened.click("#once")
    until(opened, "regrax.app.run.round === 1")
    assert opened.evaluate("document.querySelectorAll('img, iframe, object').length") == 0
    assert evil in opened.inner_text("#seats")
    opened.evaluate(DROP, ["broken.nfg", list(b"NFG 1 R")])
    until(opened, "document.getElementById('message').textContent")
    assert "broken.nfg: expected the title in quotes" in opened.inner_text("#message")


def test_a_checkpoint_takes_a_seat_and_the_link_carries_it(browse_explorer, opened, tmp_path):
    rx.save_model(tmp_path / "layer", rx.LinearAttention(3, key=jax.random.key(1), scale=0.2))
    choose(opened, "weighted-rps", horizon=20)
    data = list((tmp_path / "layer.safetensors").read_bytes())
    opened.evaluate(DROP, ["layer.safetensors", data])
    until(opened, "regrax.app.state.seats[0].layer?.name === 'layer'")
    at_the_end(opened)
    gaps = opened.evaluate(GAPS)
    again = reopened(browse_explorer, opened, 20)
    assert again.evaluate(GAPS) == gaps
    opened.click("#copy-command")
    assert 'checkpoint("layer")' in opened.inner_text("#copied")


def test_the_story_has_five_steps_for_the_sandbox(opened):
    titles = [opened.inner_text("#tour-title")]
    for _ in range(4):
        opened.click("#tour-next")
        titles.append(opened.inner_text("#tour-title"))
    assert len(set(titles)) == 5
    assert opened.is_disabled("#tour-next")
    opened.click("#tour-apply")
    at_the_end(opened)
    assert opened.evaluate("regrax.app.state.game.name") == "shapley"
    assert opened.evaluate("regrax.app.run.gaps.swap.at(999)") < 0.02
    opened.click("#tour-steps li:nth-child(4) button")
    opened.click("#tour-apply")
    at_the_end(opened)
    assert opened.evaluate("regrax.app.run.gaps.swap.at(999)") > 0.1


def test_training_runs_from_step_0_to_the_limit(opened):
    matrices = opened.locator("#tour-figure svg.matrix")
    entries = opened.locator("#tour-figure output")
    assert entries.inner_text() == "0 steps"
    limit = matrices.nth(1).get_attribute("aria-label").split(": ")[-1]
    star = f"{-rx.theory.step_size(3, 20):.2f}"
    assert limit == f"{star} 0.00 0.00; 0.00 {star} 0.00; 0.00 0.00 {star}"
    assert matrices.nth(0).get_attribute("aria-label").split(": ")[-1] != limit
    opened.get_by_role("button", name="Train", exact=True).click()
    until(
        opened, "(({ value, max }) => value === max)(document.querySelector('#tour-figure input'))"
    )
    trained = matrices.nth(0).get_attribute("aria-label").split(": ")[-1]
    numbers = [float(number) for number in re.split("[; ]+", trained)]
    exact = [float(number) for number in re.split("[; ]+", limit)]
    assert numbers == pytest.approx(exact, abs=0.03)


def test_the_dot_on_the_loss_curve_is_dragged(opened):
    choose(opened, "weighted-rps", "hedge", "hedge", rounds=50)
    opened.click("#tour-steps li:nth-child(3) button")
    slider = opened.get_by_role("slider", name="step k")
    dot = opened.locator("#tour-figure .handle")
    x, _ = middle(dot)
    rail = slider.bounding_box()
    thumb = 16
    along = (float(slider.input_value()) / 1.2) * (rail["width"] - thumb) + thumb / 2
    assert rail["x"] + along == pytest.approx(x, abs=2)  # the dot is above the thumb
    drag(opened, dot, 60, 0)
    k = float(slider.input_value())
    assert k > rx.theory.step_size(3, 20) + 0.05
    assert opened.evaluate("regrax.app.state.seats.map((seat) => seat.value)") == [k, k]


def test_the_link_restores_the_page(browse_explorer, opened):
    choose(opened, "jordan", "hedge", "regret_matching", "fictitious_play", horizon=120, rounds=120)
    opened.locator("[data-cell='2-4']").fill("0.25")
    opened.locator("#where-body details summary").first.click()
    opened.locator("#where-body input[type=range]").first.fill("0.9")
    opened.check("#drawn")
    opened.locator("#regret").get_by_role("button", name="player 2").click()
    opened.locator("#regret").get_by_role("button", name="per round").click()
    opened.get_by_role("button", name="1 and 3").click()
    opened.select_option("#joint-what", "cce-minimum")
    opened.select_option("#pace", "slow")
    opened.get_by_role("button", name="Alternate").click()
    opened.click("#tour-steps li:nth-child(2) button")
    opened.get_by_role("slider", name="training").fill("7")
    until(opened, "regrax.app.run.round === 120")
    link = opened.evaluate("regrax.app.link()").split("#")[1]
    until(opened, f"location.hash.slice(1) === {json.dumps(link)}")
    again = reopened(browse_explorer, opened, 120)
    assert again.evaluate(GAPS) == opened.evaluate(GAPS)
    assert again.evaluate("regrax.app.link()").split("#")[1] == link
    assert again.locator("#where svg[role=img]").count() == 3  # three players are shown in time
    assert again.locator("#where .legend li").first.is_visible()
    for shown in ("#adversary-note", "#joint-note", "#bound-note", "#regret figcaption"):
        assert again.inner_text(shown) == opened.inner_text(shown)
    for field in ("#joint-what", "#pace"):
        assert again.input_value(field) == opened.input_value(field)
    assert again.get_by_role("slider", name="training").input_value() == "7"


NONSENSE = {
    "game=nowhere&seats=x": "no game here is named nowhere",
    "game=chicken&seats=hedge(0)|x": "step must be above 0, got 0",
    'table={"payoffs":1}': "expected a game of 2 or 3 players",
    "game=shapley&seats=linear_attention:1~3~zzz~n|hedge(1)": "could not be read",
}


@pytest.mark.parametrize("link", NONSENSE)
def test_an_invalid_link_shows_an_error(browse_explorer, link):
    opened = browse_explorer(f"#{link}")
    assert NONSENSE[link] in opened.inner_text("#message")
    assert 0 <= opened.locator("#message").bounding_box()["y"] < 300  # seen without scrolling


def test_tiny_and_extreme_games_draw_without_errors(opened):
    choose(opened, "chicken")
    for player in (0, 1):
        opened.locator(".sizes button[aria-label^='Remove']").nth(player).click()
    opened.click("#reset")
    opened.click("#once")
    until(opened, "regrax.app.run.round === 1")
    assert "the regret: 0" in opened.inner_text("#regret figcaption")
    assert "Nobody would have gained" in opened.inner_text("#gaps")
    choose(opened, "chicken", horizon=20, rounds=20)
    opened.locator("[data-cell='0-0']").fill("1e300")
    opened.locator("[data-cell='1-3']").fill("-1e300")
    until(opened, "regrax.app.run.round === 20 && regrax.app.details.plane.searches.length === 0")


def run_command(text, folder):
    """Run a copied command with the console script of this environment."""
    regrax = f"{shlex.quote(sys.executable)} -m regrax"
    command = re.sub(r"(^|&& )regrax ", lambda match: f"{match[1]}{regrax} ", text) + " --json"
    done = subprocess.run(
        command, shell=True, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_copied_command_gives_the_same_numbers(browse_explorer, tmp_path):
    opened = browse_explorer(permissions=["clipboard-read", "clipboard-write"])
    choose(opened, "weighted-rps", "hedge", "blum_mansour", horizon=150, rounds=150)
    opened.click("#copy-command")
    text = opened.inner_text("#copied")
    assert opened.evaluate("navigator.clipboard.readText()") == text
    found = run_command(text, tmp_path)
    check_gaps(opened, found)


@pytest.mark.slow
def test_copied_files_and_programs_give_the_same_numbers(opened, tmp_path):
    choose(opened, "chicken", "regret_matching", "optimal", horizon=60, rounds=60)
    opened.locator("[data-cell='1-2']").fill("-1/3")
    until(opened, "regrax.app.run.round === 60")
    opened.click("#copy-command")
    found = run_command(opened.inner_text("#copied"), tmp_path)
    check_gaps(opened, found)
    choose(opened, "weighted-rps", "linear_attention", "swap_attention", horizon=30, rounds=30)
    opened.click("#copy-command")
    assert "no command for it" in opened.inner_text("#take-note")
    opened.click("#copy-python")
    (tmp_path / "layers.py").write_text(opened.inner_text("#copied"))
    done = subprocess.run(
        [sys.executable, "layers.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    check_gaps(opened, json.loads(done.stdout.replace("'", '"')))


def test_copied_commands_include_the_start(opened):
    opened.click("#tour-steps li:nth-child(4) button")
    opened.click("#tour-apply")
    opened.click("#copy-command")
    assert "--prior 0.5,0.3,0.2 0.2,0.5,0.3" in opened.inner_text("#copied")
    opened.click("#copy-python")
    program = opened.inner_text("#copied")
    assert re.search(r'rx.play\("shapley", "hedge\(0.3\)", \d+, prior=', program)
    assert "prior=[[0.5,0.3,0.2], [0.2,0.5,0.3]]" in program
    opened.check("#drawn")
    opened.click("#copy-python")
    assert "key=jax.random.key(1)" in opened.inner_text("#copied")
    # shown after the clipboard has answered
    until(opened, "document.getElementById('take-note').innerText.includes('Drawn actions differ')")


def test_pictures_are_saved_with_title_and_legend(opened):
    choose(opened, "shapley", "hedge", "fictitious_play", rounds=50)
    with opened.expect_download() as saved:
        opened.get_by_role("button", name="Save How far from equilibrium as SVG").first.click()
    root = tree.fromstring(Path(saved.value.path()).read_text())
    texts = [node.text for node in root.iter() if node.tag.endswith("text")]
    assert {"How far from equilibrium", "CCE", "CE", "swap", "Nash"} <= set(texts)
    assert any(
        re.match(r"shapley, Hedge \(.*\) against Fictitious play, round 50", t) for t in texts
    )
    lines = [node for node in root.iter() if node.attrib.get("class", "").startswith("line")]
    assert all(node.attrib["stroke"].startswith("rgb(") for node in lines)
    with opened.expect_download() as saved:
        opened.get_by_role("button", name="Save What the players are paid as PNG").click()
    assert Path(saved.value.path()).read_bytes().startswith(b"\x89PNG")


ACCESSIBLE = "button slider combobox textbox checkbox spinbutton link image gridcell"


@pytest.mark.parametrize("game", ["weighted-rps", "jordan", "chicken"])
def test_every_control_has_an_accessible_name(opened, game):
    choose(opened, game)
    session = opened.context.new_cdp_session(opened)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    shown = [node for node in nodes if not node["ignored"]]
    asked = [node for node in shown if node.get("role", {}).get("value") in ACCESSIBLE.split()]
    assert len(asked) > 60
    nameless = [node["role"]["value"] for node in asked if not node.get("name", {}).get("value")]
    assert nameless == []


def test_reduced_motion_stops_animations(browse_explorer):
    opened = browse_explorer(reduced_motion="reduce")
    until(opened, "regrax.app.run.round === 400")
    opened.wait_for_timeout(300)
    assert opened.evaluate("regrax.app.isPlaying") is False
    assert opened.inner_text("#round") == "400"
    assert opened.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
    assert opened.evaluate("document.getAnimations().length") == 0


HALL = {"viewport": {"width": 1920, "height": 1080}}
WINDOWS = {"desk": {}, "hall": HALL, "phone": PHONE}


@pytest.mark.parametrize(
    ("kind", "dark"),
    [
        ("desk", False),
        ("phone", True),
        pytest.param("desk", True, marks=pytest.mark.slow),
        pytest.param("hall", False, marks=pytest.mark.slow),
        pytest.param("phone", False, marks=pytest.mark.slow),
    ],
)
def test_every_window_holds_the_page(browse_explorer, kind, dark):
    opened = browse_explorer(**WINDOWS[kind], color_scheme="dark" if dark else "light")
    for game in ("weighted-rps", "chicken", "jordan", "all-pay-auction"):
        choose(opened, game, horizon=60, rounds=60)
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert opened.evaluate(wide) <= 0, game
        SHOTS.mkdir(parents=True, exist_ok=True)
        shade = "dark" if dark else "light"
        opened.screenshot(path=SHOTS / f"explorer-{kind}-{shade}-{game}.png", full_page=True)


VISION = {
    "all": np.eye(3),
    "protan": np.array([[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]]),
    "deutan": np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]]),
}
"""What is seen of linear red, green and blue (Vienot, Brettel, Mollon 1999)."""


@pytest.mark.parametrize("kind", VISION)
def test_colours_are_distinct_for_colour_blind_readers(kind):
    style = page().split("<style>")[1].split("</style>")[0]
    for block in style.split("prefers-color-scheme: dark")[:2]:
        found = dict(re.findall(r"--(p0|p1|p2|cce|ce|swap|nash): #(\w{6})", block))
        for group in (("p0", "p1", "p2"), ("cce", "ce", "swap", "nash")):
            linear = [(np.array(list(bytes.fromhex(found[name]))) / 255) ** 2.2 for name in group]
            seen = [np.maximum(VISION[kind] @ colour, 0) ** (1 / 2.2) for colour in linear]
            apart = [np.abs(a - b).max() for a, b in itertools.combinations(seen, 2)]
            assert min(apart) > 0.12  # and every line of a chart has a dash of its own


def test_the_picture_is_painted_while_play_runs(opened):
    """A frame plays some of the rounds, so the page paints between the first and the last."""
    choose(opened, "weighted-rps", "hedge", "hedge", horizon=100_000, rounds=0)
    opened.click("#play")
    seen = opened.evaluate(
        """() => new Promise((done) => {
            const seen = [];
            const look = () => seen.push(regrax.app.run.round) < 30 ? requestAnimationFrame(look) : done(seen);
            requestAnimationFrame(look);
        })"""
    )
    assert len(set(seen)) > 10
    assert max(np.diff(seen)) < 5000


def test_a_notebook_shows_it_in_a_frame(browse_explorer, tmp_path):
    notebook = tmp_path / "notebook.html"
    shown = explore("chicken")._repr_html_()
    notebook.write_text(f"<!doctype html><title>notebook</title>{shown}")
    opened = browse_explorer(url=notebook.as_uri())
    frame = opened.frame_locator("iframe")
    frame.locator("#reset").click()
    frame.locator("#once").click()
    assert frame.locator("#round").inner_text() == "1"
    assert frame.locator("#game").input_value() == "chicken"
    frame.locator("#copy-command").click()
    assert "regrax play chicken" in frame.locator("#copied").inner_text()


def test_equilibria_are_shown_for_an_edited_game(opened):
    choose(opened, "chicken", rounds=0)
    opened.select_option("#joint-what", "ce")
    until(opened, "document.getElementById('joint-note').textContent.includes('10.5')")
    opened.locator("[data-cell='0-0']").fill("8")
    until(opened, "!document.getElementById('joint-note').textContent.includes('10.5')")
    until(opened, "regrax.app.details.plane.searches.length === 0")
    corners = np.array(opened.evaluate("regrax.app.details.plane.polygons.ce"))
    best = rx.solve(game_of(state_of(opened)), "ce", "welfare").welfare
    assert (corners.sum(1)).max() == pytest.approx(best, abs=1e-7)
    value = opened.evaluate("regrax.app.details.solved.ce.value")
    assert value == pytest.approx(best, abs=1e-7)


def test_losses_painted_by_hand_give_regret(opened):
    opened.get_by_role("button", name="Nothing", exact=True).click()
    series = "regrax.app.adversary.chart.last[0].hedge.y.at(-1)"
    assert opened.evaluate(series) == pytest.approx(0)
    cells = opened.get_by_role("gridcell")
    middle(cells.first)
    first, last = cells.nth(0).bounding_box(), cells.nth(9).bounding_box()
    opened.mouse.move(first["x"] + 5, first["y"] + 20)
    opened.mouse.down()
    opened.mouse.move(last["x"] + 5, last["y"] + 20, steps=30)
    opened.mouse.up()
    painted = opened.evaluate("regrax.app.adversary.losses.map((row) => Array.from(row))")
    losses = np.array(painted, float)
    assert losses[:10, 0].tolist() == [1.0] * 10
    step = rx.theory.step_size(3, 20)
    expected = float(rx.external_regret(rx.rollout(rx.Hedge(step), losses), losses))
    assert opened.evaluate(series) == pytest.approx(expected, abs=1e-5)
