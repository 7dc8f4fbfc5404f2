r"""Results of play: a `Trajectory` of all rounds, or a `Summary` with sums over rounds."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from regrax import _checks as checks, regret
from regrax._tables import html_table, sketch, text_table, to_csv, to_latex, to_pandas
from regrax.games.game import Game, unfolded

Tables = tuple[Any, ...]
"""A loss matrix per player: its own actions by the joint actions of the others."""

MAX_NUMBERS = 2**20
"""Limit on the products that are in memory at once."""


def game_losses(tables: Tables, played: Sequence[Any], _: None) -> tuple[Any, ...]:
    r"""Return $\ell_n = -u_n(\cdot, \pi_{-n})$ for every player $n$, which makes a game an environment."""
    return tuple(table @ outer([*played[:n], *played[n + 1 :]]) for n, table in enumerate(tables))


def outer(policies: Sequence[Any]) -> Any:
    """Multiply policies into a product distribution, flattened with the first player's action varying slowest."""
    if not policies:
        return np.ones(1)
    product = policies[0]
    for policy in policies[1:]:
        product = (product[:, None] * policy[None]).reshape(-1, *policy.shape[1:])
    return product


def joint_play(played: Sequence[Any]) -> Float[Any, "*d"]:
    r"""Average rounds into the empirical distribution of joint actions.

    $\mu_T = \frac1T \sum_t \pi_{1,t} \otimes \cdots \otimes \pi_{N,t}$.

    >>> import numpy as np
    >>> joint_play([np.eye(2), np.eye(2)]).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    if len(played) == 0 or any(np.ndim(part) != 2 for part in played):
        shapes = [np.shape(part) for part in played]
        raise ValueError(f"played must be policies of shape (T, d) for each player, got {shapes}")
    rounds = len(played[0])
    if rounds < 1:
        raise ValueError("joint play needs at least one round, got none")
    rows = [np.asarray(part) if checks.is_concrete(part) else part for part in played]
    return (joint_sum(rows) / rounds).astype(rows[0].dtype)


def joint_sum(played: Sequence[Any]) -> Float[Any, "*d"]:
    """Sum the products of the players' rows over rounds, in double precision unless they are traced."""
    sizes = [rows.shape[1] for rows in played]
    few = max(MAX_NUMBERS // math.prod(sizes[:-1]), 1)
    total: Any = 0.0
    for first in range(0, len(played[0]), few):
        rows = [part[first : first + few] for part in played]
        product = rows[0].astype(float)
        for part in rows[1:-1]:
            product = (product[:, :, None] * part[:, None]).reshape(len(part), -1)
        total = total + (product.T @ rows[-1] if len(rows) > 1 else product.sum(0))
    return total.reshape(sizes)


GAPS = {"CCE": "external", "CE": "internal", "swap": "swap"}
"""Kind of regret whose maximum over players, per round, is each equilibrium gap."""


class Described:
    """Base of results that remember the game and the learners they came from.

    Both are shown and otherwise ignored: they are not part of the tuple, and transformations drop them.
    """

    game: Any = None
    learners: Any = None
    rounds: Any

    def of(self, game: Any, learners: Any) -> Any:
        """Set the game and the learners to show, and return the result itself."""
        self.game = game
        self.learners = learners
        return self

    @abstractmethod
    def summary(self) -> "Summary":
        """Sum the rounds into payoffs, regrets and averages, in double precision."""

    def _heading(self) -> str:
        unit = "round" if self.rounds == 1 else "rounds"
        name = "" if self.game is None else f"{self.game.name}, "
        return f"{name}{self.rounds:,} {unit}"

    def _table(self) -> dict[str, list[Any]]:
        """Return a row per player: its learner, payoff per round, regret and swap regret."""
        summary = self.summary()
        names = [f"player {n + 1}" for n in range(len(summary.matrices))]
        if self.game is not None:
            names = list(self.game.players)
        table: dict[str, list[Any]] = {"player": names}
        if self.learners is not None:
            table["learner"] = [str(learner) for learner in self.learners]
        numbers = {
            "payoff per round": summary.payoffs,
            "regret": summary.regrets("external"),
            "swap regret": summary.regrets("swap"),
        }
        for name, values in numbers.items():
            table[name] = (values.round(12) + 0.0).tolist()  # no negative zeros
        return table

    def _gaps(self) -> str:
        summary = self.summary()
        gaps = []
        for name, kind in GAPS.items():
            gap = max(summary.regrets(kind)) / summary.rounds
            gaps.append(f"{name} {round(gap, 12) + 0.0:.4g}")
        return f"Gaps of joint play: {', '.join(gaps)}"

    def __repr__(self) -> str:
        if not checks.are_concrete(self):
            return self._heading()
        table = self._table()
        rows = zip(*table.values(), strict=True)
        return "\n".join([self._heading(), text_table(table, rows), self._gaps()])

    def _repr_html_(self) -> str:
        table = self._table()
        shown = html_table(table, zip(*table.values(), strict=True), self._heading())
        plots = ""
        for n, policies in enumerate(getattr(self, "policies", ())):
            labels = [str(action + 1) for action in range(policies.shape[1])]
            if self.game is not None:
                labels = self.game.actions[n]
            plots += sketch(policies, labels, table["player"][n])
        return f"{shown}<p>{self._gaps()}</p>{plots}"


class _Sums(NamedTuple):
    rounds: int
    matrices: tuple[Float[Any, "_ _"], ...]
    averages: tuple[Float[Any, "_"], ...]
    joint: Float[Any, "*d"]


class Summary(Described, _Sums):
    r"""Sums over a play: $M_n = \sum_t \pi_{n,t} \ell_{n,t}^\top$, mean policies and joint play.

    Attributes:
        rounds: the number of rounds, $T$.
        matrices: $M_n$, of shape `(d_n, d_n)`, per player.
        averages: the mean policy, of shape `(d_n,)`, per player.
        joint: joint play $\mu_T$, of shape `(d_1, ..., d_N)`.

    >>> from regrax.games import matching_pennies, play
    >>> from regrax.learners import Uniform
    >>> summary = play(matching_pennies(), Uniform(), 1000, keep="summary")
    >>> summary.payoffs.tolist(), summary.regrets("swap").tolist()
    ([0.0, 0.0], [0.0, 0.0])
    """

    @property
    def payoffs(self) -> Float[np.ndarray, "N"]:
        r"""Payoff per round of each player, $-\mathrm{tr} M_n / T$."""
        return np.array([-np.trace(matrix) for matrix in self.matrices]) / self.rounds

    def regrets(self, kind: str = "external") -> Float[np.ndarray, "N"]:
        """Compute every player's `"external"`, `"internal"` or `"swap"` regret."""
        of = {
            "external": regret.external_of,
            "internal": regret.internal_of,
            "swap": regret.swap_of,
        }
        checks.one_of("kind", kind, of)
        return np.array([of[kind](regret.gains_of(matrix)) for matrix in self.matrices])

    def summary(self) -> "Summary":
        return self


def summary_of(joint: Float[np.ndarray, "*d"], game: Game, rounds: int) -> Summary:
    r"""Compute the sums from joint play: $M_n = T \sum_a \mu(a)\, e_{a_n} \ell_n(a_{-n})^\top$."""
    own = [unfolded(joint, n) for n in range(joint.ndim)]
    pairs = zip(own, game.loss_tables, strict=True)
    matrices = tuple(rounds * p @ losses.T for p, losses in pairs)
    return Summary(rounds, matrices, tuple(p.sum(1) for p in own), joint)


class _Rounds(NamedTuple):
    policies: tuple[Float[Any, "T _"], ...]
    losses: tuple[Float[Any, "T _"], ...]
    actions: tuple[Int[Any, "T"], ...] | None
    joint: Float[Any, "*d"]


class Trajectory(Described, _Rounds):
    r"""Policies and losses of every round, one entry per player, and joint play $\mu_T$.

    The regret of `played` on `losses` divided by `T` is the gap of `joint`, player by player.

    Attributes:
        policies: arrays of shape `(T, d_n)`, one per player.
        losses: losses of every action, of shape `(T, d_n)`, one array per player.
        actions: drawn actions, of shape `(T,)`, one array per player; None if losses are expectations.
        joint: joint play $\mu_T$, of shape `(d_1, ..., d_N)`.

    >>> from regrax.games import play
    >>> play("matching-pennies", ["hedge(0.1)", "uniform()"], 100, start=[[0.9, 0.1], None])
    matching-pennies, 100 rounds
    player    learner     payoff per round  regret  swap regret
    player 1  hedge(0.1)  0                 0       0
    player 2  uniform()   0                 0.8     0.8
    Gaps of joint play: CCE 0.008, CE 0.008, swap 0.008
    """

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return self.policies[0].shape[0]

    @property
    def played(self) -> tuple[Float[Any, "T _"], ...]:
        """The rows that joint play averages: policies, or drawn actions as one-hot rows."""
        from regrax.learners import Round

        return Round(self.policies, self.losses, self.actions).played

    def columns(self) -> dict[str, Any]:
        """Return a table with a row per round (from 1), player and action: probability, loss, and whether the action
        was drawn.

        >>> from regrax.games import play
        >>> play("matching-pennies", "hedge(0.1)", 2).columns()["probability"].tolist()
        [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]
        """
        sizes = [rows.shape[1] for rows in self.policies]
        players = np.repeat(np.arange(len(sizes)), sizes)
        actions = np.concatenate([np.arange(size) for size in sizes])
        table = {
            "round": np.repeat(np.arange(1, self.rounds + 1), sum(sizes)),
            "player": np.tile(players, self.rounds),
            "action": np.tile(actions, self.rounds),
            "probability": np.hstack(self.policies).ravel(),
            "loss": np.hstack(self.losses).ravel(),
        }
        drawn = {} if self.actions is None else {"drawn": np.hstack(self.played).ravel() > 0}
        return {**table, **drawn}

    to_pandas = to_pandas
    to_csv = to_csv
    to_latex = to_latex

    def summary(self) -> Summary:
        pairs = zip(self.played, self.losses, strict=True)
        joint = joint_sum(self.played) / self.rounds
        averages = tuple(unfolded(joint, n).sum(1) for n in range(joint.ndim))
        matrices = tuple(joint_sum(pair) for pair in pairs)
        return Summary(self.rounds, matrices, averages, joint).of(self.game, self.learners)
