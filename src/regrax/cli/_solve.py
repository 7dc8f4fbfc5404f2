"""`regrax solve`: an equilibrium of a game, exact or by dynamics, with the gap that certifies it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from regrax._settings import Positional
from regrax.cli._text import number, print_json, print_table

if TYPE_CHECKING:
    from regrax.games import CorrelatedProfile, Game

MAX_PRINTED_ACTIONS = 20  # joint actions printed, the likeliest first
NAMES = {
    "nash": "Nash equilibrium",
    "ce": "correlated equilibrium",
    "cce": "coarse correlated equilibrium",
}


@dataclass(frozen=True)
class Solve:
    """Find an equilibrium and print what the worst deviation from it would gain.

    Args:
        game: A game's spec or file.
        concept: Nash, correlated or coarse correlated equilibrium.
        objective: Which one: any, the largest sum of payoffs, the largest payoff of whoever gets least, or most
            entropy.
        by: Approach it by dynamics: the spec of a learner to put in every seat.
        rounds: How many rounds the dynamics play.
        seed: Draw the actions of the dynamics with this seed; without it every player sees expected losses.
        json: Print one JSON object.

    regrax solve chicken --concept ce --objective welfare
    """

    game: Positional[str]
    concept: Literal["nash", "ce", "cce"] = "ce"
    objective: Literal["any", "welfare", "minimum", "entropy"] = "any"
    by: str | None = None
    rounds: int | None = None
    seed: int | None = None
    json: bool = False

    def run(self) -> None:
        """Solve in float64 and print."""
        import jax

        from regrax import _checks as checks
        from regrax.cli._text import read_game

        if (self.by is None) != (self.rounds is None):
            raise ValueError("--by and --rounds come together, but only one was given")
        if self.by is not None and self.objective != "any":
            raise ValueError(f"dynamics have no objective, got --objective {self.objective}")
        if self.seed is not None:
            checks.at_least("seed", self.seed, 0)
            if self.by is None:
                raise ValueError(
                    "--seed is for dynamics (--by), but an exact solution was asked for"
                )
        with jax.enable_x64(True):
            game = read_game(self.game)
            profile = self._exact(game) if self.by is None else self._played(game)
            result = self._result(profile)
        print_json(result) if self.json else _print(result, profile, self.concept)

    def _exact(self, game: "Game") -> "CorrelatedProfile":
        from regrax.games import solve

        return solve(game, self.concept, self.objective)

    def _played(self, game: "Game") -> "CorrelatedProfile":
        """Joint play; for Nash the product of its marginals."""
        import jax

        from regrax.cli._text import read_learner
        from regrax.games import CorrelatedProfile, play

        key = None if self.seed is None else jax.random.key(self.seed)
        trajectory = play(game, read_learner(self.by or ""), self.rounds or 0, key=key)
        profile = CorrelatedProfile(trajectory.joint, game)
        return profile.product if self.concept == "nash" else profile

    def _result(self, profile: "CorrelatedProfile") -> dict[str, Any]:
        worst = profile.worst_deviation(self.concept)
        players, actions = profile.game.players, profile.game.actions
        return {
            "game": str(profile.game),
            "concept": self.concept,
            "objective": self.objective if self.by is None else None,
            "by": self.by,
            "rounds": self.rounds,
            "seed": self.seed,
            "profile": profile.joint.tolist(),
            "payoffs": profile.payoffs.tolist(),
            "welfare": profile.welfare,
            "gap": worst.gain,
            "deviation": {
                "player": players[worst.player],
                "recommended": None
                if worst.recommended is None
                else actions[worst.player][worst.recommended],
                "instead": actions[worst.player][worst.instead],
                "gain": worst.gain,
            },
        }


def _print(
    result: dict[str, Any], profile: "CorrelatedProfile", concept: Literal["nash", "ce", "cce"]
) -> None:
    how = (
        f"exact, objective {result['objective']}"
        if result["by"] is None
        else f"by {result['by']}, {result['rounds']} rounds"
    )
    title = f"{result['game']}: {NAMES[concept]}, {how}"
    if concept == "nash":
        _print_strategies(profile, title)
    else:
        _print_joint(profile, title)
    rows = [
        [name, number(float(paid))]
        for name, paid in zip(profile.game.players, profile.payoffs, strict=True)
    ]
    print_table(("player", "payoff"), [*rows, ["welfare", number(profile.welfare)]])
    worst = profile.worst_deviation(concept)
    print(f"gap {worst.gain:.3g}: {profile.explain(worst) if worst.gain > 0 else 'nobody gains'}")


def _print_joint(profile: "CorrelatedProfile", title: str) -> None:
    import numpy as np

    game, flat = profile.game, np.ravel(profile.joint)
    likeliest = [int(a) for a in np.argsort(-flat, kind="stable") if flat[a] > 5e-7]
    rows = [
        [labels[a] for labels, a in zip(game.actions, np.unravel_index(i, game.sizes), strict=True)]
        + [f"{flat[i]:.6f}"]
        for i in likeliest[:MAX_PRINTED_ACTIONS]
    ]
    print_table((*game.players, "probability"), rows, title)
    if len(likeliest) > MAX_PRINTED_ACTIONS:
        print(f"{len(likeliest) - MAX_PRINTED_ACTIONS} more joint actions; --json prints all")


def _print_strategies(profile: "CorrelatedProfile", title: str) -> None:
    rows = []
    for name, labels, mixed in zip(
        profile.game.players, profile.game.actions, profile.marginals, strict=True
    ):
        played = sorted(
            (a for a in range(len(labels)) if mixed[a] > 5e-7), key=lambda a: -float(mixed[a])
        )
        rows += [[name, labels[a], f"{mixed[a]:.6f}"] for a in played[:MAX_PRINTED_ACTIONS]]
        rows += (
            [[name, f"{len(played) - MAX_PRINTED_ACTIONS} more", ""]]
            if len(played) > MAX_PRINTED_ACTIONS
            else []
        )
    print_table(("player", "action", "probability"), rows, title)
