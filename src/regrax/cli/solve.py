"""`regrax solve`: compute equilibria of a game."""

from contextlib import nullcontext, suppress
from typing import Literal

from regrax._text import counted, paragraph
from regrax.cli.options import Json
from regrax.cli.shared import print_result, read_key, read_learner

NAMES = {
    "nash": "Nash equilibrium",
    "ce": "correlated equilibrium",
    "cce": "coarse correlated equilibrium",
}


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
    import jax

    from regrax import games

    if (by is None) != (rounds is None):
        raise ValueError("--by and --rounds must be used together, got only one")
    if by is not None and objective != "any":
        raise ValueError(f"--objective does not apply to dynamics (--by), got {objective}")
    if by is None and seed is not None:
        raise ValueError("--seed is only for dynamics (--by); exact solutions are not random")
    if all and (concept != "nash" or by is not None or objective != "any"):
        raise ValueError("--all needs --concept nash, and no --by or --objective")
    table = games.read_game(game)
    every = []
    if concept == "nash" and by is None:
        # more than two players, or too many actions to enumerate
        with nullcontext() if all else suppress(ValueError):
            every = games.nash_equilibria(table)
    method = "exact" if all else f"exact, objective {objective}"
    if by is not None and rounds is not None:
        method = f"by {by}, {counted(rounds, 'round')}"
        with jax.enable_x64(True):
            played = games.play(table, read_learner(by), rounds, key=read_key(seed), keep="summary")
        profile = games.CorrelatedProfile(played.joint, table)
        profiles = [profile.product if concept == "nash" else profile]
    else:
        profiles = every if all else [games.solve(table, concept, objective)]
    used = objective if by is None else None
    result = {"game": table.name, "concept": concept, "objective": used, "by": by}
    result |= {"rounds": rounds, "seed": seed, **profiles[0].to_dict(concept)}
    if all:
        result["all"] = [profile.to_dict(concept) for profile in profiles]
    texts = []
    for number, profile in enumerate(profiles, 1):
        place = f" {number} of {len(profiles)}" if all else ""
        title = f"{table.name}: {NAMES[concept]}{place}, {method}"
        texts.append(profile.to_text(concept, title))
    if every:
        result["nash_equilibria"] = len(every)
    if len(every) > len(profiles):
        line = f"{table.name} has {len(every)} extreme Nash equilibria; --all lists them"
        texts.append(paragraph(line))
    print_result("\n".join(texts), json, result)
