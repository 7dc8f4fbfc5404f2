"""Rows of the benchmark: a task, the libraries that perform it, and the target ratios."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks import limit
from benchmarks.side import FUSED, OURS
from regrax.theory import step_size


@dataclass(frozen=True)
class Row:
    """A row of the table; `sides` maps each side to its arguments beyond the common ones."""

    name: str
    task: str
    arguments: Mapping[str, Any]
    sides: Mapping[str, Mapping[str, Any]]
    needed: Mapping[str, float] = field(default_factory=dict)  # the ratio asked for, by side
    limit: float | None = None  # seconds of one unit
    tolerance: float | None = 1e-4  # between what the sides give; None: they do not do the same
    # sides that take long and compile nothing: their first run counts
    once: frozenset[str] = frozenset()

    def asked(self, side: str) -> dict[str, Any]:
        """Return the arguments of a side."""
        return {**self.arguments, **self.sides[side]}

    def units(self, side: str) -> int:
        """Return the number of rounds or steps in a run of this side; 1 if only the whole task counts."""
        unit = next((name for name in ("rounds", "count") if name in self.arguments), None)
        asked = self.asked(side)
        return 1 if unit is None else asked[unit] * asked.get("times", 1)


def _step(actions: int, rounds: int, heads: int = 1) -> float:
    return heads * math.sqrt(2 * math.log(actions) / rounds)


def _hedge(actions: int, rounds: int, sides: Mapping[str, Any], **needed: float) -> Row:
    arguments = {"actions": actions, "rounds": rounds, "step": _step(actions, rounds)}
    name = f"Hedge {actions}x{actions}"
    everyone = {OURS: {}, "numpy": {}, **sides}
    return Row(name, "hedge", arguments, everyone, needed, limit.hedge(actions))


def _weighted_rps(rounds: int, times: int, share: float) -> Row:
    arguments = {"rounds": rounds, "step": 0.4479, "times": times}
    name = f"weighted-rps, {rounds:,} rounds"
    return Row(name, "weighted_rps", arguments, {OURS: {}, "plain": {}}, {"plain": share})


def _rollout(rounds: int, times: int, share: float) -> Row:
    arguments = {"actions": 3, "rounds": rounds, "step": 0.4479, "times": times}
    name = f"rollout, 3 actions, {rounds:,} rounds"
    return Row(name, "rollout", arguments, {OURS: {}, "plain": {}}, {"plain": share})


def _blum_mansour(
    actions: int, rounds: int, sides: Mapping[str, Any], bits: int = 32, **needed: float
) -> Row:
    arguments = {
        "actions": actions,
        "rounds": rounds,
        "step": _step(actions, rounds, actions),
        "bits": bits,
    }
    name = f"Blum-Mansour {actions}x{actions}" + (", float64" if bits == 64 else "")
    least = limit.blum_mansour(actions, bits=bits)
    everyone = {OURS: {}, "numpy": {}, **sides}
    return Row(name, "blum_mansour", arguments, everyone, needed, least, 1e-3)


def _many(task: str, label: str, rounds: int, heads: int, least: float, **needed: float) -> Row:
    arguments = {"actions": 10, "rounds": rounds, "step": _step(10, rounds, heads), "games": 64}
    sides = {OURS: {}, "numpy": {}}
    return Row(f"{label} 10x10, 64 games", task, arguments, sides, needed, least, 1e-3)


def _training(kind: str, label: str, batch: int, count: int, **needed: float) -> Row:
    arguments = {"kind": kind, "batch": batch, "count": count}
    sides, least = {OURS: {}, "torch": {}}, limit.training(kind, batch)
    return Row(
        f"{label} training step, {batch} sequences", "steps", arguments, sides, needed, least
    )


def _wide() -> Row:
    name = "transformer (2 layers, width 128) training step, 256 sequences"
    arguments = {"kind": "deep", "batch": 256, "count": 5, "width": 128}
    least = limit.training("deep", 256, width=128)
    return Row(name, "steps", arguments, {OURS: {}, "torch": {}}, {"torch": 1}, least)


def rows() -> list[Row]:
    """Return all rows; this measures their limits."""
    three = {"actions": 10, "rounds": 5000, "step": _step(10, 5000), "players": 3}
    return [
        _weighted_rps(20, 200, 1 / 3),
        _weighted_rps(1000, 100, 1 / 1.25),
        _weighted_rps(8000, 20, 1 / 1.25),
        _rollout(20, 200, 1 / 3),
        _rollout(1000, 100, 1 / 1.25),
        _hedge(10, 10_000, {FUSED: {}, "user": {}, "plain": {}, "noregret": {}, "pyol": {}, "liteefg": {}},
               user=1 / 1.1, plain=1 / 1.25, numpy=8, noregret=15, pyol=15, liteefg=1),
        _hedge(100, 5000, {"noregret": {}, "pyol": {}, "liteefg": {"rounds": 300}},
               numpy=2, noregret=2, pyol=2, liteefg=1),
        _hedge(1000, 200, {"numpy, one table": {"one_table": True}, "noregret": {}, "pyol": {}},
               **{"numpy": 1.3, "numpy, one table": 1}),
        _blum_mansour(10, 5000, {FUSED: {}, "noregret": {"rounds": 1000}}, numpy=20, noregret=200),
        _blum_mansour(100, 1000, {"noregret": {"rounds": 60}}, numpy=6, noregret=200),
        _blum_mansour(1000, 20, {"noregret": {"rounds": 1}}),
        _blum_mansour(10, 5000, {}, 64),
        _blum_mansour(100, 1000, {}, 64),
        _many("hedge", "Hedge", 1000, 1, limit.hedge(10, games=64), numpy=4),
        _many("blum_mansour", "Blum-Mansour", 250, 10, limit.blum_mansour(10, games=64), numpy=4),
        Row("Hedge, 3 players of 10", "hedge_of_many", three, {OURS: {}, "numpy": {}},
            limit=limit.hedge(10, players=3)),
        Row("regret matching, 3 players of 10", "regret_matching",
            {"actions": 10, "rounds": 2000, "players": 3}, {OURS: {}, "open_spiel": {}},
            limit=limit.hedge(10, players=3), tolerance=None),
        Row("fictitious play 10x10", "fictitious_play", {"actions": 10, "rounds": 2000},
            {OURS: {}, "quantecon": {}}, limit=limit.hedge(10), tolerance=None),
        Row("gaps of joint play 100x100", "gaps", {"actions": 100},
            {OURS: {}, "numpy, float64": {"bits": 64}}, {"numpy, float64": 0.9}, limit.gaps(100)),
        _training("linear", "linear attention", 3072, 50, torch=6),
        _training("deep", "transformer (2 layers, width 32)", 256, 10, torch=2.2),
        _wide(),
        _training("swap", "swap attention", 1024, 20, torch=6),
        _quality(),
    ]  # fmt: skip


def _quality() -> Row:
    """Train from random parameters to within 0.4 % of FTRL at k*, with two losses; torch with three rates."""
    theirs = {"step": step_size(3, 20), "batch": 3072, "limit": 120.0}
    rates = {f"torch, rate {rate}": {**theirs, "rate": rate} for rate in (0.01, 0.003, 0.001)}
    ours = {
        OURS: {"objective": "conditional", "batch": 64, "rate": 0.06, "count": 150},
        f"{OURS}, plain loss": {"objective": "plain", "batch": 3072, "rate": 0.1, "count": 150},
    }
    return Row(
        "linear attention to quality, conditional mean",
        "to_quality",
        {},
        {**ours, **rates},
        dict.fromkeys(rates, 50.0),
        limit.to_quality(64, 150),
        tolerance=None,
        once=frozenset(rates),
    )
