"""Write small logs of rock-paper-scissors with the tools themselves: `python tool_logs.py inspect FOLDER`.

The files in `tests/data/logs` were written by this script, except that of verifiers 0.1, which `vf.MultiTurnEnv` wrote.
"""

import json
import random
import sys
from pathlib import Path

MOVES = ("rock", "paper", "scissors")


def inspect(folder):
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageUser, ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import Score, mean, scorer
    from inspect_ai.solver import solver

    @solver
    def play_rounds():
        async def solve(state, generate):
            opponent = []
            for t in range(4):
                state = await generate(state)
                opponent.append(MOVES[(t * 2 + state.sample_id) % 3])
                content = f"Opponent played {opponent[-1]}. Next move?"
                state.messages.append(ChatMessageUser(content=content))
            state.metadata["opponent"] = opponent
            return state

        return solve

    @scorer(metrics=[mean()])
    def points():
        async def score(state, target):
            return Score(value=0.5)

        return score

    def answer(*_):
        output = ModelOutput.from_content("mockllm/model", f"I choose {random.choice(MOVES)}")
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)  # not counted
        return output

    samples = [Sample(input="Play rock, paper or scissors.", target="", id=i) for i in (1, 2)]
    task = Task(MemoryDataset(samples), solver=play_rounds(), scorer=points(), epochs=3)
    for kind in ("eval", "json"):
        model = get_model("mockllm/model", custom_outputs=answer)
        (log,) = eval(task, model=model, log_dir=folder, log_format=kind, display="none")
        Path(log.location).rename(Path(folder) / f"inspect.{kind}")


def verifiers(folder):
    from verifiers.v1.configs.agent import AgentConfig
    from verifiers.v1.episode import Episode
    from verifiers.v1.graph import MessageNode
    from verifiers.v1.task import WireTaskData
    from verifiers.v1.trace import AgentInfo, Reward, Trace, TraceTask
    from verifiers.v1.types import AssistantMessage, UserMessage
    from verifiers.v1.utils.trace_store import write_episode

    for episode in range(6):
        task = TraceTask(type="Rps", data=WireTaskData(idx=episode, prompt="Play"))
        nodes = [MessageNode(message=UserMessage(content="Play rock, paper, scissors."))]
        opponent = []
        for _ in range(5):
            answer = AssistantMessage(content=f"My move: {random.choice(MOVES)}")
            nodes.append(MessageNode(parent=len(nodes) - 1, message=answer, sampled=True))
            opponent.append(random.choice(MOVES))
            reply = UserMessage(content=f"They played {opponent[-1]}")
            nodes.append(MessageNode(parent=len(nodes) - 1, message=reply))
        agent = AgentInfo(config=AgentConfig(model="stub-1"), name="solver")
        rewards = {"won": Reward(score=0.5, weight=2.0)}
        trace = Trace(task=task, agent=agent, nodes=nodes, rewards=rewards)
        trace.info["opponent"] = opponent
        write_episode(Path(folder), Episode(task=task, traces=[trace], ok=True))


def textarena(folder):
    import textarena as ta

    with (Path(folder) / "textarena.jsonl").open("w") as file:
        for game in range(6):
            env = ta.make("IteratedRockPaperScissors-v0")
            env.reset(num_players=2, seed=game)
            done, turn = False, 0
            while not done:
                env.get_observation()
                turn += 1
                move = "[banana]" if (game, turn) == (2, 3) else f"[{random.choice(MOVES)}]"
                done, _ = env.step(action=move)
            rewards, _ = env.close()
            while hasattr(env, "env"):  # wrappers
                env = env.env
            file.write(json.dumps({"logs": env.state.logs, "rewards": rewards}) + "\n")


if __name__ == "__main__":
    random.seed(0)
    {"inspect": inspect, "verifiers": verifiers, "textarena": textarena}[sys.argv[1]](sys.argv[2])
