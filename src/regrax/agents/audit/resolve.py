r"""Resolve rows: turn free-text answers into actions and, in a game, players' actions into the losses of every action.

In a game with payoffs $u$ the losses of player $n$ are $\ell_{n,j} = -u_n(j, a_{-n})$, so no propensity is needed. The
other players' actions come from the row's `others`, or from their rows for the same episode and round, anywhere in the
log.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from regrax.agents.answers import AnswerReader
from regrax.agents.audit.formats import Numbered
from regrax.agents.audit.layouts import Layout
from regrax.agents.audit.rows import VECTORS, Row, round_number, short
from regrax.games import Game
from regrax.specs import as_game

MAX_WAITING_ROUNDS = 1 << 20  # rounds in which some player's action has not been read yet


class Resolver:
    """Replaces answers with action names and, in a game, fills in losses; incomplete rounds are held back."""

    def __init__(self, layout: Layout, game: Game | str | None) -> None:
        self.names = layout.actions
        self.reader = AnswerReader(layout.parsers, layout.regex)
        self.game: Any = None if game is None else as_game(game)
        self.waiting: dict[tuple[Any, int], dict[int, tuple[int, Row]]] = {}  # by episode, round
        self.last_round: dict[tuple[Any, int], int] = {}  # by episode, player
        if self.game is not None:
            self.payoffs = np.asarray(self.game.payoffs, float)
            self.players = {str(n): n for n in range(len(self.payoffs))}
            self.players |= {name: n for n, name in enumerate(self.game.players)}
            self.losses = lru_cache(1 << 14)(self._losses)

    def resolve(self, rows: Iterable[Numbered]) -> Iterator[Numbered]:
        """Yield the complete rows, and the reason for each row that cannot be completed."""
        for line, row in rows:
            try:
                if isinstance(row, str):
                    yield line, row
                elif self.game is None:
                    yield line, self._name(row, self.names)
                else:
                    yield from self._in_game(line, row)
            except ValueError as error:
                yield line, str(error)

    def incomplete(self) -> Iterator[Numbered]:
        """Yield a reason for every row whose round was never completed."""
        for waiting in self.waiting.values():
            for line, _ in waiting.values():
                count = f"{len(waiting)} of {len(self.payoffs)}"
                yield line, f"its round must have an action from every player, got {count}"

    def _name(self, row: Row, names: tuple[str, ...]) -> Row:
        """Replace positions in a row's vectors and action with action names; an answer may be a policy."""
        if not names:
            return row
        for field in VECTORS:
            vector = getattr(row, field)
            if isinstance(vector, list) and len(vector) == len(names):
                setattr(row, field, dict(zip(names, vector, strict=True)))
        if isinstance(row.action, int | float):
            if row.action not in range(len(names)):
                raise ValueError(
                    f"action must be from 0 to {len(names) - 1}, got {short(row.action)}"
                )
            row.action = names[int(row.action)]
        elif isinstance(row.action, str) and row.action not in names:
            policy = self.reader.read(row.action, names)
            row.parser = self.reader.last
            row.action = None
            if policy.max() == 1:
                row.action = names[int(policy.argmax())]
            elif row.policy is None:
                row.policy = dict(zip(names, policy.tolist(), strict=True))
        return row

    def _in_game(self, line: int, row: Row) -> Iterator[Numbered]:
        player = self._player(row)
        row = self._name(row, self.game.actions[player])
        if row.action is None:
            raise ValueError("a row must give the action that was played, got none")
        if row.others is not None:
            yield line, self._with_losses(row, player, self._others(row, player))
            return
        place = row.episode, self._round(row, player)
        if place not in self.waiting and len(self.waiting) >= MAX_WAITING_ROUNDS:
            raise ValueError(
                f"at most {MAX_WAITING_ROUNDS:,} rounds may wait for other players' actions"
            )
        waiting = self.waiting.setdefault(place, {})
        if player in waiting:
            raise ValueError(
                f"player {short(self.game.players[player])} has already played this round"
            )
        waiting[player] = line, row
        if len(waiting) == len(self.payoffs):
            del self.waiting[place]
            actions = [self._place(n, waiting[n][1]) for n in range(len(waiting))]
            for n, (own_line, own_row) in sorted(waiting.items()):
                others = (*actions[:n], *actions[n + 1 :])
                yield own_line, self._with_losses(own_row, n, others)

    def _player(self, row: Row) -> int:
        name = row.agent if row.player is None else row.player
        if isinstance(name, float) and name.is_integer():
            name = int(name)
        if str(name) in self.players:
            return self.players[str(name)]
        if row.player is None and row.others is not None:
            return 0
        known = ", ".join(list(self.players)[len(self.payoffs) :])
        raise ValueError(
            f"player (or agent) must be one of {short(known)} or an index from 0, got {short(name)}"
        )

    def _round(self, row: Row, player: int) -> int:
        place = row.episode, player
        number = self.last_round.get(place, 0) + 1 if row.round is None else row.round
        self.last_round[place] = row.round = round_number(number)
        return row.round

    def _place(self, player: int, row: Row) -> int:
        return self.game.actions[player].index(str(row.action))

    def _others(self, row: Row, player: int) -> tuple[int, ...]:
        """Return the indices of the other players' actions."""
        actions = row.others if isinstance(row.others, list) else [row.others]
        players = [n for n in range(len(self.payoffs)) if n != player]
        if len(actions) != len(players):
            raise ValueError(f"others must have {len(players)} actions, got {len(actions)}")
        places = []
        for n, action in zip(players, actions, strict=True):
            other = self._name(Row(action=action), self.game.actions[n])
            if other.action is None:
                raise ValueError("others must be actions, got a distribution")
            places.append(self._place(n, other))
        return tuple(places)

    def _losses(self, player: int, others: tuple[int, ...]) -> dict[str, float]:
        losses = -self.payoffs[(player, *others[:player], slice(None), *others[player:])]
        return dict(zip(self.game.actions[player], losses.tolist(), strict=True))

    def _with_losses(self, row: Row, player: int, others: tuple[int, ...]) -> Row:
        """Replace a row's loss information with the game's losses for every action."""
        losses = self.losses(player, others)
        return Row(
            episode=row.episode,
            agent=row.agent,
            round=row.round,
            action=row.action,
            losses=losses,
            answered=row.answered,
            parser=row.parser,
        )
