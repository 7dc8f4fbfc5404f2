"""Text for people: counts, safe names and short values for messages."""

from typing import Any


def shown(text: str) -> str:
    r"""Make text from a log safe to print: one line, no control characters, at most 300 characters.

    >>> shown("rock\x1b[31m\ud800")
    'rock\\x1b[31m\\ud800'
    """
    printable = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return printable if len(printable) <= 300 else printable[:297] + "..."


def counted(count: int, thing: str) -> str:
    """Write a number with its noun.

    >>> counted(1, "round"), counted(1200, "episode")
    ('1 round', '1,200 episodes')
    """
    plural = "" if count == 1 else "s"
    return f"{count:,} {thing}{plural}"


def explored(measures: dict[str, float]) -> str:
    """Write the measures of `rx.exploration` as a sentence.

    >>> explored({"suffix_failure": 0.25, "minimum_fraction": 0.1, "greedy_fraction": 0.5})
    'never played the best action in the second half of 25 % of episodes; its least-played action got 10 % of an even
    share; 50 % of its actions were greedy'
    """
    failed, least, greedy = (100 * value for value in measures.values())
    return (
        f"never played the best action in the second half of {failed:.3g} % of episodes; "
        f"its least-played action got {least:.3g} % of an even share; "
        f"{greedy:.3g} % of its actions were greedy"
    )


def short(value: Any) -> str:
    """Write a value for an error message: ASCII, one line, at most 60 characters."""
    text = value if isinstance(value, Exception) else repr(value)[:200]
    line = " ".join(str(text).encode("ascii", "backslashreplace").decode().split())
    return line if len(line) <= 60 else line[:57] + "..."
