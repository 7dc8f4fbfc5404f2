"""What `play` is asked for, checked without jax: a command refuses before it imports that."""

from typing import Any, Literal

from regrax import _checks as checks
from regrax.games.game import Game
from regrax.learners import as_start

Keep = Literal["all", "summary"]
MAX_ROUNDS = 2**31 - 1
"""Learners count rounds in 32 bits."""
MAX_EPISODES = 10**6


def check_rounds(game: Game, rounds: int, keep: Keep, episodes: int = 1) -> None:
    """Raise unless so many rounds can be played, and there is room for what is kept of them.

    Args:
        game: that is played.
        rounds: of an episode.
        keep: as `play` takes it.
        episodes: how many, played one after another.
    """
    checks.at_least("rounds", rounds, 1, MAX_ROUNDS)
    checks.at_least("episodes", episodes, 1, MAX_EPISODES)
    if keep == "all":
        what, hint = f"every row of {rounds:,} rounds", 'keep="summary", or no log and no plot'
        checks.fits_in_memory(what, 16.0 * rounds * sum(game.sizes), hint)
    if keep == "summary":  # a player's matrix, and what it is added up in
        what, needed = f"the regrets of {max(game.sizes):,} actions", sum(d * d for d in game.sizes)
        checks.fits_in_memory(what, 64.0 * needed, "play a game with fewer actions")
    if keep not in ("all", "summary"):
        raise ValueError(f'keep must be "all" or "summary", got {keep!r}')


def check_seats(game: Game, learners: int) -> None:
    """Raise unless so many learners fill the seats: one alone fills them all."""
    seats = len(game.sizes)
    if learners not in (1, seats):
        raise ValueError(
            f"learners must be one, or one for each of {seats} players, got {learners}"
        )


def start_policies(game: Game, start: Any, name: str = "start") -> tuple[Any, ...]:
    """For each player the policy of round 1, None for the learner's own choice; a single string is for all.

    Args:
        game: that is played.
        start: as `play` takes it.
        name: of the setting, for errors.

    >>> from regrax.games import chicken
    >>> [policy.tolist() for policy in start_policies(chicken(), ["swerve", 1])]
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if start is None:
        return (None,) * len(game.sizes)
    labels = game.actions
    starts = (start,) * len(labels) if isinstance(start, str) else start
    if not hasattr(starts, "__len__") or isinstance(starts, dict | set):
        raise ValueError(f"{name} must be a list with an entry for each player, got {starts!r}")
    if len(starts) != len(labels):
        raise ValueError(
            f"{name} must have an entry for each of {len(labels)} players, got {len(starts)}"
        )
    return tuple(
        as_start(policy, len(labels[n]), n, labels[n], name) for n, policy in enumerate(starts)
    )
