"""A user's regular expression on text that is not trusted: in a process that is killed if it takes long."""

import contextlib
import json
import os
import re
import select
import sys
import threading
import weakref
from subprocess import DEVNULL, PIPE, Popen
from typing import Any

SEEN_CHARACTERS = 4096  # of a text
MAX_PATTERN_CHARACTERS = 1000
MAX_SLOW = 3  # matches that were killed before an expression is given up
CHILD = """
import json, re, sys
for line in sys.stdin:
    pattern, text, which = json.loads(line)
    found = list(re.finditer(pattern, text))
    match = found[which] if found else None
    print(json.dumps(match and match[min(1, len(match.groups()))]), flush=True)
"""


class Expression:
    r"""The first or last match of an expression, or of its first group, in a text.

    Of a longer text the first or last 4,096 characters are searched.

    >>> Expression(r"move=(\w+)").last("move=heads move=tails", seconds=5.0)
    'tails'
    """

    def __init__(self, pattern: str) -> None:
        try:
            if len(pattern) > MAX_PATTERN_CHARACTERS:
                raise ValueError(f"it is longer than {MAX_PATTERN_CHARACTERS} characters")
            re.compile(pattern)
        except (re.error, ValueError, OverflowError, RecursionError) as error:
            raise ValueError(f"regex must be a regular expression: {error}") from None
        self.pattern, self._child, self._slow = pattern, None, 0

    def last(self, text: str, seconds: float) -> str | None:
        """Return the last match, or None; raise if it is not found within the time."""
        return self._find(text[-SEEN_CHARACTERS:], -1, seconds)

    def first(self, text: str, seconds: float) -> str | None:
        """Return the first match, or None; raise if it is not found within the time."""
        return self._find(text[:SEEN_CHARACTERS], 0, seconds)

    def _find(self, text: str, which: int, seconds: float) -> str | None:
        if self._child is None:
            self._child = _start()
            self._end = weakref.finalize(self, _end, self._child)
        line = _answer(self._child, json.dumps([self.pattern, text, which]), seconds)
        if line:
            return json.loads(line)
        self._end()
        self._child, self._slow = None, self._slow + 1
        if self._slow >= MAX_SLOW:
            raise TimeoutError(f"regex took more than {seconds:.3g} s on {self._slow} answers")
        raise ValueError(f"regex took more than {seconds:.3g} s on the answer")


def _answer(child: Any, question: str, seconds: float) -> str:
    """The line that a child prints within the time, or nothing."""
    with contextlib.suppress(BrokenPipeError):
        child.stdin.write(question + "\n")
        child.stdin.flush()
        if os.name == "posix":
            ready, _, _ = select.select([child.stdout], [], [], seconds)
            return child.stdout.readline() if ready else ""
        # ten times as slow: pipes cannot be waited for
        timer = threading.Timer(seconds, child.kill)
        timer.start()
        line = child.stdout.readline()
        timer.cancel()
        return line
    return ""


def _start() -> Popen[str]:
    command = [sys.executable, "-I", "-S", "-c", CHILD]
    return Popen(command, encoding="utf-8", stdin=PIPE, stdout=PIPE, stderr=DEVNULL)


def _end(child: Popen[str]) -> None:
    child.kill()
    with contextlib.suppress(BrokenPipeError):
        child.communicate()
