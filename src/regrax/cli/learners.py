"""`regrax learners`: the list of learners."""

from regrax._registry import LEARNERS
from regrax.cli.inputs import Json
from regrax.cli.output import print_json, print_table, print_text

OUTSIDE = {
    'checkpoint("runs/linear/seed-0")': "a trained model from its file",
    'agent("http://localhost:8000", model="NAME")': "a language model behind a chat endpoint",
    'agent("python:module:function")': "a Python function from past losses to an action",
    'llm("folder")': "a local language model that transformers wrote",
}


def learners(*, json: Json = False) -> None:
    """List the learners and how to write them.

    Example uses:
        regrax learners
        regrax learners --json
    """
    if json:
        facts = ("about", "examples", "feedback", "regret")
        entries = {}
        for name, entry in LEARNERS.items():
            entries[name] = {fact: getattr(entry, fact) for fact in facts}
        return print_json(entries)
    rows = []
    for entry in LEARNERS.values():
        if entry.examples:
            rows.append(["\n".join(entry.examples), entry.about])
    print_table(("learner", "how it plays"), rows)
    print_table(("from outside", "what it is"), list(OUTSIDE.items()))
    return print_text(
        "regrax play GAME --learners SPEC ... plays them; quote a spec for the shell."
    )
