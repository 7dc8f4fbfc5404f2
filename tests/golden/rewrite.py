"""Write the golden outputs again: `python -m tests.golden.rewrite [NAME ...]`, from the project's root."""

import json
import sys
import tempfile
from pathlib import Path

from tests.golden.commands import COMMANDS, file_of, output


def main(names: list[str]) -> None:
    for name in names or COMMANDS:
        with tempfile.TemporaryDirectory() as folder:
            printed = output(COMMANDS[name], Path(folder))
        file_of(name).write_text(json.dumps(printed, indent=1, ensure_ascii=False) + "\n")
        print(file_of(name).name, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
