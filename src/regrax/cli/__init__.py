"""The command line: parse, call the library, print. Nothing here imports jax before it is needed."""

from regrax.cli._entry import main

__all__ = ["main"]
