"""Credit by turn against one reward per episode: rollouts to reach a regret, and the noise and bias of the gradient.

    pip install 'regrax[llm-train]'
    python examples/llm_turns.py --seeds 5 --out out/llm-turns

A Qwen3 of 93,000 parameters plays 10 rounds with 3 actions by GRPO, with its own answers in the transcript. Both kinds
of credit use the same losses, group size, rate and number of steps. About 15 core minutes.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from llm_scratch import scratch_model, scratch_task, scratch_tokenizer

import regrax as rx

LOSSES = "biased-gaussian(1.0)"
RATES = (2e-3, 5e-4)
"""Learning rates; each kind of credit is shown at the rate that ends with the lower regret."""
SMOOTHING = 5
"""Number of steps whose mean regret is one point of a learning curve."""


def learning_curve(
    task: Any, credit: Any, rate: float, seed: int, steps: int, out: Path
) -> np.ndarray:
    """Train from scratch with one kind of credit; return the regret of the rollouts played in every step."""
    tokenizer = scratch_tokenizer(task, largest=12.0)
    model = scratch_model(tokenizer, seed=seed)
    config = rx.llm.GRPOConfig(
        1, steps=steps, groups=32, group_size=4, rate=rate, credit=credit, seed=seed
    )
    folder = out / f"{credit}-{rate}-{seed}"
    rx.llm.grpo(model, tokenizer, task, config, folder)
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    regrets = -np.array([row["reward"] for row in rows])
    return np.convolve(regrets, np.ones(SMOOTHING) / SMOOTHING, "valid")


def compare_credit(task: Any, options: Any) -> None:
    """Print the steps that each kind of credit needs to reach the lowest regret of episode rewards."""
    best = {}
    for credit in ("episode", "turn"):
        for rate in RATES:
            curves = []
            for seed in range(options.seeds):
                curves.append(learning_curve(task, credit, rate, seed, options.steps, options.out))
            mean = np.mean(curves, 0)
            print(f"{credit}, rate {rate}: regret {mean[0]:.2f} to {mean[-1]:.2f}", flush=True)
            if credit not in best or mean[-1] < best[credit][-1]:
                best[credit] = mean
    level = best["episode"].min()
    for credit, mean in best.items():
        step = SMOOTHING + int(np.flatnonzero(mean <= level)[0])
        print(f"{credit}: mean regret {level:.2f} after {step} steps, {128 * step} rollouts")


def gradients(
    model: Any, tokenizer: Any, task: Any, batches: int, group_size: int = 4
) -> dict[str, np.ndarray]:
    """Estimate the gradient of the total loss by episode and by turn, once per batch of 16 groups, on the same play."""
    parameters = list(model.parameters())
    reactive = task.losses.startswith("in-game")
    estimates: dict[str, list[np.ndarray]] = {"episode": [], "turn": []}
    for batch in range(batches):
        groups = np.arange(16 * group_size) // group_size
        losses = None if reactive else rx.llm.draw_losses(task, 16, seed=7, step=batch)[groups]
        seeds = 16 * batch + groups
        played = rx.llm.play_rollouts(model, tokenizer, task, losses, seed=batch, seeds=seeds)
        rewards = -np.take_along_axis(played.losses, played.actions[..., None], -1).sum((1, 2))
        grouped = rewards.reshape(-1, group_size)
        others = (grouped.sum(1, keepdims=True) - grouped) / (group_size - 1)
        weights = {
            "episode": np.repeat((grouped - others).reshape(-1, 1), task.rounds, 1),
            "turn": rx.llm.turn_advantages(played),
        }
        read = rx.llm.policies(model, tokenizer, task, played.losses, actions=played.actions)
        chosen = read.gather(-1, torch.as_tensor(played.actions)[..., None])[..., 0].log()
        for name, weight in weights.items():
            gain = (torch.as_tensor(weight).to(chosen) * chosen).sum(1).mean()
            found = torch.autograd.grad(gain, parameters, retain_graph=True)
            estimates[name].append(torch.cat([part.flatten() for part in found]).numpy())
    return {name: np.stack(rows) for name, rows in estimates.items()}


def noise_and_bias(found: dict[str, np.ndarray]) -> tuple[float, float, float]:
    """Ratio of the variances (episode : turn), and the relative bias of the turn estimate with its standard error.

    Episode rewards are unbiased, so their mean over half of the batches gives a direction. The bias is the difference
    of the two estimates along it, over the other half, relative to the length of the gradient.
    """
    episode, turn = found["episode"], found["turn"]
    ratio = episode.var(0, ddof=1).sum() / turn.var(0, ddof=1).sum()
    differences = []
    lengths = []
    for fitted, measured in (
        (slice(0, None, 2), slice(1, None, 2)),
        (slice(1, None, 2), slice(0, None, 2)),
    ):
        direction = episode[fitted].mean(0)
        direction /= np.linalg.norm(direction)
        differences.append((turn - episode)[measured] @ direction)
        lengths.append(episode[measured] @ direction)
    relative = np.concatenate(differences) / np.concatenate(lengths).mean()
    return float(ratio), float(relative.mean()), float(relative.std(ddof=1) / len(relative) ** 0.5)


def compare_gradients(task: Any, options: Any) -> None:
    """Print noise and bias where the assumptions hold and where they fail, for models before and after training."""
    reaction = 'in-game("matching-pennies", "uniform()", "best_response()")'
    cases = {
        "answers not in the text": task.replace(answers=False),
        "answers in the text": task,
        "losses react": scratch_task(2, 10, losses=reaction, decimals=0, answers=True),
    }
    config = rx.llm.GRPOConfig(1, steps=20, groups=32, rate=2e-3, credit="turn")
    for name, case in cases.items():
        tokenizer = scratch_tokenizer(case, largest=12.0)
        random = scratch_model(tokenizer)
        folder = options.out / name.replace(" ", "-")
        trained = rx.llm.grpo(scratch_model(tokenizer), tokenizer, case, config, folder)
        for state, model in (("random", random), ("trained", trained)):
            found = gradients(model, tokenizer, case, options.batches)
            ratio, bias, error = noise_and_bias(found)
            print(
                f"{name}, {state}: variance {ratio:.1f} : 1, bias {bias:+.2f} ± {error:.2f}",
                flush=True,
            )


def main() -> None:
    """Compare the two kinds of credit."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=80)
    parser.add_argument("--batches", type=int, default=150)
    parser.add_argument("--out", type=Path, default=Path("out/llm-turns"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    task = scratch_task(3, 10, losses=LOSSES, decimals=0, answers=True)
    compare_credit(task, options)
    compare_gradients(task, options)


if __name__ == "__main__":
    main()
