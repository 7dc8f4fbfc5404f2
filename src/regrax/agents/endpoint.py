"""Client for OpenAI-compatible chat servers. Addresses, keys and answers are all untrusted."""

import json
import os
import ssl
import threading
from time import monotonic
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

from regrax import _checks as checks

DEFAULT_KEY = "OPENAI_API_KEY"
STORED_CHARACTERS = 2000  # per answer
MIN_SECRET_CHARACTERS = 6  # a shorter value in a query, as in `v=1`, is not a secret
MAX_ANSWER_BYTES = 1 << 20
LOOPBACK = ("127.0.0.1", "::1", "localhost")


class NoAnswer(Exception):
    """Raised if a request gets no usable answer; `again` is True if another request may succeed."""

    def __init__(self, reason: str, again: bool = True) -> None:
        super().__init__(reason)
        self.again = again


class Endpoint:
    """The address of a chat server.

    For every request, the key is read from the environment variable `api_key_env` (by default `OPENAI_API_KEY`, if it
    is set). It is sent only over https or to this machine, and it is removed from all stored text, as are the values in
    the url's query string.

    >>> Endpoint("http://127.0.0.1:8000?token=secret").shown
    'http://127.0.0.1:8000?***'
    """

    def __init__(self, url: str, api_key_env: str | None = None) -> None:
        checks.instance("target", url, str, "a url or a function")
        self.shown = url.partition("?")[0] + ("?***" if "?" in url else "")
        self.target = _completions_url(url, self.shown)
        self.api_key_env = api_key_env
        if api_key_env is None:
            return
        if not os.environ.get(api_key_env):  # not printed, since it may be the key itself
            raise ValueError("api_key_env must name an environment variable that is set")
        if not self._is_private():
            raise ValueError(
                "a key is sent only over https or to this machine, but the url is neither https nor local"
            )

    def ask(self, body: dict[str, Any], timeout: float) -> str:
        """Post a request and return the text of the answer; raise `NoAnswer` if there is none."""
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        secret = self._secret()
        if secret.isascii() and secret.isprintable() and secret and self._is_private():
            headers["Authorization"] = f"Bearer {secret}"
        answer = _post(self.target.geturl(), body, headers, timeout)
        try:
            content = answer["choices"][0]["message"]["content"]
            parts = [content] if isinstance(content, str) else [part["text"] for part in content]
            return "".join(parts)
        except (TypeError, KeyError, IndexError):
            raise NoAnswer("the answer has no text at choices[0].message.content") from None

    def clean(self, text: str) -> str:
        """Prepare text for storage: remove secrets, make it valid UTF-8, and truncate it to 2,000 characters."""
        secrets = [value for _, value in parse_qsl(self.target.query)]
        secrets = [value for value in secrets if len(value) >= MIN_SECRET_CHARACTERS]
        if self._secret():
            secrets.append(self._secret())
        for secret in secrets:
            text = text.replace(secret, "***")
        return text[:STORED_CHARACTERS].encode("utf-8", "replace").decode()

    def _secret(self) -> str:
        return os.environ.get(self.api_key_env or DEFAULT_KEY, "").strip()

    def _is_private(self) -> bool:
        return self.target.scheme == "https" or self.target.hostname in LOOPBACK


def _completions_url(url: str, shown: str) -> SplitResult:
    """Check a url and append the chat completions path if it is missing."""
    wrong = ValueError(f"an agent's url must be http(s)://host[:port][/path], got {shown[:200]!r}")
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise wrong from None
    if parts.username is not None or parts.password is not None:
        raise ValueError(
            "an agent's url must not contain a password; use an environment variable and api_key_env"
        )
    is_plain = url.isprintable() and url.isascii() and " " not in url
    if parts.scheme not in ("http", "https") or not parts.hostname or not is_plain:
        raise wrong
    path = parts.path.rstrip("/") or "/v1"
    if not path.endswith("/chat/completions"):
        path = f"{path}/chat/completions"
    return parts._replace(path=path, fragment="")


def _post(url: str, body: dict[str, Any], headers: dict[str, str], timeout: float) -> Any:
    """Return a server's JSON answer, or raise `NoAnswer`, within `timeout` seconds."""
    import httpx

    end = monotonic() + timeout
    # unlike httpx's defaults, use the system's certificates, and no proxy, which would see the key
    client = httpx.Client(timeout=timeout, trust_env=False, verify=ssl.create_default_context())
    # httpx only limits the time between bytes, so a timer cuts off servers that trickle them
    timer = threading.Timer(timeout, client.close)
    timer.daemon = True
    timer.start()
    try:
        with client, client.stream("POST", url, json=body, headers=headers) as response:
            return _read(response)
    except Exception as error:  # closing the client can raise many kinds of errors
        if monotonic() >= end or isinstance(error, httpx.TimeoutException):
            raise NoAnswer(f"no answer within {timeout:g} s") from None
        if isinstance(error, NoAnswer):
            raise
        reason = str(error) or type(error).__name__
        raise NoAnswer(f"the connection failed: {reason}") from None
    finally:
        timer.cancel()


def _read(response: Any) -> Any:
    status = response.status_code
    if 300 <= status < 400:
        raise NoAnswer(
            f"the server redirects (status {status}), and redirects are not followed", again=False
        )
    if status != 200:
        again = status in (408, 425, 429) or status >= 500
        raise NoAnswer(f"status {status}", again)
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise NoAnswer("the content type of the answer is not JSON")
    data = b""
    for chunk in response.iter_raw():
        data += chunk
        if len(data) > MAX_ANSWER_BYTES:
            raise NoAnswer(f"the answer is longer than {MAX_ANSWER_BYTES:,} bytes")
    try:
        return json.loads(data.decode())
    except UnicodeDecodeError:
        raise NoAnswer("the answer is not UTF-8 text") from None
    except (ValueError, RecursionError):
        raise NoAnswer("the answer is not JSON") from None
