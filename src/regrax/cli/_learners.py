"""`regrax learners`: every learner, how it is written, and what it does."""

from dataclasses import dataclass

from regrax._registry import LEARNERS
from regrax.cli._text import print_json, print_table


@dataclass(frozen=True)
class Learners:
    """List the learners with examples of their specs.

    Args:
        json: Print one JSON object.
    """

    json: bool = False

    def run(self) -> None:
        """Print the registry."""
        if self.json:
            facts = ("about", "examples", "feedback", "regret")
            told = LEARNERS.items()
            print_json({name: {f: getattr(one, f) for f in facts} for name, one in told})
        else:
            rows = [["\n".join(one.examples), one.about] for one in LEARNERS.values()]
            print_table(("learner", "what it plays"), rows)
