"""A chat server of the common completions form: its address, its key, and one question to it. It is not trusted."""

import json
import os
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

from regrax import _checks as checks
from regrax.agents._http import NoAnswer, post

USUAL_KEY = "OPENAI_API_KEY"
KEPT_CHARACTERS = 2000  # of an answer
MIN_SECRET_CHARACTERS = 6  # of a query's value: `v=1` is none
LOOPBACK = ("127.0.0.1", "::1", "localhost")


class Endpoint:
    """Where questions are posted.

    The key is read from the environment variable `api_key_env` (by default the usual one, if it is set) at every
    request, sent only over https or to this machine, and struck out of everything that is kept, as are the values of
    the url's query. A name of no variable may be a key given in its place: it is not shown.

    >>> Endpoint("http://127.0.0.1:8000?token=secret").shown
    'http://127.0.0.1:8000?***'
    """

    def __init__(self, url: str, api_key_env: str | None = None) -> None:
        checks.instance("target", url, str, "a url or a function")
        self.shown = url.partition("?")[0] + ("?***" if "?" in url else "")
        self.target, self.api_key_env = _target(url, self.shown), api_key_env
        if api_key_env is not None and not os.environ.get(api_key_env):
            raise ValueError("api_key_env must name an environment variable that is set")
        if api_key_env is not None and not self._is_private():
            raise ValueError("a key goes only over https or to this machine, got a url of neither")

    def ask(self, body: dict[str, Any], timeout: float) -> str:
        """The text that the server answers; raises `NoAnswer` in every other case."""
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        secret = self.secret() if self._is_private() else ""
        if secret and secret.isascii() and secret.isprintable():
            headers["Authorization"] = f"Bearer {secret}"
        found = post(self.target, json.dumps(body).encode(), headers, timeout)
        try:
            content = found["choices"][0]["message"]["content"]
            parts = [content] if isinstance(content, str) else [part["text"] for part in content]
            return "".join(parts)
        except (TypeError, KeyError, IndexError):
            raise NoAnswer("the answer has no text at choices[0].message.content") from None

    def secret(self) -> str:
        """The key, or nothing."""
        return os.environ.get(self.api_key_env or USUAL_KEY, "").strip()

    def clean(self, text: str) -> str:
        """Text as it may be kept: without the key, without what cannot be written, not too long."""
        query = parse_qsl(self.target.query)
        values = [value for _, value in query if len(value) >= MIN_SECRET_CHARACTERS]
        for secret in filter(None, [self.secret(), *values]):
            text = text.replace(secret, "***")
        return text[:KEPT_CHARACTERS].encode("utf-8", "replace").decode()

    def _is_private(self) -> bool:
        return self.target.scheme == "https" or self.target.hostname in LOOPBACK


def _target(url: str, shown: str) -> SplitResult:
    """Where to post: the completions path is added unless the url has it."""
    wrong = ValueError(f"an agent's url must be http(s)://host[:port][/path], got {shown[:200]!r}")
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise wrong from None
    if parts.username is not None or parts.password is not None:
        raise ValueError("an agent's url must hold no password; name a variable as api_key_env")
    plain = url.isprintable() and url.isascii() and " " not in url
    if parts.scheme not in ("http", "https") or not parts.hostname or not plain:
        raise wrong
    path = parts.path.rstrip("/") or "/v1"
    path = path if path.endswith("/chat/completions") else f"{path}/chat/completions"
    return parts._replace(path=path, fragment="")
