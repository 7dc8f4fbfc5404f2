"""`regrax learners`: every learner, how it is written, and what it does."""

from dataclasses import dataclass

from regrax.cli._output import print_json, print_table


@dataclass(frozen=True)
class Learners:
    """List the learners with examples of their specs."""

    json: bool = False
    """Print one JSON object."""

    def run(self) -> None:
        """Print the registry."""
        from regrax.checkpoints import Checkpoint
        from regrax.specs import LEARNERS

        known = {**LEARNERS, Checkpoint.name: Checkpoint}

        if self.json:
            facts = ("about", "examples", "feedback", "regret")
            print_json({name: {f: getattr(l, f) for f in facts} for name, l in known.items()})
        else:
            rows = [["\n".join(l.examples), l.about] for l in known.values()]
            print_table(("learner", "what it plays"), rows)
