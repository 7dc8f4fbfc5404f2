"""Run code on untrusted input in a child process with limits on time and memory."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from typing import Any

SECONDS = 10
GIBIBYTES = 1
MAX_RESULT_CHARACTERS = 2**20

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
PROGRAM = """
import contextlib, json, sys
with contextlib.suppress(ImportError, ValueError, OSError):  # not every system supports these limits
    import resource
    resource.setrlimit(resource.RLIMIT_AS, ({bytes}, {bytes}))
    resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))
arguments = json.load(sys.stdin)
{work}
try:
    answer = {{"result": work(*arguments)}}
except MemoryError:
    sys.exit(1)
except Exception as error:
    answer = {{"error": str(error)[:1000]}}
if len(answer.get("result") or "") > {characters}:
    answer = {{"error": "it produces more than {characters:,} characters"}}
print(json.dumps(answer))
"""
# Each thread reserves address space, which counts towards the memory limit.
SINGLE_THREADED = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
)


def run_sandboxed(work: str, *arguments: Any) -> Any:
    """Call a function in a child process; raise ValueError if it fails or exceeds its limits.

    Args:
        work: the source of a function called `work`: `TOKENIZE` or `RENDER`.
        *arguments: JSON values. The result is a string or None.
    """
    limits = {"bytes": GIBIBYTES << 30, "seconds": SECONDS, "characters": MAX_RESULT_CHARACTERS}
    program = PROGRAM.format(work=work, **limits)
    try:
        child = subprocess.run(
            [sys.executable, "-I", "-c", program],
            input=json.dumps(arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            env=os.environ | SINGLE_THREADED,
            timeout=6
            * SECONDS,  # a busy machine may be slow; the child also limits its own CPU time
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"it takes more than {SECONDS} s") from None
    if child.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise ValueError(f"it takes more than {SECONDS} s")
    if child.returncode:
        raise ValueError(f"it takes more than {GIBIBYTES} GiB of memory")
    answer = json.loads(child.stdout)
    if "error" in answer:
        raise ValueError(shortened(answer["error"]))
    return answer["result"]


def shortened(error: Any) -> str:
    """Return the beginning of an error message, in one line."""
    return textwrap.shorten(str(error), 200, placeholder=" ...")
