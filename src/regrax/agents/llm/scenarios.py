"""Ready-made tasks that present the same mathematics as a clinic, a shop or a commute."""

from typing import Any

from regrax.agents.llm.task import Task, one_of

SCENARIOS: dict[str, dict[str, Any]] = {
    "plain": {"actions": ("A", "B", "C")},
    "clinic": {
        "actions": ("aspirin", "rest", "fluids", "exercise"),
        "opening": (
            "A clinic gives each of {rounds} patients one of {d} treatments: {actions}. "
            "Patients are alike. After each you learn {learn}, in days of illness above the usual; fewer is better.\n"
        ),
        "ask": "Patient {round}, treatment:",
        "tell": "\nDays: {losses}\n",
    },
    "ads": {
        "actions": ("banner", "video", "search"),
        "opening": (
            "A shop buys advertising on {rounds} days, each day in one of {d} ways: {actions}. "
            "In the evening it learns {learn}: its cost, less what it brought. Spend as little as possible in all.\n"
        ),
        "ask": "Day {round}, buy:",
        "tell": "\nNet cost: {losses}\n",
    },
    "routes": {
        "actions": ("highway", "bridge", "tunnel"),
        "opening": (
            "A driver goes to work on {rounds} mornings by one of {d} routes: {actions}. "
            "On arrival the radio tells {learn}, in minutes of delay against the timetable. Lose little time in all.\n"
        ),
        "ask": "Morning {round}, take the",
        "tell": "\nDelay: {losses}\n",
    },
    "irrigation": {
        "actions": ("early", "noon", "late"),
        "opening": (
            "A farm waters its field on {rounds} days at one of {d} times: {actions}. "
            "Next day it learns {learn}, in litres wasted against the plan. Waste little in all.\n"
        ),
        "ask": "Day {round}, water:",
        "tell": "\nWaste: {losses}\n",
    },
    "servers": {
        "actions": ("east", "west", "north"),
        "opening": (
            "A dispatcher sends {rounds} jobs to one of {d} data centres: {actions}. "
            "After each job it learns {learn}, in seconds against the target. Keep the sum low.\n"
        ),
        "ask": "Job {round}, send to",
        "tell": "\nSeconds: {losses}\n",
    },
}
"""For each scenario, the fields that differ from a plain task."""


def scenario(name: str, rounds: int = 20, **fields: Any) -> Task:
    """Build the task for a ready-made scenario.

    Args:
        name: a key of `SCENARIOS`.
        rounds: the number of rounds.
        **fields: further fields of `Task`.

    >>> scenario("routes", rounds=5).actions
    ('highway', 'bridge', 'tunnel')
    >>> sorted(SCENARIOS)
    ['ads', 'clinic', 'irrigation', 'plain', 'routes', 'servers']
    """
    one_of("scenario", name, sorted(SCENARIOS))
    defaults = dict(SCENARIOS[name])
    if fields.get("feedback") == "bandit" and "tell" in defaults:
        defaults["tell"] = defaults["tell"].replace("{losses}", "{action} {loss}")
    return Task(rounds=rounds, name=name, **{**defaults, **fields})
