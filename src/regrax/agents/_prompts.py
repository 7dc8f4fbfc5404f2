"""What a chat agent is asked: a template filled with the game, the actions' names and what was lost so far."""

from string import Template
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

PROMPT = """You are $player in $game. Each round you choose one action: $actions. After it you learn $feedback.
Lower is better: make your total loss over $rounds as small as you can.
Losses so far: $history
This is round $round. Answer with nothing but the $kind of one action, or a JSON list of $count probabilities."""
FEEDBACK = {"full": "the loss of every action", "bandit": "the loss of the action you played"}


class Asked(NamedTuple):
    """Who is asked, in which game, and how much is told."""

    game: str
    player: str
    names: tuple[str, ...]
    history: str  # "full" or "bandit"
    shown: int  # past rounds that are told one by one; sums are of all


class Told(NamedTuple):
    """What a chat agent has seen of an episode."""

    rounds: int | None  # how many are played, if that is known
    losses: Float[np.ndarray, "past d"]
    actions: tuple[int, ...]  # none where policies are played, not drawn actions


def fill(prompt: str, asked: Asked, seen: Told) -> str:
    """The question of a round: a template, filled with who is asked, and what it has seen.

    >>> asked = Asked("matching-pennies", "row", ("heads", "tails"), "full", 50)
    >>> print(fill(PROMPT, asked, Told(20, np.array([[0.5, 1.0]]), (1,))))
    You are row in matching-pennies. Each round you choose one action: heads, tails. After it you learn the loss of
    every action.
    Lower is better: make your total loss over 20 rounds as small as you can.
    Losses so far: (round: heads, tails)
    1: 0.5, 1; you played tails
    Sums over all 1 rounds: 0.5, 1
    This is round 2. Answer with nothing but the name of one action, or a JSON list of 2 probabilities.
    """
    counted = asked.names == tuple(map(str, range(len(asked.names))))
    return Template(prompt).substitute(
        game=asked.game,
        player=asked.player,
        actions=", ".join(asked.names),
        count=len(asked.names),
        kind="number" if counted else "name",
        feedback=FEEDBACK[asked.history],
        history=_history(asked, seen) if len(seen.losses) else "none yet",
        round=len(seen.losses) + 1,
        rounds="all rounds" if seen.rounds is None else f"{seen.rounds} rounds",
    )


def check(prompt: str) -> None:
    """Raise unless a template can be filled."""
    try:
        fill(prompt, Asked("", "", ("",), "full", 1), Told(None, np.zeros((0, 1)), ()))
    except (KeyError, ValueError) as error:
        known = "$game, $player, $actions, $count, $kind, $feedback, $history, $round, $rounds"
        wrong = f"prompt must be text with some of {known} (and $$ for $), got {error}"
        raise ValueError(wrong) from None


def _history(asked: Asked, seen: Told) -> str:
    _, losses, actions = seen
    bandit, first = asked.history == "bandit", max(0, len(losses) - asked.shown)
    since = f"the last {asked.shown} rounds, " if first else ""
    lines = [f"({since}round: {'action, its loss' if bandit else ', '.join(asked.names)})"]
    for t in range(first, len(losses)):
        name = asked.names[actions[t]] if actions else ""
        line = f"{name}, {losses[t, actions[t]]:.6g}" if bandit else _row(losses[t])
        lines.append(
            f"{t + 1}: {line}" + (f"; you played {name}" if actions and not bandit else "")
        )
    sums = f"Sums over all {len(losses)} rounds: {_row(losses.sum(0))}"
    return "\n".join([*lines, _means(asked, seen) if bandit else sums])


def _means(asked: Asked, seen: Told) -> str:
    drawn = np.eye(len(asked.names))[list(seen.actions)]
    plays, sums = drawn.sum(0), (drawn * seen.losses).sum(0)
    means = [
        f"{name} {sums[j] / plays[j]:.6g} in {plays[j]:.0f}" if plays[j] else f"{name} never played"
        for j, name in enumerate(asked.names)
    ]
    return f"Means over all {len(seen.losses)} rounds: {', '.join(means)}"


def _row(values: Float[np.ndarray, "d"]) -> str:
    return ", ".join(f"{value:.6g}" for value in values)
