"""`regrax play`: seat learners in a game, play, and print how far joint play is from equilibrium."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from regrax._settings import NewOutput, Output, Positional
from regrax.cli._text import number, print_json, print_table, save_figure, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from regrax.games import Game, Summary
    from regrax.learners import Learner


@dataclass(frozen=True)
class Play:
    """Play learners against each other and measure regret and equilibrium gaps.

    Args:
        game: A game's spec, as in weighted-rps or random(10, 10, seed=3), or a .json, .npz or .nfg file.
        learners: One learner's spec for every seat, or one for each: hedge(0.4479), blum_mansour(hedge(0.9944)), ...
        rounds: How many rounds to play.
        episodes: How many times to play them, each from the beginning; --plot draws the first.
        seed: Draw actions with this seed; without it every player sees expected losses.
        start: The policy of round 1, one for all seats or one for each: probabilities as in 0.2,0.8, an action,
            random(7), or own (the learner's choice).
        prior: The distribution that a learner's weights begin from, given as start is; for learners that have one.
        log: Write a JSON line for every round and player to this file, which must be new.
        plot: Draw gaps, regrets with their bounds, simplices and joint play to this .png, .svg or .pdf file.
        json: Print one JSON object.

    regrax play weighted-rps --learners 'hedge(0.4479)' --rounds 20
    """

    game: Positional[str]
    learners: tuple[str, ...]
    rounds: int
    episodes: int = 1
    seed: int | None = None
    start: tuple[str, ...] = ()
    prior: tuple[str, ...] = ()
    log: NewOutput | None = None
    plot: Output | None = None
    json: bool = False

    def run(self) -> None:
        """Play in float64, write what was asked for, print."""
        from regrax import _checks as checks
        from regrax.cli._text import learner_maker, read_game
        from regrax.games import check_rounds, start_policies

        if self.plot:
            from regrax.show.plots import check_suffix

            check_suffix(self.plot)
        if self.seed is not None:
            checks.at_least("seed", self.seed, 0)
        game = read_game(self.game)
        check_rounds(game, self.rounds, "all" if self._keeps_rows else "summary", self.episodes)
        makers = [learner_maker(text) for text in self.learners]
        start = start_policies(game, _for_all(self.start))
        prior = start_policies(game, _for_all(self.prior), "prior")
        import jax  # not before there is something to play

        with jax.enable_x64(True):
            # a seat of its own for each: an outside agent keeps what was said to it
            makers = makers * len(game.sizes) if len(makers) == 1 else makers
            learners = [make() for make in makers]
            for n, weights in enumerate(prior):
                if weights is not None:
                    learners[n] = learners[n].with_prior(weights)
            self._run(game, learners, start)

    @property
    def _keeps_rows(self) -> bool:
        return bool(self.log or self.plot or self.episodes != 1)

    def _run(self, game: "Game", learners: "list[Learner]", start: Any) -> None:
        import jax

        key = None if self.seed is None else jax.random.key(self.seed)
        chats = any(hasattr(learner, "counts") for learner in learners)
        if self._keeps_rows or chats:
            summaries = self._kept(game, learners, key, start)
        else:
            summaries = [self._summed(game, learners, key, start)]
        result = {
            "game": str(game),
            "learners": [str(learner) for learner in learners],
            "rounds": self.rounds,
            **({"episodes": self.episodes} if self.episodes > 1 else {}),
            "seed": self.seed,
            **({"start": list(self.start)} if self.start else {}),
            **_gaps(game, summaries),
            "players": _players(game, summaries),
        }
        for player, learner in zip(result["players"], learners, strict=True):
            counts = getattr(learner, "counts", None)  # of a chat agent
            player |= {} if counts is None else {"answers": dict(counts)}
        print_json(result) if self.json else _print(result)

    def _summed(self, game: "Game", learners: "list[Learner]", key: Any, start: Any) -> "Summary":
        """Play with a bar on the terminal, and keep sums only."""
        from regrax.cli._text import Bars
        from regrax.games import play

        def show(done: int, of: int) -> None:
            from regrax.experiments import Progress

            bars.show(Progress("play", done, of))

        more: Any = {"key": key, "start": start, "keep": "summary"}
        with Bars(hidden=self.json, after=1.0) as bars:
            watched = show if bars.visible else None
            return play(game, learners, self.rounds, **more, on_progress=watched)

    def _kept(
        self, game: "Game", learners: "list[Learner]", key: Any, start: Any
    ) -> "list[Summary]":
        """Play with every row kept, and write the log and the plot that are made of them."""
        from regrax.agents import play_episodes

        summaries, more = [], {"key": key, "start": start, "log": self.log}
        for trajectory in play_episodes(game, learners, self.rounds, self.episodes, **more):
            summaries.append(trajectory.summary())
            if self.plot and len(summaries) == 1:
                from regrax.show.plots import plot_play

                save_figure(plot_play(game, learners, trajectory), self.plot)
        return summaries


def _for_all(given: tuple[str, ...]) -> Any:
    """A single entry stands for every player, no entry for the learners' own choice."""
    if not given:
        return None
    return given[0] if len(given) == 1 else given


def _gaps(game: "Game", summaries: "Sequence[Summary]") -> dict[str, float]:
    """Of the play of all episodes together."""
    from regrax.games import joint_gaps

    found = joint_gaps(sum(one.joint for one in summaries) / len(summaries), game)
    return {name: float(found[name]) for name in ("nash_gap", "cce_gap", "ce_gap", "swap_gap")}


def _players(game: "Game", summaries: "Sequence[Summary]") -> list[dict[str, Any]]:
    """What each was paid and regrets, means over episodes."""
    import numpy as np

    measures = {
        "payoff": [one.payoffs for one in summaries],
        "regret": [one.regrets("external") for one in summaries],
        "internal_regret": [one.regrets("internal") for one in summaries],
        "swap_regret": [one.regrets("swap") for one in summaries],
    }
    means = {name: np.mean(values, 0) for name, values in measures.items()}
    averages = [np.mean(each, 0) for each in zip(*(s.averages for s in summaries), strict=True)]
    return [
        {"player": name}
        | {measure: float(values[n]) for measure, values in means.items()}
        | {"average": dict(zip(labels, averages[n].tolist(), strict=True))}
        for n, (name, labels) in enumerate(zip(game.players, game.actions, strict=True))
    ]


def _favourites(average: dict[str, float]) -> str:
    """The actions played most, and how much."""
    ranked = sorted(average.items(), key=lambda item: -item[1])
    shown = [f"{label} {weight:.3f}" for label, weight in ranked[:3]]
    return "  ".join(shown) + (" ..." if len(ranked) > 3 else "")


def _print(result: dict[str, Any]) -> None:
    feedback = (
        "expected losses" if result["seed"] is None else f"sampled actions, seed {result['seed']}"
    )
    rows = [
        [player["player"], learner]
        + [number(player[name]) for name in ("payoff", "regret", "swap_regret")]
        + [_favourites(player["average"])]
        for player, learner in zip(result["players"], result["learners"], strict=True)
    ]
    columns = ("player", "learner", "payoff", "regret", "swap regret", "played most")
    start = f", start {' '.join(result['start'])}" if "start" in result else ""
    played = f"{result['rounds']} rounds"
    if "episodes" in result:
        played = f"means over {result['episodes']} episodes of {played}"
    print_table(columns, rows, f"{result['game']}, {played}, {feedback}{start}")
    for player in result["players"]:
        if counts := player.get("answers"):
            read = ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))
            say(f"answers of {player['player']} were read by: {read}")
    gaps = [
        ("CCE", "cce_gap"),
        ("CE, pairwise", "ce_gap"),
        ("swap", "swap_gap"),
        ("Nash", "nash_gap"),
    ]
    print_table(
        ("gap", "largest over players"), [[name, number(result[key])] for name, key in gaps]
    )
