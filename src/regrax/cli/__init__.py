"""The command line: parse, call the library, print. Nothing here imports jax before it is needed."""

from collections.abc import Sequence

from regrax.cli._interrupt import interruptible

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; the console script `regrax`."""
    with interruptible():
        from regrax.cli._entry import run

        run(arguments)
