"""A chat endpoint of the common completions form as an agent: asked once a round, its every exchange kept."""

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any
from urllib.parse import SplitResult, urlsplit

import numpy as np
from jaxtyping import Float

from regrax import _checks as checks
from regrax.agents._answers import read_answer
from regrax.agents._http import NoAnswer, post

USUAL_KEY = "OPENAI_API_KEY"
SHOWN = 50  # past rounds in a question; the sums are of all
KEPT = 2000  # characters of an answer in the log
SILENT = 5  # rounds in a row without a usable answer before play stops
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass
class ChatAgent:
    r"""$\pi_t$ = what a chat endpoint answers when told the losses of rounds $1, \dots, t-1$.

    Every round is one question in words; the answer must be an action or a distribution (`regrax.agents._answers`). A
    failed request or an unusable answer is asked again, `retries` times. If none is usable the round is played
    uniformly, which favours no action, and counted in `unanswered`; nothing is read into nonsense. After five such
    rounds in a row play stops with the reason.

    The key is read from the environment variable `key` (by default the usual one, if it is set) at every request, sent
    only over https or to this machine, and struck out of everything that is kept. `exchanges` has an entry a round.

    >>> agent = ChatAgent("http://127.0.0.1:8000", model="small")
    >>> agent.address
    'http://127.0.0.1:8000/v1/chat/completions'
    """

    url: str
    model: str = "default"
    key: str | None = None
    timeout: float = 30.0
    retries: int = 2
    exchanges: list[dict[str, Any]] = field(default_factory=list, repr=False)
    unanswered: int = 0
    pause: Callable[[float], None] = field(default=time.sleep, repr=False)
    _silent: int = field(default=0, repr=False)

    def __post_init__(self) -> None:
        self._target = _endpoint(self.url)
        checks.positive("timeout", self.timeout)
        checks.at_least("retries", self.retries, 0)
        if self.key is not None and not os.environ.get(self.key):
            raise ValueError(f"key names the environment variable {self.key}, but it is not set")
        if self.key is not None and not self._is_private():
            raise ValueError(
                "a key goes only over https or to this machine, but the url is neither"
            )
        self.__name__ = self._arguments()  # `Agent` prints it: the spec again

    def _arguments(self) -> str:
        given = {
            "model": self.model,
            "key": self.key,
            "timeout": self.timeout,
            "retries": self.retries,
        }
        usual = {f.name: f.default for f in fields(self)}
        more = [f"{name}={json.dumps(v)}" for name, v in given.items() if v != usual[name]]
        return ", ".join([json.dumps(self.url), *more])

    @property
    def address(self) -> str:
        """Where requests go."""
        return self._target.geturl()

    def __call__(self, losses: Float[np.ndarray, "past d"]) -> Float[np.ndarray, "d"]:
        """Ask for this round's policy."""
        question = ask(losses)
        tried: list[dict[str, str]] = []
        policy = self._ask(question, losses.shape[1], tried)
        answered = policy is not None
        self.exchanges.append({"question": question, "tries": tried, "answered": answered})
        self._silent = 0 if answered else self._silent + 1
        self.unanswered += not answered
        if self._silent >= SILENT or (self._silent and tried[-1].get("final")):
            raise ValueError(
                f"{self.url} gave no usable answer in {self._silent} rounds in a row; "
                f"the last reason: {tried[-1]['problem']}"
            )
        return np.full(losses.shape[1], 1 / losses.shape[1]) if policy is None else policy

    def _ask(
        self, question: str, actions: int, tried: list[dict[str, str]]
    ) -> Float[np.ndarray, "d"] | None:
        for attempt in range(self.retries + 1):
            record: dict[str, str] = {}
            tried.append(record)
            try:
                text = self._answer(question)
                record["answer"] = self._clean(text)
                return read_answer(text, actions)
            except NoAnswer as error:
                record["problem"] = self._clean(str(error))
                if not error.again:
                    record["final"] = "true"
                    return None
                if attempt < self.retries:
                    self.pause(0.25 * 2**attempt)
            except ValueError as error:
                record["problem"] = str(error)
        return None

    def _answer(self, question: str) -> str:
        body = {"model": self.model, "messages": [{"role": "user", "content": question}]}
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        secret = self._secret()
        if secret:
            headers["Authorization"] = f"Bearer {secret}"
        found = post(self._target, json.dumps(body).encode(), headers, self.timeout)
        try:
            text = found["choices"][0]["message"]["content"]
        except (TypeError, KeyError, IndexError):
            text = None
        if not isinstance(text, str):
            raise NoAnswer("the answer has no text at choices[0].message.content")
        return text

    def _secret(self) -> str:
        secret = os.environ.get(self.key or USUAL_KEY, "").strip() if self._is_private() else ""
        return secret if secret.isascii() and secret.isprintable() else ""

    def _is_private(self) -> bool:
        return self._target.scheme == "https" or self._target.hostname in LOOPBACK

    def _clean(self, text: str) -> str:
        """Text as it may be kept: without the key, without what cannot be written, not too long."""
        secret = os.environ.get(self.key or USUAL_KEY, "").strip()
        text = text.replace(secret, "***") if secret else text
        return text[:KEPT].encode("utf-8", "replace").decode()


def ask(losses: Float[np.ndarray, "past d"]) -> str:
    """The question of a round, in words.

    >>> print(ask(np.array([[0.5, 1.0]])))
    You choose among 2 actions, numbered 0 to 1, again and again. After each round you learn the loss of every action.
    Lower is better: make your total loss over all rounds as small as you can.
    Losses so far (round: action 0, action 1):
    1: 0.5, 1
    Sums over all 1 rounds: 0.5, 1
    This is round 2. Answer with nothing but the number of one action, or a JSON list of 2 probabilities.
    """
    past, d = losses.shape
    lines = [
        f"You choose among {d} actions, numbered 0 to {d - 1}, again and again. "
        "After each round you learn the loss of every action.",
        "Lower is better: make your total loss over all rounds as small as you can.",
    ]
    if past:
        names = ", ".join(f"action {j}" for j in range(d))
        since = f" the last {SHOWN} rounds" if past > SHOWN else ""
        lines.append(f"Losses so far{since and ','}{since} (round: {names}):")
        first = max(0, past - SHOWN)
        lines += [f"{first + t + 1}: {_row(row)}" for t, row in enumerate(losses[first:])]
        lines.append(f"Sums over all {past} rounds: {_row(losses.sum(0))}")
    lines.append(
        f"This is round {past + 1}. Answer with nothing but the number of one action, "
        f"or a JSON list of {d} probabilities."
    )
    return "\n".join(lines)


def _row(values: Float[np.ndarray, "d"]) -> str:
    return ", ".join(f"{value:.6g}" for value in values)


def _endpoint(url: str) -> SplitResult:
    """Where to post: the completions path is added unless the url has it."""
    wrong = ValueError(f"an agent's url must be http(s)://host[:port][/path], but is {url!r}")
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise wrong from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not url.isprintable():
        raise wrong
    if parts.username is not None or parts.password is not None:
        raise ValueError(
            "an agent's url must hold no password; name an environment variable as key"
        )
    path = parts.path.rstrip("/") or "/v1"
    path = path if path.endswith("/chat/completions") else f"{path}/chat/completions"
    return parts._replace(path=path, fragment="")
