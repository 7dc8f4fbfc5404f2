"""Chat models as learners, asked one question per round, with every exchange recorded."""

import dataclasses
import json
from collections import Counter
from collections.abc import Callable
from functools import partial
from string import Template
from time import monotonic
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from regrax import _checks as checks
from regrax.agents.answers import PARSERS, AnswerReader, Policy
from regrax.agents.cache import Answer, AnswerCache, request_key
from regrax.agents.endpoint import Endpoint
from regrax.games import Game
from regrax.learners import HostLearner, Key, runs_in_python

MAX_SILENT_ROUNDS = 5  # play stops after this many in a row
MAX_SECONDS = 86_400.0
LOGGED_CHARACTERS = 2000  # per answer
Messages = list[dict[str, str]]
_static = partial(eqx.field, static=True)
_option = partial(_static, metadata={"option": True})  # a field that a spec can set


PROMPT = """You are $player in $game. Each round you choose one action: $actions. After it you learn $feedback.
Lower is better: make your total loss over $rounds as small as you can.
Losses so far: $history
This is round $round. Answer with nothing but the $kind of one action, or a JSON list of $count probabilities."""
FEEDBACK = {"full": "the loss of every action", "bandit": "the loss of the action you played"}


class Past(NamedTuple):
    """The part of an episode that a chat agent has seen.

    Attributes:
        rounds: total number of rounds, if known.
        losses: losses in the past rounds.
        actions: actions sampled in the past rounds; empty if policies are played.
    """

    rounds: int | None
    losses: Float[np.ndarray, "past d"]
    actions: tuple[int, ...]


