"""Words of the audit; text that came from a log is made fit to print, for names may hold anything."""

from typing import Any


def shown(text: str) -> str:
    r"""The text on one line without control characters, halves of characters, or endless length.

    >>> shown("rock\x1b[31m\ud800")
    'rock\\x1b[31m\\ud800'
    """
    printable = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return printable if len(printable) <= 300 else printable[:297] + "..."


def counted(count: int, thing: str) -> str:
    """How many things there are.

    >>> counted(1, "round"), counted(1200, "episode")
    ('1 round', '1,200 episodes')
    """
    return f"{count:,} {thing}" + ("" if count == 1 else "s")


def short(value: Any) -> str:
    """A value as an error shows it: printable, on one line, of bounded length."""
    text = value if isinstance(value, Exception) else repr(value)[:200]
    line = " ".join(str(text).encode("ascii", "backslashreplace").decode().split())
    return line if len(line) <= 60 else line[:57] + "..."
