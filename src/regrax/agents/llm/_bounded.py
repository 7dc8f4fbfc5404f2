"""Work on files that are not trusted, in a process of its own with a limit on time and memory."""

import json
import os
import subprocess
import sys
from typing import Any

SECONDS = 10
BYTES = 2**30
MAX_TEXT = 2**20  # characters of a result
PRELUDE = f"""
import contextlib, json, sys
with contextlib.suppress(ImportError, ValueError, OSError):  # some systems limit time only
    import resource
    resource.setrlimit(resource.RLIMIT_AS, ({BYTES}, {BYTES}))
given = json.load(sys.stdin)
"""
TOKENIZE = """
def work(file, texts):
    from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file(file)
    for text in texts:
        tokenizer.encode(text)
"""
RENDER = """
def work(template, messages, names):
    from transformers.utils.chat_template_utils import render_jinja_template
    rendered = render_jinja_template([messages], None, None, template, add_generation_prompt=True, **names)
    return rendered[0][0]
"""
REPORT = f"""
try:
    said = {{"result": work(*given)}}
except MemoryError:
    sys.exit(1)
except Exception as error:
    said = {{"error": str(error)[:1000]}}
if len(said.get("result") or "") > {MAX_TEXT}:
    said = {{"error": "it writes more than {MAX_TEXT:,} characters"}}
print(json.dumps(said))
"""
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
"""Variables of the child: every thread reserves memory, and the limit is on all of it."""


def bounded(work: str, *given: Any) -> Any:
    """Call `TOKENIZE` or `RENDER` in a child process; raise ValueError if it fails or exceeds its limits.

    Args:
        work: the code of a function called `work`.
        *given: its arguments, values that JSON can hold; what it returns is such a value, too.
    """
    command = [sys.executable, "-I", "-c", PRELUDE + work + REPORT]
    environment = os.environ | dict.fromkeys(ONE_THREAD, "1")
    try:
        done = subprocess.run(
            command,
            input=json.dumps(given),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            env=environment,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"it takes more than {SECONDS} s") from None
    if done.returncode:
        raise ValueError(f"it takes more than {BYTES >> 30} GiB of memory")
    said = json.loads(done.stdout)
    if "error" in said:
        raise ValueError(said["error"])
    return said["result"]
