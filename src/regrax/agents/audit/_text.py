"""Words of the audit; text from a log is made fit to print, for names may hold anything."""

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


def explored(measures: dict[str, float]) -> str:
    """The measures of `rx.exploration` in words.

    >>> explored({"suffix_failure": 0.25, "minimum_fraction": 0.1, "greedy_fraction": 0.5})
    'best action never played in the second half of 25 % of episodes; minimum fraction 0.1, greedy fraction 0.5'
    """
    failed, least, greedy = measures.values()
    return (
        f"best action never played in the second half of {100 * failed:.3g} % of episodes; "
        f"minimum fraction {least:.3g}, greedy fraction {greedy:.3g}"
    )


def short(value: Any) -> str:
    """A value as an error shows it: printable, on one line, of bounded length."""
    text = value if isinstance(value, Exception) else repr(value)[:200]
    line = " ".join(str(text).encode("ascii", "backslashreplace").decode().split())
    return line if len(line) <= 60 else line[:57] + "..."