class ChatAgent(HostLearner):
    r"""Play $\pi_t$, a chat model's answer to a question that lists the losses of rounds $1, \dots, t-1$.

    Each round asks one question in words, and a chain of parsers (`AnswerReader`) reads the answer. If no parser
    understands it, the question is asked again, up to `retries` times. If there is still no usable answer, the agent
    plays uniformly in that round, which favours no action, and the round is counted in `unanswered`. After five such
    rounds in a row, play stops with an error that gives the reason. A request that fails is not the model's choice: it
    is repeated for a while, and then play stops.

    Args:
        target: the url of a server with an OpenAI-compatible chat completions API, or a function that maps messages to
            an answer.
        model: the model name sent to the server.
        api_key_env: the environment variable that holds the key; see `Endpoint`.
        timeout: the time limit for an answer, in seconds.
        retries: how many times to repeat a question whose answer is unusable, or that a server which has never answered
            does not answer.
        system: a system message sent before each question.
        prompt: the question template, in which `$game`, `$player`, `$actions`, `$count`, `$kind`, `$feedback`,
            `$history`, `$round` and `$rounds` are filled in.
        history: "full", or "bandit" to show only the loss of the sampled action (which requires a key for `play`).
        shown: how many past rounds to list one by one; sums cover all rounds.
        temperature, max_tokens: passed to the server if set.
        parsers: the parsers that read an answer, in order.
        regex: a regular expression whose last match is the answer, used by the parser `regex`.
        game, player, names: names used in the questions; `seated` sets them.
        reader, endpoint: built from the arguments above; `seated` passes them on.
        exchanges: questions and answers, one entry per round.
        cache, place: where to look for answers, and the game, player and episode they belong to; see `for_episode`.
        prior: the policy for round 1; see `starting_at`.

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
    exchanges: list[dict[str, Any]] = _static(default_factory=list, repr=False)
    reader: AnswerReader = _static(default=None, repr=False)  # pyright: ignore
    endpoint: Endpoint | None = _static(default=None, repr=False)
    cache: AnswerCache | None = _static(default=None, repr=False)
    place: tuple[Any, ...] = _static(default=(), repr=False)
    prior: Any = eqx.field(default=None)

    def __post_init__(self) -> None:
        if not callable(self.target) and self.endpoint is None:
            self.endpoint = Endpoint(self.target, self.api_key_env)
        self.reader = self.reader or AnswerReader(self.parsers, self.regex)
        checks.positive("timeout", self.timeout)
        if self.timeout > MAX_SECONDS:
            raise ValueError(f"timeout must be at most {MAX_SECONDS:g} s, got {self.timeout:g}")
        checks.at_least("retries", self.retries, 0)
        checks.at_least("shown", self.shown, 1)
        checks.at_least("max_tokens", 1 if self.max_tokens is None else self.max_tokens, 1)
        checks.finite("temperature", self.temperature or 0.0)
        checks.one_of("history", self.history, FEEDBACK)
        try:
            self.question(Past(None, np.zeros((0, 1)), ()), ("",))
        except (KeyError, ValueError) as error:
            known = "$game, $player, $actions, $count, $kind, $feedback, $history, $round, $rounds"
            reason = f"prompt may contain only {known} (and $$ for $), got {error}"
            raise ValueError(reason) from None

    @property
    def unanswered(self) -> int:
        """Number of rounds without a usable answer, which were played uniformly."""
        return sum(not exchange["answered"] for exchange in self.exchanges)

    @property
    def counts(self) -> Counter[str]:
        """Number of answers understood by each parser, and the number that went `unread`."""
        counts: Counter[str] = Counter()
        for exchange in self.exchanges:
            for tried in exchange["tries"]:
                counts.update(tried.get("parser", "unread").split("+"))
        return counts

    def seated(self, game: Game, player: int) -> "ChatAgent":
        """Return a copy that asks with a game's names as one of its players; the exchanges are shared."""
        return dataclasses.replace(
            self,
            game=game.name or "a repeated game",
            player=game.players[player],
            names=game.actions[player],
        )

    def init(self, actions: int, rounds: int | None = None, *, key: Key = None) -> Past:
        if self.names and len(self.names) != actions:
            raise ValueError(
                f"names must have {actions} entries, one per action, got {len(self.names)}"
            )
        return Past(rounds, np.zeros((0, actions)), ())

    def policy(self, state: Past) -> Float[Array, "d"]:
        if self.prior is not None and not len(state.losses):
            return jnp.asarray(self.prior, float)
        return jnp.asarray(self._ask(state), float)

    def observe(self, loss: Any, action: Any) -> Any:
        if self.history == "bandit" and action is None:
            raise ValueError(f"{self} needs its own actions, so they must be sampled: pass a seed")
        return loss if action is None else (int(action), loss)

    def update(self, state: Past, feedback: Any) -> Past:
        action, loss = feedback if isinstance(feedback, tuple) else (None, feedback)
        actions = state.actions if action is None else (*state.actions, action)
        runs_in_python([self], loss)
        return Past(state.rounds, np.vstack([state.losses, np.asarray(loss, float)]), actions)

    def for_episode(self, cache: AnswerCache | None, *place: Any) -> "ChatAgent":
        """Return a copy with its own exchanges for an episode, named by game, player, seed and number."""
        reader = AnswerReader(self.parsers, self.regex)
        return dataclasses.replace(self, cache=cache, place=place, exchanges=[], reader=reader)

    def question(self, past: Past, names: tuple[str, ...]) -> str:
        """Fill in the prompt for a round.

        >>> agent = ChatAgent(str, game="matching-pennies", player="row")
        >>> print(agent.question(Past(20, np.array([[0.5, 1.0]]), (1,)), ("heads", "tails")))
        You are row in matching-pennies. Each round you choose one action: heads, tails. After it you learn the loss of
        every action.
        Lower is better: make your total loss over 20 rounds as small as you can.
        Losses so far: (round: heads, tails)
        1: 0.5, 1; you played tails
        Sums over all 1 rounds: 0.5, 1
        This is round 2. Answer with nothing but the name of one action, or a JSON list of 2 probabilities.
        """
        are_indices = names == tuple(map(str, range(len(names))))
        return Template(self.prompt).substitute(
            game=self.game,
            player=self.player,
            actions=", ".join(names),
            count=len(names),
            kind="number" if are_indices else "name",
            feedback=FEEDBACK[self.history],
            history=self._past(past, names) if len(past.losses) else "none yet",
            round=len(past.losses) + 1,
            rounds="all rounds" if past.rounds is None else f"{past.rounds} rounds",
        )

    def _past(self, past: Past, names: tuple[str, ...]) -> str:
        """List the last rounds, and the sums or means of all."""
        rounds = len(past.losses)
        first = max(0, rounds - self.shown)
        since = f"the last {self.shown} rounds, " if first else ""
        actions = np.array(past.actions, int)
        lines = []
        if self.history == "bandit":
            means = []
            for place, name in enumerate(names):
                own = past.losses[actions == place, place]
                seen = f"{own.mean():.6g} in {len(own)}" if len(own) else "never played"
                means.append(f"{name} {seen}")
            for t in range(first, rounds):
                action = actions[t]
                lines.append(f"{t + 1}: {names[action]}, {past.losses[t, action]:.6g}")
            head = "action, its loss"
            last = f"Means over all {rounds} rounds: {', '.join(means)}"
        else:
            for t in range(first, rounds):
                played = f"; you played {names[actions[t]]}" if past.actions else ""
                lines.append(f"{t + 1}: {_listed(past.losses[t])}{played}")
            head = ", ".join(names)
            last = f"Sums over all {rounds} rounds: {_listed(past.losses.sum(0))}"
        return "\n".join([f"({since}round: {head})", *lines, last])

    def _ask(self, past: Past) -> Policy:
        """Ask for the policy of a round, again if the answer is unusable, and record the exchange."""
        d = past.losses.shape[1]
        names = self.names or tuple(map(str, range(d)))
        question = self.question(past, names)
        tries: list[dict[str, Any]] = []
        policy = None
        while policy is None and len(tries) <= self.retries:
            answer = self._answer(question, len(past.losses) + 1, len(tries))
            entry: dict[str, Any] = {"answer": answer.text[:LOGGED_CHARACTERS]}
            entry["seconds"] = round(answer.seconds, 3)
            if answer.input_tokens is not None:
                entry["tokens"] = [answer.input_tokens, answer.output_tokens]
                if self.cache is not None and max(self.cache.prices) > 0:
                    entry["cost"] = self.cache.cost(*entry["tokens"])
            try:
                policy = self.reader.read(answer.text, names, self.timeout)
                entry["parser"] = self.reader.last
            except ValueError as error:
                entry["problem"] = str(error)
            tries.append(entry)
        answered = policy is not None
        self.exchanges.append({"question": question, "tries": tries, "answered": answered})
        recent = [exchange["answered"] for exchange in self.exchanges[-MAX_SILENT_ROUNDS:]]
        silent = recent.count(False)
        if silent == MAX_SILENT_ROUNDS and len(past.losses) + 1 >= silent:
            raise ValueError(
                f"{self._label()} gave no usable answer for {silent} rounds in a row; "
                f"the last reason was: {tries[-1]['problem']}"
            )
        return np.full(d, 1 / d) if policy is None else policy

    def _answer(self, question: str, number: int, attempt: int) -> Answer:
        """Return the answer in the cache, or ask and add it to the cache."""
        messages = [{"role": "system", "content": self.system}] if self.system else []
        messages.append({"role": "user", "content": question})
        body: dict[str, Any] = {"model": self.model, "messages": messages}
        for name in ("temperature", "max_tokens"):
            if getattr(self, name) is not None:
                body[name] = getattr(self, name)
        if self.cache is None:
            return self._request(body)
        key = request_key({"target": self._label(), **body}, *self.place, number, attempt)
        return self.cache.answer(key, partial(self._request, body))

    def _request(self, body: dict[str, Any]) -> Answer:
        if self.endpoint is not None:
            return self.endpoint.ask(body, self.timeout, self.retries)
        assert callable(self.target)
        began = monotonic()
        try:
            text = self.target(body["messages"])
        except (Exception, SystemExit) as error:
            reason = f"{self._label()} failed: {type(error).__name__}: {error}"
            raise ValueError(reason) from error
        if not isinstance(text, str):
            raise ValueError(f"{self._label()} must return a string, got {type(text).__name__}")
        return Answer(text.encode("utf-8", "replace").decode(), seconds=monotonic() - began)

    def _label(self) -> str:
        if self.endpoint is not None:
            return self.endpoint.shown
        return getattr(self.target, "__name__", type(self.target).__name__)

    def __str__(self) -> str:
        arguments = [json.dumps(self._label())]
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if "option" in field.metadata and value != field.default:
                text = ",".join(value) if isinstance(value, tuple) else value
                arguments.append(f"{field.name}={json.dumps(text)}")
        return f"agent({', '.join(arguments)})"


def _listed(values: Float[np.ndarray, "d"]) -> str:
    return ", ".join(f"{value:.6g}" for value in values)
