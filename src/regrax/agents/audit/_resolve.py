r"""Rows made whole: answers in words to actions, and in a game what the players did to the losses of every action.

In a game of payoffs $u$ the losses of player $n$ are $\ell_{n,j} = -u_n(j, a_{-n})$: they need no propensity.
The other players' actions are those of the same episode and round, wherever in the log, or the row's `others`.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from regrax.agents._parsers import AnswerReader
from regrax.agents.audit._formats import Numbered
from regrax.agents.audit._layout import Layout
from regrax.agents.audit._rows import VECTORS, Row, round_number
from regrax.agents.audit._text import short
from regrax.games import Game
from regrax.specs import as_game

Place = tuple[Any, int]  # an episode, and a round or a player
MAX_WAITING_ROUNDS = 1 << 20  # of which some player's action has not been read yet
MAX_CACHED = 1 << 14  # loss vectors


class Resolver:
    """Takes rows as they are read and gives them back whole; those of a round that is not complete wait."""

    def __init__(self, layout: Layout, game: Game | str | None) -> None:
        self.game: Any = None if game is None else as_game(game)
        self.reader, self.names = AnswerReader(layout.parsers, layout.regex), layout.actions
        self.waiting: dict[Place, dict[int, tuple[int, Row]]] = {}
        self.rounds: dict[Place, int] = {}  # the last round of a player in an episode
        if self.game is not None:
            self.payoffs = np.asarray(self.game.payoffs, float)
            self.seats = {str(n): n for n in range(len(self.payoffs))}
            self.seats |= {name: n for n, name in enumerate(self.game.players)}
            self.losses = lru_cache(MAX_CACHED)(self._losses)

    def resolved(self, rows: Iterable[Numbered]) -> Iterator[Numbered]:
        """Rows that are whole, and the reasons of those that cannot be."""
        for line, row in rows:
            try:
                if isinstance(row, str) or self.game is None:
                    yield line, row if isinstance(row, str) else self._named(row, self.names)
                else:
                    yield from self._joined(line, row)
            except ValueError as error:
                yield line, str(error)

    def left(self) -> Iterator[Numbered]:
        """Rows whose round never became complete."""
        for waiting in self.waiting.values():
            for line, _ in waiting.values():
                count = f"{len(waiting)} of {len(self.payoffs)}"
                yield line, f"its round must have an action of every player, got {count}"

    def _named(self, row: Row, names: tuple[str, ...]) -> Row:
        """The row with its answer as an action's name (or as a policy), and vectors by name."""
        if not names:
            return row
        for name in VECTORS:
            if isinstance(value := getattr(row, name), list) and len(value) == len(names):
                setattr(row, name, dict(zip(names, value, strict=True)))
        if isinstance(row.action, str) and row.action not in names:
            policy, row.parser = self.reader.read(row.action, names), self.reader.last
            row.action = names[int(policy.argmax())] if policy.max() == 1 else None
            if row.action is None and row.policy is None:
                row.policy = dict(zip(names, policy.tolist(), strict=True))
        elif isinstance(row.action, int | float):
            places = range(len(names))
            if row.action not in places:
                raise ValueError(f"action must be from 0 to {places[-1]}, got {short(row.action)}")
            row.action = names[int(row.action)]
        return row

    def _joined(self, line: int, row: Row) -> list[Numbered]:
        seat = self._seat(row)
        row = self._named(row, self.game.actions[seat])
        if row.action is None:
            raise ValueError("a row must give the action that was played, got none")
        if row.others is not None:
            return [(line, self._paid(row, seat, self._others(row, seat)))]
        place = row.episode, self._round(row, seat)
        if place not in self.waiting and len(self.waiting) >= MAX_WAITING_ROUNDS:
            raise ValueError(
                f"at most {MAX_WAITING_ROUNDS:,} rounds may wait for the actions of other players"
            )
        waiting = self.waiting.setdefault(place, {})
        if seat in waiting:
            name = short(self.game.players[seat])
            raise ValueError(f"player {name} has played this round before")
        waiting[seat] = line, row
        return self._complete(place) if len(waiting) == len(self.payoffs) else []

    def _complete(self, place: Place) -> list[Numbered]:
        rows = sorted(self.waiting.pop(place).items())
        chosen = [self.game.actions[n].index(str(row.action)) for n, (_, row) in rows]
        return [
            (line, self._paid(row, n, (*chosen[:n], *chosen[n + 1 :]))) for n, (line, row) in rows
        ]

    def _seat(self, row: Row) -> int:
        name = row.agent if row.player is None else row.player
        whole = int(name) if isinstance(name, float) and name.is_integer() else name
        if str(whole) in self.seats:
            return self.seats[str(whole)]
        if row.player is None and row.others is not None:
            return 0
        known = ", ".join(list(self.seats)[len(self.payoffs) :])
        raise ValueError(
            f"player (or agent) must be one of {short(known)} or a place from 0, got {short(name)}"
        )

    def _round(self, row: Row, seat: int) -> int:
        place = row.episode, seat
        number = self.rounds.get(place, 0) + 1 if row.round is None else row.round
        self.rounds[place] = row.round = round_number(number)
        return row.round

    def _others(self, row: Row, seat: int) -> tuple[int, ...]:
        """The other players' actions as places."""
        given = row.others if isinstance(row.others, list) else [row.others]
        names = [own for n, own in enumerate(self.game.actions) if n != seat]
        if len(given) != len(names):
            raise ValueError(f"others must have {len(names)} actions, got {len(given)}")
        rows = [self._named(Row(action=a), own) for a, own in zip(given, names, strict=True)]
        if any(one.action is None for one in rows):
            raise ValueError("others must be actions, got a distribution")
        return tuple(own.index(str(one.action)) for one, own in zip(rows, names, strict=True))

    def _losses(self, seat: int, others: tuple[int, ...]) -> dict[str, float]:
        losses = -self.payoffs[(seat, *others[:seat], slice(None), *others[seat:])]
        return dict(zip(self.game.actions[seat], losses.tolist(), strict=True))

    def _paid(self, row: Row, seat: int, others: tuple[int, ...]) -> Row:
        """The row with the losses of every action in place of whatever it said of losses."""
        row.losses, row.policy = self.losses(seat, others), None
        row.payoffs = row.loss = row.payoff = row.propensity = None
        return row
