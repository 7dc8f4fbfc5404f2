"""`regrax solve`: an equilibrium of a game, exact or by dynamics, with the gap that certifies it."""

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from regrax._settings import Positional
from regrax.cli._text import number, print_json, print_table, read_game, say

if TYPE_CHECKING:
    from regrax.games import CorrelatedProfile, Game

MAX_PRINTED_ACTIONS = 20  # joint actions printed, the likeliest first
MIN_PRINTED = 5e-7  # probabilities below are printed as zero
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
        """Solve and print."""
        from regrax import _checks as checks

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
        profile = self._found(read_game(self.game))
        print_json(self._result(profile)) if self.json else self._print(profile)

    def _found(self, game: "Game") -> "CorrelatedProfile":
        """The exact answer, or joint play in float64; for Nash the product of its marginals."""
        if self.by is None:
            from regrax.games import solve

            return solve(game, self.concept, self.objective)
        from regrax.cli._text import learner_maker
        from regrax.games import CorrelatedProfile, check_rounds

        make, rounds = learner_maker(self.by), self.rounds or 0
        check_rounds(game, rounds, "all")
        import jax

        from regrax.games import play

        key = None if self.seed is None else jax.random.key(self.seed)
        with jax.enable_x64(True):
            joint = play(game, make(), rounds, key=key).joint
        profile = CorrelatedProfile(joint, game)
        return profile.product if self.concept == "nash" else profile

    def _result(self, profile: "CorrelatedProfile") -> dict[str, Any]:
        worst = profile.worst_deviation(self.concept)
        actions = profile.game.actions[worst.player]
        labels = {
            "player": profile.game.players[worst.player],
            "recommended": None if worst.recommended is None else actions[worst.recommended],
            "instead": actions[worst.instead],
        }
        return {
            **{name: value for name, value in vars(self).items() if name != "json"},
            "game": str(profile.game),
            "objective": self.objective if self.by is None else None,
            "profile": profile.joint.tolist(),
            "payoffs": profile.payoffs.tolist(),
            "welfare": profile.welfare,
            "gap": worst.gain,
            "deviation": {**labels, "gain": worst.gain},
        }

    def _print(self, profile: "CorrelatedProfile") -> None:
        exact = f"exact, objective {self.objective}"
        how = exact if self.by is None else f"by {self.by}, {self.rounds} rounds"
        title = f"{profile.game}: {NAMES[self.concept]}, {how}"
        print_profile = _print_strategies if self.concept == "nash" else _print_joint
        print_profile(profile, title)
        payoffs = zip(profile.game.players, profile.payoffs, strict=True)
        rows = [*payoffs, ("welfare", profile.welfare)]
        print_table(("player", "payoff"), [[name, number(float(paid))] for name, paid in rows])
        worst = profile.worst_deviation(self.concept)
        who = profile.explain(worst) if worst.gain > 0 else "nobody gains"
        say(f"gap {worst.gain:.3g}: {who}")


def _print_joint(profile: "CorrelatedProfile", title: str) -> None:
    shown = islice(profile.likeliest(MIN_PRINTED), MAX_PRINTED_ACTIONS)
    rows = [[*labels, f"{p:.6f}"] for *labels, p in shown]
    print_table((*profile.game.players, "probability"), rows, title)
    left_out = int((profile.joint > MIN_PRINTED).sum()) - MAX_PRINTED_ACTIONS
    if left_out > 0:
        print(f"{left_out} more joint actions; --json prints all")


def _print_strategies(profile: "CorrelatedProfile", title: str) -> None:
    rows, game = [], profile.game
    for name, labels, mixed in zip(game.players, game.actions, profile.marginals, strict=True):
        played = [(-float(p), a) for a, p in enumerate(mixed) if p > MIN_PRINTED]
        shown = sorted(played)[:MAX_PRINTED_ACTIONS]
        rows += [[name, labels[a], f"{-p:.6f}"] for p, a in shown]
        if len(played) > MAX_PRINTED_ACTIONS:
            rows.append([name, f"{len(played) - MAX_PRINTED_ACTIONS} more", ""])
    print_table(("player", "action", "probability"), rows, title)
