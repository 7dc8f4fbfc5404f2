"""Tools for the project itself, run from its root, as in `python -m tools.lines`."""
