"""Thresholds of the fast paths, and the switch that turns all of them off.

A fast path computes what a plain path computes, in a form that XLA on a CPU runs faster. `REGRAX_FAST_PATHS=0` in the
environment turns every one of them off. The numbers were measured on one core of a server with AVX-512, jax 0.10;
`python -m benchmarks.thresholds` measures them again.
"""

import os

ENABLED = os.environ.get("REGRAX_FAST_PATHS", "1") != "0"

MAX_SMALL_BUFFER_BYTES = 512 if ENABLED else 0
"""If no buffer of a loop body is larger, XLA runs its parts in turn, unscheduled: rounds are played in such blocks."""
MIN_BATCHED_GAMES = 48
"""Games from which playing them side by side, on the last axis, is faster than by `vmap`."""
MAX_BATCHED_OPPONENT_ACTIONS = 12
"""Joint actions of the others up to which it is."""
ROUNDS_PER_TRANSPOSE = 8
"""Rounds of games side by side that are put in place at once, apart from playing them."""
MAX_BATCHED_STATES = 12 if ENABLED else 0
"""States of a Markov chain up to which many chains are stepped side by side."""
MAX_ELIMINATED_STATES = 7
"""States up to which several chains are eliminated sooner than stepped."""
MIN_ELIMINATED_CHAINS = 48
"""Chains of any such size from which they are."""
MAX_JOINED_ACTIONS = 32 if ENABLED else 0
"""Actions up to which the softmaxes of many copies take their exponentials in one long loop."""
