"""`regrax learners`: list the learners."""

from regrax._text import fitted_table, paragraph
from regrax.cli.options import Json
from regrax.cli.shared import print_result

OUTSIDE = {
    'checkpoint("runs/linear/seed-0")': "a trained model from its file",
    'agent("http://localhost:8000", model="NAME")': "a language model behind a chat endpoint",
    'agent("python:module:function")': "a Python function from past losses to an action",
    'llm("folder")': "a local language model saved by transformers",
}
USE = "Run regrax play GAME --learners SPEC ... to play them; quote each spec in the shell."


def learners(*, json: Json = False) -> None:
    """List the learners and how to write them.

    Example uses:
        regrax learners
        regrax learners --json
    """
    from regrax.learners import BanditLearner
    from regrax.specs import registered

    rows = []
    facts = {}
    for entry in registered("learner").values():
        if not entry.is_alias:
            rows.append(["\n".join(entry.examples), entry.summary])
            facts[entry.name] = {
                "about": entry.summary,
                "examples": entry.examples,
                "feedback": "bandit" if issubclass(entry.make, BanditLearner) else "full",
                "regret": entry.make.regret,
            }
    known = fitted_table(("learner", "how it plays"), rows)
    outside = fitted_table(("external", "what it is"), list(OUTSIDE.items()))
    print_result(f"{known}\n{outside}\n{paragraph(USE)}", json, facts)
