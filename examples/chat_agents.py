"""Let two versions of a chat model play a game, audit both and compare them, on this machine in a few seconds.

    python examples/chat_agents.py [FOLDER]

The server below imitates a chat server with the common completions API; replace its address by yours. It answers in the
styles of real models: a thought followed by a number, a name, fenced JSON, a `<think>` block.
"""

import json
import random
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import jax

import regrax as rx
from regrax.show.report import audit_page, compare_page

STYLES = (
    "Let me think ... my best choice is clear. Final answer: {place}",
    "{name}",
    '```json\n{{"action": "{name}"}}\n```',
    "<think>heads or tails?</think>\n{name}",
)
NAMES = ("heads", "tails")


def first_version(question: str, rng: random.Random) -> int:
    """Ignore the history and prefer tails."""
    return int(rng.random() < 0.8)


def second_version(question: str, rng: random.Random) -> int:
    """Play the action with the smallest loss so far."""
    sums = re.search(r"Sums over all \d+ rounds: (\S+), (\S+)", question)
    return int(sums is not None and float(sums[2]) < float(sums[1]))


@contextmanager
def chat_server(version: Callable[[str, random.Random], int]) -> Iterator[str]:
    """Run a chat server on this machine until the block ends; yield its URL."""
    rng = random.Random(0)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            place = version(asked["messages"][-1]["content"], rng)
            text = rng.choice(STYLES).format(place=place, name=NAMES[place])
            data = json.dumps({"choices": [{"message": {"content": text}}]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def main(folder: Path, rounds: int = 20, episodes: int = 10) -> rx.audit.Comparison:
    """Play, audit, compare, and write two pages."""
    folder.mkdir(parents=True, exist_ok=True)
    game = rx.games.matching_pennies()
    opponent = rx.Agent(lambda losses: [0.75, 0.25])
    logs = []
    for name, version in (("first", first_version), ("second", second_version)):
        logs.append(folder / f"{name}.jsonl")
        with chat_server(version) as url:
            agent = rx.ChatAgent(url, model=name, system="You play games.", max_tokens=200)
            # the same key gives the opponent the same actions, so both versions meet the same losses
            more = {"key": jax.random.key(0), "log": logs[-1]}
            for _ in rx.agents.play_episodes(game, [agent, opponent], rounds, episodes, **more):
                pass
        print(f"{name}: answers were read by {dict(agent.counts)}, {agent.unanswered} unanswered")
        audit = rx.audit_log(logs[-1])
        print(f"{name}: {audit.agents[0].learning.words}")
        (folder / f"{name}.html").write_text(audit_page(audit, logs[-1].name))
    found = rx.compare_logs(logs, agent=game.players[0])
    (folder / "compare.html").write_text(compare_page(found))
    pair = found.pairs[0]
    print(f"{pair.words}: {pair.difference:.3g} per episode ({pair.low:.3g} to {pair.high:.3g})")
    return found


if __name__ == "__main__":
    out = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
    main(out)
    print(f"logs and pages are in {out}")
