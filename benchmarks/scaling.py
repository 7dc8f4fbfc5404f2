"""Model the cost of a training step on many devices: `python -m benchmarks.scaling [--figure FILE]`.

Compares formulas in d, T, the batch B, the width w, the layers L and the parameters p with the operations of the traced
program, counted primitive by primitive (two per term of a matrix product, the length of a scan times its body,
otherwise one per number), and with XLA's count. Then prints the efficiency that the formulas predict for many devices.
"""

import argparse
import math
from typing import Any, NamedTuple

import jax
import numpy as np

from regrax.attention import LinearAttention, TrainableLearner, Transformer
from regrax.training import Objective, RegretObjective

HEADS = 4


class Case(NamedTuple):
    """A model, its task, and the number of steps per measurement."""

    actions: int
    horizon: int
    width: int  # 0: one linear layer
    layers: int
    steps: int

    def made(self) -> tuple[TrainableLearner, Objective]:
        """Build the model and its objective."""
        task = RegretObjective(self.actions, self.horizon)
        if not self.width:
            return LinearAttention(self.actions, key=jax.random.key(0)), task
        return Transformer(
            self.actions, key=jax.random.key(0), width=self.width, layers=self.layers
        ), task

    @property
    def parameters(self) -> int:
        """Number of parameters, p."""
        d, w = self.actions, self.width
        return self.layers * (8 * w * w + 2 * w) + 2 * d * w + w + d if w else d * d + 2 * d

    @property
    def products(self) -> float:
        """Operations of matrix products for one sequence, forward and backward."""
        d, T, w, L = self.actions, self.horizon, self.width, self.layers
        if not w:
            return 4 * T * (d * d + d)  # no gradient with respect to the losses
        return 3 * (16 * L * T * w * w + 4 * L * T * T * w + 2 * T * d * w) + 4 * T * d * w

    @property
    def rest(self) -> float:
        """All other operations for one sequence; the factors are fitted to the traced program."""
        d, T, w, L = self.actions, self.horizon, self.width, self.layers
        if not w:
            return T * (25 * d + 12.6)
        return L * T * (44 * w + 17.3 * HEADS * T) + T * (14.7 * w + 20.5 * d)


CASES = {
    "linear": Case(3, 20, 0, 1, 20),
    "linear-d20": Case(20, 50, 0, 1, 10),
    "deep": Case(3, 20, 32, 2, 5),
    "deep-wide": Case(3, 20, 128, 4, 2),
}
BATCH = {"linear": 32768, "linear-d20": 4096, "deep": 512, "deep-wide": 256}


def counted(jaxpr: Any) -> tuple[float, float]:
    """Count operations of matrix products and of everything else, except drawing and moving numbers."""
    products = others = 0.0
    for equation in jaxpr.eqns:
        inner = [p for p in equation.params.values() if hasattr(p, "eqns") or hasattr(p, "jaxpr")]
        out = sum(math.prod(v.aval.shape) for v in equation.outvars)
        if equation.primitive.name == "dot_general":
            ((left, _), _) = equation.params["dimension_numbers"]
            shape = equation.invars[0].aval.shape
            products += 2 * out * math.prod(shape[i] for i in left)
        elif inner:
            times = equation.params.get("length", 1)
            for each in inner:
                a, b = counted(getattr(each, "jaxpr", each))
                products, others = products + times * a, others + times * b
        elif equation.primitive.name not in MOVES:
            read = max(math.prod(getattr(v.aval, "shape", ())) for v in equation.invars)
            others += read if equation.primitive.name.startswith(("reduce", "cum")) else out
    return products, others


MOVES = {
    "broadcast_in_dim", "reshape", "transpose", "slice", "concatenate", "squeeze", "copy", "pad",
    "convert_element_type", "stop_gradient", "iota", "dynamic_slice", "dynamic_update_slice", "rev",
    "gather", "scatter", "scatter-add", "split", "copy_p", "expand_dims",
}  # fmt: skip


def measured(case: Case, count: int = 64) -> tuple[float, float]:
    """Count the operations for one sequence in the traced program, given its losses."""
    model, objective = case.made()
    data = objective.draw(count, key=jax.random.key(0))
    jaxpr = jax.make_jaxpr(lambda model: jax.value_and_grad(objective.loss)(model, data))(model)
    products, others = counted(jaxpr.jaxpr)
    return products / count, others / count


def by_xla(case: Case, count: int = 64) -> float:
    """Return XLA's count of operations for one sequence; it counts the body of a scan once."""
    model, objective = case.made()
    data = objective.draw(count, key=jax.random.key(0))
    program = jax.jit(lambda model: jax.value_and_grad(objective.loss)(model, data))
    return program.lower(model).compile().cost_analysis()["flops"] / count


