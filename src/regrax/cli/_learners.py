"""`regrax learners`: every learner, how it is written, and what it does."""

from dataclasses import dataclass

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
        from regrax.learners import BanditLearner
        from regrax.specs import registered

        entries = [entry for entry in registered("learner").values() if not entry.is_alias]
        if self.json:
            return print_json(
                {
                    entry.name: {
                        "about": entry.summary,
                        "examples": entry.examples,
                        "feedback": "bandit" if issubclass(entry.make, BanditLearner) else "full",
                        "regret": entry.make.regret,
                    }
                    for entry in entries
                }
            )
        rows = [["\n".join(entry.examples), entry.summary] for entry in entries]
        return print_table(("learner", "what it plays"), rows)
