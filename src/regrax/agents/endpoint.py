"""Client for OpenAI-compatible chat servers. Addresses, keys and answers are all untrusted."""

import asyncio
import json
import os
import random
import ssl
import threading
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from time import monotonic
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

from regrax import _checks as checks
from regrax.agents.cache import Answer

DEFAULT_KEY = "OPENAI_API_KEY"
MIN_SECRET_CHARACTERS = 6  # a shorter value in a query, as in `v=1`, is not a secret
MAX_ANSWER_BYTES = 1 << 20
MAX_FAILURES = 6  # in a row, of a server that has answered before: about 40 s
MAX_BACKOFF = 60.0  # seconds between two requests, unless the server demands more
MAX_WAIT = 600.0  # seconds to wait in all because a server demands it
LOOPBACK = ("127.0.0.1", "::1", "localhost")


class NoAnswer(Exception):
    """Raised if a request gets no answer.

    Attributes:
        again: True if another request may succeed.
        wait: the seconds that the server demands to wait before it, if any.
    """

    def __init__(self, reason: str, again: bool = True, wait: float | None = None) -> None:
        super().__init__(reason)
        self.again = again
        self.wait = wait


class Endpoint:
    """The address of a chat server.

    For every request, the key is read from the environment variable `api_key_env` (by default `OPENAI_API_KEY`, if it
    is set). It is sent only over https or to this machine, and it is removed from all answers, as are the values in the
    url's query string.

    >>> Endpoint("http://127.0.0.1:8000?token=secret").shown
    'http://127.0.0.1:8000?***'
    """

    def __init__(self, url: str, api_key_env: str | None = None) -> None:
        checks.instance("target", url, str, "a url or a function")
        self.shown = url.partition("?")[0] + ("?***" if "?" in url else "")
        self.target = _completions_url(url, self.shown)
        self.api_key_env = api_key_env
        self._client: Any = None
        self._loop = _event_loop()
        self._has_answered = False
        if api_key_env is None:
            return
        if not os.environ.get(api_key_env):  # not printed, since it may be the key itself
            raise ValueError("api_key_env must name an environment variable that is set")
        if not self._is_private():
            raise ValueError(
                "a key is sent only over https or to this machine, but the url is neither https nor local"
            )

    def ask(self, body: dict[str, Any], timeout: float, retries: int) -> Answer:
        """Post a request and return the answer; raise ValueError if there is none.

        A failed request is repeated after a pause that doubles each time. A server that demands a pause (Retry-After)
        gets it, and such requests do not count as failed.

        Args:
            body: the request.
            timeout: the time limit for one request, in seconds.
            retries: how many failed requests to repeat if the server has never answered.
        """
        asked = asyncio.run_coroutine_threadsafe(self._ask(body, timeout, retries), self._loop)
        return asked.result()

    async def _ask(self, body: dict[str, Any], timeout: float, retries: int) -> Answer:
        waited = 0.0
        failed = 0
        pause = 0.25
        while True:
            began = monotonic()
            try:
                answer = await self._post(body, timeout)
                self._has_answered = True
                return answer._replace(seconds=round(monotonic() - began, 3))
            except NoAnswer as error:
                pause = min(2 * pause, MAX_BACKOFF)
                # requests that failed together must not be repeated together
                delay = max(pause, error.wait or 0.0) * random.uniform(1, 1.25)
                if error.wait is None:
                    failed += 1
                else:
                    waited += delay
                most = MAX_FAILURES if self._has_answered else retries
                if not error.again or failed > most or waited > MAX_WAIT:
                    raise ValueError(f"{self.shown} gave no answer: {error}") from None
            await asyncio.sleep(delay)

    async def _post(self, body: dict[str, Any], timeout: float) -> Answer:
        import httpx

        if self._client is None:
            # unlike httpx's defaults, use the system's certificates, and no proxy, which would see the key
            verify = ssl.create_default_context()
            settings = {"verify": verify, "limits": httpx.Limits(max_connections=None)}
            self._client = httpx.AsyncClient(timeout=None, trust_env=False, **settings)
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        secret = self._secret()
        if secret.isascii() and secret.isprintable() and secret and self._is_private():
            headers["Authorization"] = f"Bearer {secret}"
        url = self.target.geturl()
        try:
            async with (
                asyncio.timeout(timeout),
                self._client.stream("POST", url, json=body, headers=headers) as response,
            ):
                return await self._read(response)
        except TimeoutError:
            raise NoAnswer(f"no answer within {timeout:g} s") from None
        except httpx.HTTPError as error:
            reason = self.clean(str(error)) or type(error).__name__
            raise NoAnswer(f"the connection failed: {reason}") from None

    async def _read(self, response: Any) -> Answer:
        """Read a server's answer, or raise `NoAnswer`."""
        status = response.status_code
        if 300 <= status < 400:
            reason = f"the server redirects (status {status}), and redirects are not followed"
            raise NoAnswer(reason, again=False)
        if status != 200:
            again = status in (408, 425, 429) or status >= 500
            wait = _demanded_pause(response.headers)
            pause = "" if wait is None else f", Retry-After {wait:.0f} s"
            raise NoAnswer(f"status {status}{pause}", again, wait)
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind != "application/json" and not kind.endswith("+json"):
            raise NoAnswer("the content type of the answer is not JSON")
        data = b""
        async for chunk in response.aiter_raw():
            data += chunk
            if len(data) > MAX_ANSWER_BYTES:
                raise NoAnswer(f"the answer is longer than {MAX_ANSWER_BYTES:,} bytes")
        try:
            content = json.loads(data.decode())
            # a model may think and say nothing
            said = content["choices"][0]["message"]["content"] or ""
            text = said if isinstance(said, str) else "".join(part["text"] for part in said)
        except UnicodeDecodeError:
            raise NoAnswer("the answer is not UTF-8 text") from None
        except (ValueError, RecursionError):
            raise NoAnswer("the answer is not JSON") from None
        except (TypeError, KeyError, IndexError):
            raise NoAnswer("the answer has no text at choices[0].message.content") from None
        usage = content.get("usage")
        counts = usage if isinstance(usage, dict) else {}
        tokens = [counts.get(name) for name in ("prompt_tokens", "completion_tokens")]
        tokens = [n if type(n) is int and 0 <= n < 1 << 53 else None for n in tokens]
        return Answer(self.clean(text), tokens[0], tokens[1])

    def clean(self, text: str) -> str:
        """Remove secrets from text, and make it valid UTF-8."""
        values = [value for _, value in parse_qsl(self.target.query)]
        secrets = [value for value in values if len(value) >= MIN_SECRET_CHARACTERS]
        for secret in filter(None, [*secrets, self._secret()]):
            text = text.replace(secret, "***")
        return text.encode("utf-8", "replace").decode()

    def _secret(self) -> str:
        return os.environ.get(self.api_key_env or DEFAULT_KEY, "").strip()

    def _is_private(self) -> bool:
        return self.target.scheme == "https" or self.target.hostname in LOOPBACK


@cache
def _event_loop() -> asyncio.AbstractEventLoop:
    """Return the loop that makes all requests, in a thread of its own."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="regrax requests", daemon=True).start()
    return loop


def _completions_url(url: str, shown: str) -> SplitResult:
    """Check a url and append the chat completions path if it is missing."""
    wrong = ValueError(f"an agent's url must be http(s)://host[:port][/path], got {shown[:200]!r}")
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise wrong from None
    if parts.username is not None or parts.password is not None:
        instead = "use an environment variable and api_key_env"
        raise ValueError(f"an agent's url must not contain a password; {instead}")
    is_plain = url.isprintable() and url.isascii() and " " not in url
    if parts.scheme not in ("http", "https") or not parts.hostname or not is_plain:
        raise wrong
    path = parts.path.rstrip("/") or "/v1"
    if not path.endswith("/chat/completions"):
        path = f"{path}/chat/completions"
    return parts._replace(path=path, fragment="")


def _demanded_pause(headers: Any) -> float | None:
    """Return the seconds in a Retry-After header, which are a number or a date; None if there is no such header."""
    value = headers.get("Retry-After", "")
    if value.isdecimal():
        return float(value)
    try:
        return max(0.0, (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None
