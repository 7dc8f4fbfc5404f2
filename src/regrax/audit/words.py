"""Text that came from a log, made fit to print: names may hold anything."""


def shown(text: str) -> str:
    r"""The text on one line without control characters, halves of characters, or endless length.

    >>> shown("rock\x1b[31m\ud800")
    'rock\\x1b[31m\\ud800'
    """
    printable = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return printable if len(printable) <= 300 else printable[:297] + "..."
