"""Train one linear layer on other losses, at d = 3 and T = 20: `python benchmarks/losses_table.py [SPEC ...]`.

Every layer is trained with the plain regret loss for 400 steps on the losses that a spec names and evaluated on 100,000
fresh sequences of them, next to Hedge with the best step for Gaussian losses. One line of the table for each spec.
"""

import sys

import jax

from regrax.attention import LinearAttention
from regrax.specs import parse_distribution, parse_feedback
from regrax.theory import step_size
from regrax.training import RegretObjective, evaluate, fit, fit_step_size

ACTIONS, HORIZON, STEPS = 3, 20, 400
LOSSES = [
    "gaussian",
    "rademacher",
    "uniform(-1.7320508, 1.7320508)",
    "laplace",
    "student_t(5)",
    "mixture(gaussian, laplace)",
    "biased_gaussian",
    "drifting",
    "alternating",
    'in_game("weighted-rps", "hedge(0.4)")',
    "delayed(2)",
    "bandit()",
]


def objective_for(spec: str) -> RegretObjective:
    """Regret on the losses of `spec`, or on Gaussian losses seen through the feedback that it names."""
    if spec.startswith(("delayed", "bandit")):
        return RegretObjective(ACTIONS, HORIZON, feedback=parse_feedback(spec))
    return RegretObjective(ACTIONS, HORIZON, parse_distribution(spec))


def main() -> None:
    """Train and print a line for each spec."""
    hedge = LinearAttention.hedge(ACTIONS, step_size(ACTIONS, HORIZON))
    print("| losses | closest step size | total variation | $E[R^2]$ | Hedge at 0.4479 |")
    print("|---|---|---|---|---|")
    for spec in sys.argv[1:] or LOSSES:
        objective = objective_for(spec)
        start, draws, fresh = jax.random.split(jax.random.key(0), 3)
        model = fit(LinearAttention(ACTIONS, key=start), objective, key=draws, steps=STEPS).model
        fitted = fit_step_size(model, HORIZON, key=fresh)
        losses = [evaluate(learner, objective, key=fresh).loss for learner in (model, hedge)]
        print(
            f"| `{spec}` | {fitted.step:.3f} | {fitted.total_variation:.2%} "
            f"| {losses[0]:.2f} | {losses[1]:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
