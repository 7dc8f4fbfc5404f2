"""Compare episodes against a slow chat server one by one and eight at a time: `python -m benchmarks.chat`."""

import time

from tests.chat_server import say, server

from regrax.agents import ChatAgent, play_episodes
from regrax.games import matching_pennies
from regrax.learners import Hedge

SECONDS_PER_ANSWER = 0.4


def seconds(url: str, concurrency: int) -> float:
    """Return the wall time of 16 episodes of three rounds."""
    agent = ChatAgent(url, retries=0)
    start = time.monotonic()
    learners = [agent, Hedge(0.1)]
    list(play_episodes(matching_pennies(), learners, 3, 16, concurrency=concurrency))
    return time.monotonic() - start


def main() -> None:
    """Print the wall time one by one and eight at a time."""

    def answer(handler, _) -> None:
        time.sleep(SECONDS_PER_ANSWER)
        say(handler, "heads")

    with server(answer) as (url, _):
        seconds(url, 8)  # compiles the opponent
        alone = seconds(url, 1)
        together = seconds(url, 8)
    print(
        f"one by one {alone:.1f} s, eight at a time {together:.1f} s: {alone / together:.1f} times"
    )


if __name__ == "__main__":
    main()