class Network(NamedTuple):
    """Latency of a message in seconds, and bandwidth in bytes per second."""

    latency: float
    bandwidth: float


class Machine(NamedTuple):
    """Operations per second of one device in such steps, and the network between devices."""

    speed: float
    network: Network


def message_time(parameters: int, devices: int, network: Network) -> float:
    r"""Return the time of an all-reduce of gradient and loss.

    It is $2 \lceil \log_2 D \rceil \alpha + 2 (1 - 1/D)\, 4 (p + 1) / \beta$.
    """
    if devices == 1:
        return 0.0
    carried = 2 * (1 - 1 / devices) * 4 * (parameters + 1) / network.bandwidth
    return 2 * math.ceil(math.log2(devices)) * network.latency + carried


def efficiency(case: Case, batch: int, devices: int, machine: Machine, *, weak: bool) -> float:
    """Return the share of D devices' time that is spent on work; if `weak`, every device has its own `batch`.

    If there are more devices than pieces, the devices of a piece also exchange its sums, in two small messages.
    """
    alone = batch * (case.products + case.rest) / machine.speed
    own = alone if weak else alone / devices
    talk = message_time(case.parameters, devices, machine.network)
    if not weak and devices > PIECES:
        ways = -(-devices // PIECES)
        talk += message_time(case.parameters, ways, machine.network)
        talk += 2 * message_time(1, ways, machine.network)
    return own / (own + talk) if weak or devices <= batch else math.nan


def compare() -> None:
    """Print formulas next to counts."""
    print(
        f"{'':14}{'p':>9}{'products':>12}{'counted':>12}{'rest':>12}{'counted':>12}{'XLA, all':>12}"
    )
    for name, case in CASES.items():
        p = sum(np.size(leaf) for leaf in jax.tree.leaves(case.made()[0]))
        assert p == case.parameters, (p, case.parameters)
        products, others = measured(case)
        assert abs(case.products / products - 1) < 0.01, (case.products, products)
        assert abs(case.rest / others - 1) < 0.03, (case.rest, others)
        row = (case.products, products, case.rest, others, by_xla(case))
        print(f"{name:14}{p:9}" + "".join(f"{value:12.0f}" for value in row))


PIECES = 4  # of a batch, as the recipes have it
COUNTS = (1, 2, 8, 32, 128, 512, 1000)
ETHERNET, FABRIC = Network(50e-6, 1e9), Network(5e-6, 2e10)
# operations a second that steps like these reach: a core here with either model, and an accelerator, assumed
CORE, MATRIX_CORE, CHIP = Machine(2.2e9, ETHERNET), Machine(2.1e10, ETHERNET), Machine(1e12, FABRIC)
LARGE = Case(10, 100, 512, 8, 0)
PREDICTED: dict[str, tuple[Case, int, Machine, bool]] = {
    "linear, B = 4,096 in all, cores": (CASES["linear"], 4096, CORE, False),
    "linear, B = 4,096 each, cores": (CASES["linear"], 4096, CORE, True),
    "w = 32, L = 2, B = 256 in all, cores": (CASES["deep"], 256, MATRIX_CORE, False),
    "w = 32, L = 2, B = 256 each, cores": (CASES["deep"], 256, MATRIX_CORE, True),
    "w = 512, L = 8, B = 4,096 in all, accelerators": (LARGE, 4096, CHIP, False),
    "w = 512, L = 8, B = 256 each, accelerators": (LARGE, 256, CHIP, True),
}


def predict() -> dict[str, list[float]]:
    """Print the efficiency of every case at every count."""
    print("| case | " + " | ".join(f"{count:,}" for count in COUNTS) + " |")
    rows = {}
    for name, (case, batch, machine, weak) in PREDICTED.items():
        rows[name] = [efficiency(case, batch, n, machine, weak=weak) for n in COUNTS]
        print(
            f"| {name} | "
            + " | ".join("" if math.isnan(e) else f"{100 * e:.0f} %" for e in rows[name])
            + " |"
        )
    return rows


def draw(rows: dict[str, list[float]], file: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot(xlabel="devices", ylabel="efficiency", xscale="log", ylim=(0, 1.05))
    for name, values in rows.items():
        axes.plot(COUNTS, values, marker="o", ms=3, label=name)
    axes.legend(fontsize=7, loc="lower left", frameon=False)
    figure.savefig(file)


def main() -> None:
    """Print both tables, and draw the second."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figure", help="an .svg file")
    options = parser.parse_args()
    compare()
    rows = predict()
    if options.figure:
        draw(rows, options.figure)


if __name__ == "__main__":
    main()
