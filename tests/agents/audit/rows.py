"""Rows of a log, from arrays."""

import numpy as np


def rows_of(first=0, fields=None, **columns):
    """Return a row per episode and round of columns of shape `(n, T, ...)`, with the same fields in each."""
    rows = []
    for e, t in np.ndindex(next(iter(columns.values())).shape[:2]):
        row = {name: column[e, t].tolist() for name, column in columns.items()}
        rows.append({"episode": first + e, "round": t + 1, **row, **(fields or {})})
    return rows
