"""Words of the audit; text that came from a log is made fit to print, for names may hold anything."""


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
