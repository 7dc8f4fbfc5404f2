"""A chat model as a learner: asked once per round, its every exchange kept."""

import dataclasses
import json
from collections import Counter
from collections.abc import Callable
from functools import partial
from time import monotonic, sleep
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from regrax import _checks as checks
from regrax.agents._endpoint import KEPT_CHARACTERS, Endpoint
from regrax.agents._http import NoAnswer
from regrax.agents._parsers import PARSERS, AnswerReader
from regrax.agents._prompts import FEEDBACK, PROMPT, Asked, Told, check, fill
from regrax.agents._values import Policy
from regrax.games import Game
from regrax.learners import HostLearner, Key, runs_in_python

_static = partial(eqx.field, static=True)
_option = partial(_static, metadata={"option": True})
"""A field that a spec can set."""
MAX_SILENT = 5  # rounds in a row without a usable answer before play stops
MAX_SECONDS = 86_400.0
Messages = list[dict[str, str]]


@dataclasses.dataclass
class Record:
    """What was said: an exchange a round."""

    exchanges: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    silent: int = 0  # rounds in a row


class ChatAgent(HostLearner):
    r"""$\pi_t$ = what a chat model answers when told the losses of rounds $1, \dots, t-1$.

    Every round is one question in words, whose answer is read by a chain of parsers (`AnswerReader`). A failed request
    or an answer that no parser understands is asked again, `retries` times. If none is usable the round is played
    uniformly, which favours no action, and counted in `unanswered`. After five such rounds in a row play stops with the
    reason.

    Args:
        target: the url of a server of the common completions form, or a function from messages to an answer.
        model: the model's name, for the server.
        api_key_env: the environment variable that holds the key; see `Endpoint`.
        timeout: seconds until an answer must be there.
        retries: how often a question is asked again.
        system: a message of the system before each question.
        prompt: the template of a question: `$game`, `$player`, `$actions`, `$count`, `$kind`, `$feedback`, `$history`,
            `$round`, `$rounds` are filled in.
        history: "full", or "bandit" to tell the loss of the drawn action only (play needs a key then).
        shown: past rounds that are told one by one; sums are of all.
        temperature, max_tokens: passed to the server if given.
        parsers: which parsers read an answer, in order.
        regex: an expression whose last match is the answer, for the parser `regex`.
        game, player, names: what the questions call them; `seated` fills them in.
        record, reader, endpoint: made from the above; `seated` passes them on.
        prior: the policy of round 1; see `starting_at`.

    >>> import regrax as rx
    >>> agent = ChatAgent(lambda messages: "I think I will play heads.")
    >>> game = rx.games.matching_pennies()
    >>> rx.play(game, [agent.seated(game, 0), rx.Uniform()], 2).policies[0].tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    >>> agent.unanswered, dict(agent.counts)
    (0, {'name': 2})
    """

    target: str | Callable[[Messages], str] = eqx.field(static=True, repr=False)
    model: str = _option(default="default")
    api_key_env: str | None = _option(default=None)
    timeout: float = _option(default=30.0)
    retries: int = _option(default=2)
    system: str = _option(default="")
    prompt: str = _option(default=PROMPT)
    history: str = _option(default="full")
    shown: int = _option(default=50)
    temperature: float | None = _option(default=None)
    max_tokens: int | None = _option(default=None)
    parsers: tuple[str, ...] = _option(default=PARSERS, converter=tuple)
    regex: str | None = _option(default=None)
    game: str = _static(default="a repeated game")
    player: str = _static(default="a player")
    names: tuple[str, ...] = _static(default=(), converter=tuple)
    record: Record = _static(default_factory=Record, repr=False)
    reader: AnswerReader = _static(default=None, repr=False)  # pyright: ignore
    endpoint: Endpoint | None = _static(default=None, repr=False)
    prior: Any = eqx.field(default=None)

    def __post_init__(self) -> None:
        if not callable(self.target):
            self.endpoint = Endpoint(self.target, self.api_key_env)
        self.reader = self.reader or AnswerReader(self.parsers, self.regex)
        checks.positive("timeout", self.timeout)
        if self.timeout > MAX_SECONDS:
            raise ValueError(f"timeout must be at most {MAX_SECONDS:g} s, got {self.timeout:g}")
        checks.at_least("retries", self.retries, 0)
        checks.at_least("shown", self.shown, 1)
        if self.max_tokens is not None:
            checks.at_least("max_tokens", self.max_tokens, 1)
        if self.temperature is not None:
            checks.finite("temperature", self.temperature)
        if self.history not in FEEDBACK:
            raise ValueError(f'history must be "full" or "bandit", got {self.history!r}')
        check(self.prompt)

    @property
    def exchanges(self) -> list[dict[str, Any]]:
        """Questions and answers, an entry a round."""
        return self.record.exchanges

    @property
    def unanswered(self) -> int:
        """Rounds without a usable answer, which were played uniformly."""
        return sum(not exchange["answered"] for exchange in self.exchanges)

    @property
    def counts(self) -> Counter[str]:
        """How many answers each parser understood, and how many none did."""
        return self.reader.counts

    def seated(self, game: Game, player: int) -> "ChatAgent":
        """This agent as a player of a game, asked with its names; the record is shared."""
        labels = {"player": game.players[player], "names": game.actions[player]}
        return dataclasses.replace(self, game=game.name or "a repeated game", **labels)

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Told:
        if self.names and len(self.names) != actions:
            raise ValueError(f"names must name {actions} actions, got {len(self.names)}")
        self.record.silent = 0
        return Told(rounds, np.zeros((0, actions)), ())

    def policy(self, state: Told) -> Float[Array, "d"]:
        if not len(state.losses) and self.prior is not None:
            return jnp.asarray(self.prior, float)
        return jnp.asarray(self._answered(state), float)

    def observe(self, loss: Any, action: Any) -> Any:
        if self.history == "bandit" and action is None:
            raise ValueError(f"{self} is told its own actions, so they must be drawn: give a seed")
        return loss if action is None else (int(action), loss)

    def update(self, state: Told, feedback: Any) -> Told:
        action, loss = feedback if isinstance(feedback, tuple) else (None, feedback)
        runs_in_python([self], loss)
        actions = state.actions if action is None else (*state.actions, action)
        return Told(state.rounds, np.vstack([state.losses, np.asarray(loss, float)]), actions)

    def _answered(self, state: Told) -> Policy:
        d = state.losses.shape[1]
        names = self.names or tuple(map(str, range(d)))
        asked = Asked(self.game, self.player, names, self.history, self.shown)
        question = fill(self.prompt, asked, state)
        policy, tried = self._ask(question, names)
        answered = policy is not None
        self.exchanges.append({"question": question, "tries": tried, "answered": answered})
        self.record.silent = 0 if answered else self.record.silent + 1
        if self.record.silent >= MAX_SILENT or "final" in tried[-1]:
            raise ValueError(
                f"{self._label()} gave no usable answer in {self.record.silent} rounds in a row; "
                f"the last reason: {tried[-1]['problem']}"
            )
        return np.full(d, 1 / d) if policy is None else policy

    def _ask(self, question: str, names: tuple[str, ...]) -> tuple[Policy | None, Messages]:
        """The answer, if one is usable, and what every try gave."""
        tried: Messages = []
        for attempt in range(self.retries + 1):
            record, end = {}, monotonic() + self.timeout
            tried.append(record)
            try:
                text = self._say(question)
                record["answer"] = self._clean(text)
                policy = self.reader.read(text, names, max(0.1, end - monotonic()))
                record["parser"] = self.reader.last
                return policy, tried
            except NoAnswer as error:
                record["problem"] = self._clean(str(error))
                if not error.again:
                    record["final"] = "true"
                    break
                if attempt < self.retries:
                    sleep(0.25 * 2**attempt)
            except ValueError as error:
                record["problem"] = str(error)
        return None, tried

    def _say(self, question: str) -> str:
        messages = [{"role": "system", "content": self.system}] if self.system else []
        messages.append({"role": "user", "content": question})
        if self.endpoint is None:
            return self._call(messages)
        limits = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        given = {name: value for name, value in limits.items() if value is not None}
        body = {"model": self.model, "messages": messages, **given}
        return self.endpoint.ask(body, self.timeout)

    def _call(self, messages: Messages) -> str:
        assert callable(self.target)
        try:
            text = self.target(messages)
        except (Exception, SystemExit) as error:
            what = f"{self._label()} failed: {type(error).__name__}: {error}"
            raise NoAnswer(what, again=False) from error
        if not isinstance(text, str):
            raise NoAnswer(f"{self._label()} must answer with text, got {type(text).__name__}")
        return text

    def _label(self) -> str:
        name = getattr(self.target, "__name__", type(self.target).__name__)
        return self.endpoint.shown if self.endpoint else name

    def _clean(self, text: str) -> str:
        return self.endpoint.clean(text) if self.endpoint else text[:KEPT_CHARACTERS]

    def __str__(self) -> str:
        more = [json.dumps(self._label())]
        for field in dataclasses.fields(self):
            given = getattr(self, field.name)
            if "option" in field.metadata and given != field.default:
                text = ",".join(given) if isinstance(given, tuple) else given
                more.append(f"{field.name}={json.dumps(text)}")
        return f"agent({', '.join(more)})"
