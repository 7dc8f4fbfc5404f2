"""Counters of the project itself, run from its root: `python -m tools.lines`, `tools.journey` and `tools.loop`."""
