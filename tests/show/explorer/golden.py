"""Play of the Python library for the kernel to meet: every learner on every game of the zoo that fits the page.

A trajectory counts as far as Python itself is sure of it: as long as payoffs moved by 1e-15 leave it within 1e-10.
"""

from functools import cache

import jax
import numpy as np

import regrax as rx
from regrax.show.explorer import zoo_games

ROUNDS = 200
MOVED = 1e-15
SURE = 1e-10
AGREE = 1e-9

SPECS = (
    "hedge(0.4479)",
    "optimistic_hedge(0.3)",
    "regret_matching()",
    "regret_matching_plus()",
    "fictitious_play()",
    "blum_mansour(hedge(0.9944))",
    "optimal(150)",
    "uniform()",
    "linear_attention",
    "swap_attention",
    "hedge(0.4479) | blum_mansour(hedge(0.9944))",
)
# one of each kind: a learner, a swap learner, a layer; quick tests play the others in one game only
KINDS = ("hedge(0.4479)", "blum_mansour(hedge(0.9944))", "linear_attention")
GAPS = {"cce": "cce_gap", "ce": "ce_gap", "swap": "swap_gap", "nash": "nash_gap"}
REGRETS = (rx.running_external_regret, rx.running_internal_regret, rx.running_swap_regret)


@cache
def games():
    """Return the games of the page by name."""
    return {game.name: game for game in zoo_games()}


def seats_of(text, sizes):
    """Return a learner for every player, in Python and for the kernel; layers have random parameters."""
    specs = [spec.strip() for spec in text.split("|")]
    pairs = [_seat(specs[min(n, len(specs) - 1)], d, n) for n, d in enumerate(sizes)]
    return zip(*pairs, strict=True)


def _seat(spec, actions, seed):
    if spec == "linear_attention":
        model = rx.LinearAttention(actions, key=jax.random.key(seed), scale=0.2)
        return model, {"kind": spec, "layer": {"heads": [_head(model)]}}
    if spec == "swap_attention":
        model = rx.SwapAttention(actions, key=jax.random.key(seed), scale=0.2)
        heads = [_head(jax.tree.map(lambda x, j=j: x[j], model)) for j in range(actions)]
        return model.calibrated(), {"kind": spec, "layer": {"heads": heads, "calibrated": True}}
    return rx.specs.parse_learner(spec), spec


def _head(model):
    names = ("values", "scores", "bias")
    return {name: np.asarray(getattr(model, name), float).tolist() for name in names}


def question(what, game, **more):
    """Return a question to the kernel about a game."""
    return {"what": what, "payoffs": np.asarray(game.payoffs).tolist(), **more}


def play_question(game, seats, rounds=ROUNDS, starts=(), seed=None):
    return question("play", game, seats=seats, rounds=rounds, starts=starts, seed=seed)


def begun(learners, starts):
    """Convert starts of the page: priors of learners that have one, else policies of round 1."""
    pairs = list(zip(learners, starts, strict=True))
    return {
        "prior": [start if start and one.has_prior else "own" for one, start in pairs],
        "start": [start if start and not one.has_prior else "own" for one, start in pairs],
    }


def disagreement(game, learners, found, **start):
    """Return the largest difference of policies, gaps and regrets over the certain rounds, and their number."""
    played = rx.play(game, learners, ROUNDS, **start)
    moved_by = np.zeros(ROUNDS)
    for seed in (1, 2):
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], np.shape(game.payoffs))
        moved = rx.Game(np.asarray(game.payoffs) * (1 + MOVED * signs) + MOVED * signs)
        other = rx.play(moved, learners, ROUNDS, **start)
        for one, two in zip(played.policies, other.policies, strict=True):
            moved_by = np.maximum(moved_by, np.abs(np.asarray(one) - np.asarray(two)).max(1))
    certain = int(np.argmax(np.append(moved_by > SURE, True)))
    pairs = [
        (np.array(columns).T, theirs)
        for columns, theirs in zip(found["policies"], played.policies, strict=True)
    ]
    gaps = rx.running_gaps(played, game)
    pairs += [(found["gaps"][name], gaps[key]) for name, key in GAPS.items()]
    for curves, policies, losses in zip(
        found["regrets"], played.played, played.losses, strict=True
    ):
        for curve, running in zip(curves, REGRETS, strict=True):
            pairs.append(
                (np.array(curve) / max(certain, 1), running(policies, losses) / max(certain, 1))
            )
    apart = [np.abs(np.asarray(mine) - np.asarray(theirs))[:certain] for mine, theirs in pairs]
    return max(rows.max(initial=0.0) for rows in apart), certain
