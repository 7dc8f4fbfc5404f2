"""One request to an endpoint that is not trusted: bounded in time and size, redirects refused, nothing assumed."""

import contextlib
import json
import threading
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from time import monotonic
from typing import Any
from urllib.parse import SplitResult

MAX_ANSWER_BYTES = 1 << 20


class NoAnswer(Exception):
    """Why a request gave nothing to read; `again` says whether asking again may help."""

    def __init__(self, reason: str, again: bool = True) -> None:
        super().__init__(reason)
        self.again = again


def post(url: SplitResult, body: bytes, headers: dict[str, str], timeout: float) -> Any:
    """The JSON that `url` answers; raises `NoAnswer` in every other case, within about `timeout` seconds."""
    make = HTTPSConnection if url.scheme == "https" else HTTPConnection
    connection = make(url.hostname or "", url.port, timeout=timeout)
    end = monotonic() + timeout
    # a server that drips bytes never trips the socket's own time limit: hang up from outside
    timer = threading.Timer(timeout, _hang_up, (connection,))
    timer.daemon = True
    timer.start()
    try:
        target = url.path + (f"?{url.query}" if url.query else "")
        connection.request("POST", target, body, headers)
        return _read(connection.getresponse())
    except (NoAnswer, OSError, HTTPException, ValueError, AttributeError) as error:
        # hanging up makes the reading fail in many ways, one of them an answer cut short
        if monotonic() >= end or isinstance(error, TimeoutError):
            raise NoAnswer(f"no answer within {timeout:g} s") from None
        if isinstance(error, NoAnswer):
            raise
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise NoAnswer(f"the connection failed: {reason}") from None
    finally:
        timer.cancel()
        connection.close()


def _hang_up(connection: HTTPConnection) -> None:
    with contextlib.suppress(OSError, AttributeError):  # there may be no socket yet
        connection.sock.shutdown(2)


def _read(response: HTTPResponse) -> Any:
    status = response.status
    if 300 <= status < 400:
        raise NoAnswer(f"it redirects (status {status}), which is not followed", again=False)
    if status != 200:
        again = status in (408, 425, 429) or status >= 500
        raise NoAnswer(f"status {status}", again)
    kind = response.headers.get_content_type()
    if kind != "application/json" and not kind.endswith("+json"):
        raise NoAnswer("the answer is not JSON by its content type")
    data = response.read(MAX_ANSWER_BYTES + 1)
    if len(data) > MAX_ANSWER_BYTES:
        raise NoAnswer(f"the answer is longer than {MAX_ANSWER_BYTES:,} bytes")
    try:
        return json.loads(data.decode())
    except UnicodeDecodeError:
        raise NoAnswer("the answer is not UTF-8 text") from None
    except (ValueError, RecursionError):
        raise NoAnswer("the answer is not JSON") from None
