"""Count the programs that jax compiles, by name.

jax logs every request to compile, even if its persistent cache then has the program. Listening to the log does not
require importing jax.
"""

import logging
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

LOGGER = "jax._src.dispatch"
COMPILED = re.compile(r"Finished XLA compilation of (.+) in \S+ sec")


class _Names(logging.Handler):
    """A log handler that stores the name of every compiled program."""

    def __init__(self) -> None:
        super().__init__()
        self.names: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        if compiled := COMPILED.match(record.getMessage()):
            self.names[compiled[1]] += 1


@contextmanager
def count_compilations() -> Iterator[Counter[str]]:
    """Count how often each program is compiled inside the block."""
    logger, handler = logging.getLogger(LOGGER), _Names()
    level, propagate = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False  # counted here, printed nowhere
    try:
        yield handler.names
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate
