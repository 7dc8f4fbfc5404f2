"""Questions for chat agents, from a template filled with the game, the action names and the losses so far."""

from string import Template
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

PROMPT = """You are $player in $game. Each round you choose one action: $actions. After it you learn $feedback.
Lower is better: make your total loss over $rounds as small as you can.
Losses so far: $history
This is round $round. Answer with nothing but the $kind of one action, or a JSON list of $count probabilities."""
FEEDBACK = {"full": "the loss of every action", "bandit": "the loss of the action you played"}


class Scene(NamedTuple):
    """The addressee of a question, and how much history it shows.

    Attributes:
        game: name of the game.
        player: name of the player.
        names: names of the player's actions.
        history: "full" or "bandit".
        shown: how many past rounds to list one by one; sums cover all rounds.
    """

    game: str
    player: str
    names: tuple[str, ...]
    history: str
    shown: int


class Past(NamedTuple):
    """The part of an episode that a chat agent has seen.

    Attributes:
        rounds: total number of rounds, if known.
        losses: losses in the past rounds.
        actions: actions sampled in the past rounds; empty if policies are played.
    """

    rounds: int | None
    losses: Float[np.ndarray, "past d"]
    actions: tuple[int, ...]


def fill(prompt: str, scene: Scene, past: Past) -> str:
    """Fill in the question for a round.

    >>> scene = Scene("matching-pennies", "row", ("heads", "tails"), "full", 50)
    >>> print(fill(PROMPT, scene, Past(20, np.array([[0.5, 1.0]]), (1,))))
    You are row in matching-pennies. Each round you choose one action: heads, tails. After it you learn the loss of
    every action.
    Lower is better: make your total loss over 20 rounds as small as you can.
    Losses so far: (round: heads, tails)
    1: 0.5, 1; you played tails
    Sums over all 1 rounds: 0.5, 1
    This is round 2. Answer with nothing but the name of one action, or a JSON list of 2 probabilities.
    """
    are_indices = scene.names == tuple(map(str, range(len(scene.names))))
    return Template(prompt).substitute(
        game=scene.game,
        player=scene.player,
        actions=", ".join(scene.names),
        count=len(scene.names),
        kind="number" if are_indices else "name",
        feedback=FEEDBACK[scene.history],
        history=_history(scene, past),
        round=len(past.losses) + 1,
        rounds="all rounds" if past.rounds is None else f"{past.rounds} rounds",
    )


def check_prompt(prompt: str) -> None:
    """Raise if a template cannot be filled in."""
    try:
        fill(prompt, Scene("", "", ("",), "full", 1), Past(None, np.zeros((0, 1)), ()))
    except (KeyError, ValueError) as error:
        known = "$game, $player, $actions, $count, $kind, $feedback, $history, $round, $rounds"
        raise ValueError(f"prompt may contain only {known} (and $$ for $), got {error}") from None


def _history(scene: Scene, past: Past) -> str:
    rounds = len(past.losses)
    if not rounds:
        return "none yet"
    first = max(0, rounds - scene.shown)
    since = f"the last {scene.shown} rounds, " if first else ""
    if scene.history == "bandit":
        lines = [f"({since}round: action, its loss)"]
        for t in range(first, rounds):
            action = past.actions[t]
            lines.append(f"{t + 1}: {scene.names[action]}, {past.losses[t, action]:.6g}")
        lines.append(f"Means over all {rounds} rounds: {_means(scene, past)}")
        return "\n".join(lines)
    lines = [f"({since}round: {', '.join(scene.names)})"]
    for t in range(first, rounds):
        played = f"; you played {scene.names[past.actions[t]]}" if past.actions else ""
        lines.append(f"{t + 1}: {_listed(past.losses[t])}{played}")
    lines.append(f"Sums over all {rounds} rounds: {_listed(past.losses.sum(0))}")
    return "\n".join(lines)


def _means(scene: Scene, past: Past) -> str:
    actions = np.array(past.actions)
    means = []
    for place, name in enumerate(scene.names):
        losses = past.losses[actions == place, place]
        if len(losses):
            means.append(f"{name} {losses.mean():.6g} in {len(losses)}")
        else:
            means.append(f"{name} never played")
    return ", ".join(means)


def _listed(values: Float[np.ndarray, "d"]) -> str:
    return ", ".join(f"{value:.6g}" for value in values)
