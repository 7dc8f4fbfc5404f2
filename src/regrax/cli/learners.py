"""`regrax learners`: list the learners."""

from regrax._text import fitted_table
from regrax.cli.inputs import Json
from regrax.cli.output import print_json, print_lines, print_text

OUTSIDE = {
    'checkpoint("runs/linear/seed-0")': "a trained model from its file",
    'agent("http://localhost:8000", model="NAME")': "a language model behind a chat endpoint",
    'agent("python:module:function")': "a Python function from past losses to an action",
    'llm("folder")': "a local language model saved by transformers",
}


def learners(*, json: Json = False) -> None:
    """List the learners and how to write them.

    Example uses:
        regrax learners
        regrax learners --json
    """
    from regrax.learners import BanditLearner
    from regrax.specs import registered

    entries = [entry for entry in registered("learner").values() if not entry.is_alias]
    if json:
        facts = {}
        for entry in entries:
            is_bandit = issubclass(entry.make, BanditLearner)
            facts[entry.name] = {
                "about": entry.summary,
                "examples": entry.examples,
                "feedback": "bandit" if is_bandit else "full",
                "regret": entry.make.regret,
            }
        return print_json(facts)
    rows = [["\n".join(entry.examples), entry.summary] for entry in entries]
    print_text(fitted_table(("learner", "how it plays"), rows))
    print_text(fitted_table(("external", "what it is"), list(OUTSIDE.items())))
    return print_lines(
        "Run regrax play GAME --learners SPEC ... to play them; quote each spec in the shell."
    )
