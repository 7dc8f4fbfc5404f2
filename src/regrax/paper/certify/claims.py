"""The paper's claims at one size (d, T), each checked by exact integrals or by Monte Carlo."""

from collections.abc import Iterator
from typing import Any, Literal

import jax

from regrax import _checks as checks, theory
from regrax.paper.certify import (
    check_expectations,
    check_lemmas,
    family,
    gradient_blocks,
    sampled_curvature,
)

Claim = dict[str, Any]


def claims(
    actions: int,
    horizon: int,
    *,
    architecture: Literal["single", "swap"] = "single",
    step: float | None = None,
    sequences: int = 100_000,
    lemmas: bool = False,
    seed: int = 0,
    devices: Any = None,
) -> Iterator[Claim]:
    """Check the claims on gradients (block by block), the family of steps, curvature, expectations and lemmas.

    Args:
        actions: Number of actions d.
        horizon: Number of rounds T.
        architecture: A single softmax head, or the multi-head swap architecture.
        step: Step size at which the gradients are checked; by default the stationary one.
        sequences: Number of random loss sequences for the gradients.
        lemmas: Also search for counterexamples to the paper's lemmas.
        seed: Seed of the random sequences.
        devices: Devices that share the work.

    Returns:
        Dictionaries with the `claim`, what was `measured`, and whether it `holds`.
    """
    checks.at_least("actions", actions, 2, 1000)
    checks.at_least("horizon", horizon, 2, 100_000)
    checks.at_least("seed", seed, 0)
    drawn: dict[str, Any] = {"key": jax.random.key(seed), "devices": devices}
    yield from _gradients(actions, horizon, architecture, step, sequences, drawn)
    yield from _family(actions, horizon)
    yield from _curvature(actions, horizon, architecture, drawn)
    for check in check_expectations(actions, horizon, **drawn):
        yield {**_claim(check.statement, f"z = {check.z:.3g}", check.holds), "z": check.z}
    if lemmas:
        for check in check_lemmas(key=drawn["key"]):
            worst = f"worst ratio {check.worst:.4g} at d = {check.actions}"
            yield _claim(f"{check.lemma.statement} ({check.lemma.form})", worst, check.holds)


def _gradients(
    actions: int, horizon: int, architecture: Any, step: Any, sequences: int, drawn: dict[str, Any]
) -> Iterator[Claim]:
    settings = {"architecture": architecture, "step": step, "sequences": sequences}
    for block in gradient_blocks(actions, horizon, **settings, **drawn):
        value = "alpha (I - 11^T/d)" if block.expected.any() else "zero"
        largest = float(abs(block.z).max())
        measured = f"largest |z| {largest:.3g} of {block.z.size}, p = {block.p_value:.3g}"
        claim = _claim(f"gradient of {block.name} is {value}", measured, block.holds)
        yield {**claim, "z": largest, "p_value": block.p_value}


def _family(actions: int, horizon: int) -> Iterator[Claim]:
    along = family(actions, horizon, points=25)
    low, high, points = along.scanned
    half = along.slopes["half"]
    twice = along.slopes["twice"]
    slopes = f"{half:.4g} at k*/2, {twice:.4g} at 2k*"
    yield _claim("L'(k) < 0 below k* and > 0 above", slopes, half < 0 < twice)
    curvature = f"L''(k*) = {along.curvature:.4g}"
    yield _claim("k* is a local minimum in the family", curvature, along.curvature > 0)
    roots = f"{along.roots} sign change on {points} steps from {low:.2g} to {high:.3g}"
    yield _claim("k* is the only root", roots, along.roots == 1)


def _curvature(
    actions: int, horizon: int, architecture: Any, drawn: dict[str, Any]
) -> Iterator[Claim]:
    exact = theory.curvature(actions, horizon, architecture=architecture)
    measured = (
        f"{len(exact.eigenvalues)} eigenvalues from {exact.smallest:.6g} "
        f"({exact.eigenvalues[0].direction}) to {exact.largest:.6g}, condition number "
        f"{exact.condition:.4g}, {exact.flat} flat directions"
    )
    claim = _claim("k* is a strict local minimum up to symmetry", measured, exact.is_minimum)
    yield {**claim, "eigenvalues": [eigenvalue._asdict() for eigenvalue in exact.eigenvalues]}
    if architecture == "single":
        sampled = sampled_curvature(exact, **drawn)
        largest = f"largest |t| {sampled.largest_score:.3g} of {len(sampled.eigenvalues)}"
        measured = f"{largest}, p = {sampled.p_value:.3g}"
        statement = "sampled Hessians agree with the exact one in every eigenspace"
        yield _claim(statement, measured, sampled.holds)


def _claim(claim: str, measured: str, holds: bool) -> Claim:
    return {"claim": claim, "measured": measured, "holds": bool(holds)}
