"""Programs that jax compiles, counted by name.

jax logs every request to compile, whether or not its persistent cache then answers it. The log can be listened to
before jax is imported, so that whoever counts neither imports jax nor comes before what is set up for its import.
"""

import logging
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

LOGGER = "jax._src.dispatch"
COMPILED = re.compile(r"Finished XLA compilation of (.+) in \S+ sec")


class _Names(logging.Handler):
    """Keep the name of every program that is compiled."""

    def __init__(self) -> None:
        super().__init__()
        self.names: Counter[str] = Counter()

    def emit(self, record: logging.LogRecord) -> None:
        if compiled := COMPILED.match(record.getMessage()):
            self.names[compiled[1]] += 1


@contextmanager
def count_compilations() -> Iterator[Counter[str]]:
    """How often each program is compiled, filled in as it happens."""
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
