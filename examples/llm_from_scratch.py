"""Train a small language model from random numbers to have no regret, from text, offline, in minutes.

    pip install 'regrax[llm]'
    python examples/llm_from_scratch.py --objective regret --out out/llm-regret
    python examples/llm_from_scratch.py --objective hindsight --out out/llm-hindsight

A Qwen3 of 130,000 parameters reads transcripts of 20 rounds with 3 actions. It is measured on 10,000 fresh transcripts
beside uniform play, Hedge at its best step and the best possible policy, all on the same losses, as the text rounds
them. Stopped at any time, the same command goes on where it was. Without options it takes about 3 minutes of one core.
"""

import argparse
import time

import torch
from llm_scratch import scratch_model, scratch_task, scratch_tokenizer

import regrax as rx
from regrax.experiments import Progress


def main() -> None:
    """Train, measure, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--objective", default="regret", choices=("regret", "hindsight"))
    parser.add_argument("--steps", type=int, default=700)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--sequences", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--out", default="out/llm-regret")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)

    task = scratch_task(3, rounds=20, losses="gaussian")
    tokenizer = scratch_tokenizer(task, largest=6.0)
    model = scratch_model(tokenizer)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters; a transcript begins")
    print(task.text(rx.llm.draw_losses(task, 1, seed=0)[0])[:76], "...")

    config = rx.llm.TrainConfig(
        options.objective, steps=options.steps, batch=options.batch, rate=options.rate
    )
    began, used = time.time(), time.process_time()
    model = rx.llm.train(model, tokenizer, task, config, options.out, on_progress=show)
    print(f"{time.time() - began:.0f} s, {time.process_time() - used:.0f} s of processors")

    found = rx.llm.squared_regret_share(model, tokenizer, task, sequences=options.sequences)
    for name, (value, error) in found.items():
        print(f"{name:14} {value:8.3f} +- {error:.3f}")


def show(progress: Progress) -> None:
    """A line now and then."""
    if progress.done % 100 == 0:
        print(f"step {progress.done} of {progress.total}: {progress.note}", flush=True)


if __name__ == "__main__":
    main()
