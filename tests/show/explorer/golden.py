"""Trajectories of the Python library for the kernel to meet: every learner on every game of the zoo that fits the page.

A trajectory counts as far as Python itself is sure of it: as long as payoffs moved by 1e-15 leave it within 1e-10.
"""

from functools import cache
from typing import NamedTuple

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


class Golden(NamedTuple):
    """What Python played, and how many rounds of it are certain."""

    trajectory: rx.Trajectory
    gaps: dict
    certain: int


@cache
def games():
    """The games of the page."""
    return {game.name: game for game in zoo_games()}


def seats_of(text, sizes):
    """A learner for each seat, in Python and for the kernel; trained layers have random parameters."""
    specs = [one.strip() for one in text.split("|")]
    specs = [specs[min(n, len(specs) - 1)] for n in range(len(sizes))]
    return [_seat(spec, d, n) for n, (spec, d) in enumerate(zip(specs, sizes, strict=True))]


def _seat(spec, actions, seed):
    if spec == "linear_attention":
        model = rx.LinearAttention(actions, key=jax.random.key(seed), scale=0.2)
        return model, {"kind": spec, "layer": {"heads": [_head(model)]}}
    if spec == "swap_attention":
        model = rx.SwapAttention(actions, key=jax.random.key(seed), scale=0.2)
        heads = [_head(jax.tree.map(lambda x, j=j: x[j], model)) for j in range(actions)]
        layer = {"heads": heads, "calibrated": True}
        return model.calibrated(), {"kind": spec, "layer": layer}
    return rx.specs.parse_learner(spec), spec


def _head(model):
    return {
        name: np.asarray(getattr(model, name), float).tolist()
        for name in ("values", "scores", "bias")
    }


def begun(learners, starts):
    """The starts of the page as Python takes them: priors of learners that have one, else policies of round 1."""
    pairs = list(zip(learners, starts, strict=True))
    return {
        "prior": [start if start and one.has_prior else "own" for one, start in pairs],
        "start": [start if start and not one.has_prior else "own" for one, start in pairs],
    }


def golden(game, learners, rounds=ROUNDS, **start):
    """Play in float64, three times: as it is, and with payoffs moved a little."""
    played = rx.play(game, learners, rounds, **start)
    apart = np.zeros(rounds)
    for seed in (1, 2):
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], np.shape(game.payoffs))
        moved = rx.Game(np.asarray(game.payoffs) * (1 + MOVED * signs) + MOVED * signs)
        other = rx.play(moved, learners, rounds, **start)
        for one, two in zip(played.policies, other.policies, strict=True):
            apart = np.maximum(apart, np.abs(np.asarray(one) - np.asarray(two)).max(1))
    certain = int(np.argmax(apart > SURE)) if (apart > SURE).any() else rounds
    return Golden(played, rx.running_gaps(played, game), certain)


def questions(game, spec):
    """The learners of Python, and what to ask of the kernel, for the same seats."""
    seats = seats_of(spec, game.sizes)
    asked = {
        "what": "play",
        "payoffs": np.asarray(game.payoffs).tolist(),
        "seats": [seat for _, seat in seats],
        "starts": [],
        "rounds": ROUNDS,
        "seed": None,
    }
    return [learner for learner, _ in seats], asked


def goldens(chosen, specs=SPECS):
    """`(learner, game, question, what Python plays)` for every learner on every game given."""
    cases = []
    with jax.enable_x64(True):
        for spec in specs:
            for name, game in chosen.items():
                learners, asked = questions(game, spec)
                cases.append((spec, name, asked, golden(game, learners)))
    return cases


def check(cases, answers):
    """Raise unless every answer agrees with Python; the share of rounds that were certain."""
    with jax.enable_x64(True):
        for (spec, name, _, expected), found in zip(cases, answers, strict=True):
            assert disagreement(found, expected) <= AGREE, (spec, name, expected.certain)
    return float(np.mean([case[-1].certain for case in cases])) / ROUNDS


def disagreement(computed, expected):
    """The largest difference of policies, gaps and regrets over the rounds that are certain."""
    rounds, worst = expected.certain, 0.0
    for mine, theirs in zip(computed["policies"], expected.trajectory.policies, strict=True):
        worst = max(worst, _apart(np.array(mine).T, theirs, rounds))
    for name, key in GAPS.items():
        worst = max(worst, _apart(computed["gaps"][name], expected.gaps[key], rounds))
    played, losses = expected.trajectory.played, expected.trajectory.losses
    kinds = (
        rx.running_external_regret,
        rx.running_internal_regret,
        rx.running_swap_regret,
    )
    for mine, p, l in zip(computed["regrets"], played, losses, strict=True):
        for series, running in zip(mine, kinds, strict=True):
            worst = max(worst, _apart(np.array(series) / rounds, running(p, l) / rounds, rounds))
    return worst


def _apart(mine, theirs, rounds):
    difference = np.abs(np.asarray(mine)[:rounds] - np.asarray(theirs)[:rounds])
    return float(difference.max()) if rounds else 0.0
