"""`regrax solve`: compute equilibria of a game."""

import contextlib
from typing import TYPE_CHECKING, Any, Literal

from regrax.cli.inputs import Json, read_game, read_learner
from regrax.cli.output import print_json, print_table, print_text

if TYPE_CHECKING:
    from regrax.games import CorrelatedProfile, Game

NAMES = {
    "nash": "Nash equilibrium",
    "ce": "correlated equilibrium",
    "cce": "coarse correlated equilibrium",
}
MAX_PRINTED_ROWS = 20
MIN_PRINTED = 5e-7  # solvers leave noise of this size


def solve(
    game: str,
    /,
    *,
    concept: Literal["nash", "ce", "cce"] = "ce",
    objective: Literal["any", "welfare", "minimum", "entropy"] = "any",
    all: bool = False,
    by: str | None = None,
    rounds: int | None = None,
    seed: int | None = None,
    json: Json = False,
) -> None:
    """Compute an equilibrium and the largest gain from deviating.

    Example uses:
        regrax solve chicken --concept ce --objective welfare
        regrax solve battle-of-the-sexes --concept nash --all

    Args:
        game: Game spec, or a .json, .npz or .nfg file.
        concept: Nash, correlated or coarse correlated equilibrium.
        objective: Any equilibrium, or the one that maximises the sum of payoffs, the lowest payoff or the entropy.
        all: List every Nash equilibrium of a two-player game, or the extreme equilibria if there are infinitely many.
        by: Approximate the equilibrium by dynamics with this learner for every player.
        rounds: Number of rounds to run the dynamics.
        seed: Sample actions in the dynamics with this seed; without it players observe expected losses.
    """
    from regrax.games import nash_equilibria, solve as solve_game

    if (by is None) != (rounds is None):
        raise ValueError("--by and --rounds must be used together, got only one")
    if by is not None and objective != "any":
        raise ValueError(f"--objective does not apply to dynamics (--by), got {objective}")
    if by is None and seed is not None:
        raise ValueError("--seed is only for dynamics (--by); exact solutions are not random")
    if all and (concept != "nash" or by is not None):
        raise ValueError("--all needs --concept nash and cannot be used with --by")
    table = read_game(game)
    result = {
        "game": str(table),
        "concept": concept,
        "objective": objective if by is None else None,
    }
    result |= {"by": by, "rounds": rounds, "seed": seed}
    method = f"exact, objective {objective}"
    if by is not None and rounds is not None:
        profiles = [_play(table, by, rounds, seed, concept)]
        method = f"by {by}, {rounds} rounds"
    elif all:
        profiles = nash_equilibria(table)
        result["all"] = [_described(profile, concept) for profile in profiles]
    else:
        profiles = [solve_game(table, concept, objective)]
    result |= _described(profiles[0], concept)
    if concept == "nash" and by is None:
        with contextlib.suppress(
            ValueError
        ):  # more than two players, or too many actions to enumerate
            result["nash_equilibria"] = len(nash_equilibria(table))
    if json:
        return print_json(result)
    for number, profile in enumerate(profiles, 1):
        place = f" {number} of {len(profiles)}" if all else ""
        _print(profile, concept, f"{table}: {NAMES[concept]}{place}, {method}")
    if not all and result.get("nash_equilibria", 0) > 1:
        count = result["nash_equilibria"]
        print_text(f"{table} has {count} extreme Nash equilibria; --all lists them")
    return None


def _play(
    game: "Game", spec: str, rounds: int, seed: int | None, concept: str
) -> "CorrelatedProfile":
    """Play in float64, and for Nash take the product of the players' average policies."""
    import jax

    from regrax import _checks as checks
    from regrax.games import CorrelatedProfile, play

    key = None
    if seed is not None:
        checks.at_least("seed", seed, 0)
        key = jax.random.key(seed)
    with jax.enable_x64(True):
        learners = [read_learner(spec) for _ in game.sizes]
        profile = CorrelatedProfile(play(game, learners, rounds, key=key).joint, game)
    return profile.product if concept == "nash" else profile


def _described(profile: "CorrelatedProfile", concept: Any) -> dict[str, Any]:
    worst = profile.worst_deviation(concept)
    actions = profile.game.actions[worst.player]
    deviation = {
        "player": profile.game.players[worst.player],
        "recommended": None if worst.recommended is None else actions[worst.recommended],
        "instead": actions[worst.instead],
        "gain": worst.gain,
    }
    return {
        "profile": profile.joint.tolist(),
        "payoffs": profile.payoffs.tolist(),
        "welfare": profile.welfare,
        "gap": worst.gain,
        "deviation": deviation,
    }


def _print(profile: "CorrelatedProfile", concept: Any, title: str) -> None:
    game = profile.game
    if concept == "nash":
        columns = ("player", "action", "probability")
        rows = []
        for name, labels, mixed in zip(game.players, game.actions, profile.marginals, strict=True):
            pairs = zip(labels, mixed.tolist(), strict=True)
            played = [[name, label, share] for label, share in pairs if share > MIN_PRINTED]
            rows += sorted(played, key=lambda row: -row[2])
    else:
        columns = (*game.players, "probability")
        rows = [list(row) for row in profile.likeliest(MIN_PRINTED)]
    print_table(columns, rows[:MAX_PRINTED_ROWS], title)
    if len(rows) > MAX_PRINTED_ROWS:
        print_text(f"{len(rows) - MAX_PRINTED_ROWS} more rows; --json prints all")
    pairs = zip(game.players, profile.payoffs.tolist(), strict=True)
    payoffs = [*pairs, ("sum (welfare)", profile.welfare)]
    print_table(("player", "payoff per round"), payoffs)
    worst = profile.worst_deviation(concept)
    deviation = profile.explain(worst) if worst.gain > 0 else "no player gains by deviating"
    print_text(f"gap {worst.gain:.3g} per round: {deviation}")
