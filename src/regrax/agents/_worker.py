"""Program that calls a user's function in a process of its own; `OwnProcess` starts it.

It reads one JSON value per line, calls the function, and writes one JSON line: `{"answer": ...}` or `{"error": ...}`.
It imports nothing from regrax, so that it starts quickly.
"""

import importlib
import json
import os
import signal
import sys
from typing import Any

import numpy as np


def main(target: str, seconds: float) -> None:
    """Serve calls of the function `target`, `kind:module:function`, until the input ends."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the function prints goes to standard error
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    kind, module, name = target.split(":", 2)
    function: Any = None

    def call(value: Any) -> Any:
        nonlocal function
        if function is None:
            sys.path.insert(0, os.getcwd())
            function = getattr(importlib.import_module(module), name, None)
            return callable(function)
        if kind == "python":
            shape, losses = value
            value = np.array(losses, float).reshape(shape)
        answer = function(value)
        return answer.tolist() if hasattr(answer, "tolist") else answer

    for line in sys.stdin:
        if hasattr(signal, "alarm"):
            # ends this process even if the parent was killed; import may take ten times as long as a call
            signal.alarm(int(seconds if function else 10 * seconds) + 2)
        try:
            text = json.dumps({"answer": call(json.loads(line))})
        except (Exception, SystemExit) as error:
            text = json.dumps({"error": f"{type(error).__name__}: {error}"})
        if hasattr(signal, "alarm"):
            signal.alarm(0)
        print(text, file=channel, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
