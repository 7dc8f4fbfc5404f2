"""The paper's claims at one size (d, T), each checked by exact integrals or by Monte Carlo."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import jax

from regrax import _checks as checks, theory
from regrax._text import fitted_table
from regrax.learners import Hedge, Learner
from regrax.paper.certify import (
    check_expectations,
    check_lemmas,
    family,
    gradient_blocks,
    rigorous_certificate,
    rigorous_minimax,
    rigorous_worst_case,
    sampled_curvature,
    three_action_step,
)

Claim = dict[str, Any]
WORST_CASES = {
    "learner": "learner",
    "regret": "worst-case regret, total",
    "above": "above minimax, %",
    "proved": "proved",
}
"""Keys of `worst_cases` with their names in tables."""
PROOFS = {"step": "k*", "loss": "L(k*), total", "optimal_loss": "L*, total"}


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
    settings: dict[str, Any] = {"architecture": architecture, "step": step, "sequences": sequences}
    for block in gradient_blocks(actions, horizon, **settings, **drawn):
        value = "alpha (I - 11^T/d)" if block.expected.any() else "zero"
        z, p = block.largest_score, block.p_value
        measured = f"largest |z| {z:.3g} of {block.mean.size}, p = {p:.3g}"
        claim = f"gradient of {block.name} is {value}"
        yield _claim(claim, measured, block.holds, z=z, p_value=p)

    along = family(actions, horizon, points=25)
    half, twice = along.slopes["half"], along.slopes["twice"]
    slopes = f"{half:.4g} at k*/2, {twice:.4g} at 2k*"
    yield _claim("L'(k) < 0 below k* and > 0 above", slopes, half < 0 < twice)
    second = f"L''(k*) = {along.curvature:.4g}"
    yield _claim("k* is a local minimum in the family", second, along.curvature > 0)
    low, high, points = along.scanned
    roots = f"{along.roots} sign change on {points} steps from {low:.2g} to {high:.3g}"
    yield _claim("k* is the only root", roots, along.roots == 1)

    exact = theory.curvature(actions, horizon, architecture=architecture)
    measured = (
        f"{len(exact.eigenvalues)} eigenvalues from {exact.smallest:.6g} "
        f"({exact.eigenvalues[0].direction}) to {exact.largest:.6g}, condition number "
        f"{exact.condition:.4g}, {exact.flat} flat directions"
    )
    claim = "k* is a strict local minimum up to symmetry"
    eigenvalues = [eigenvalue._asdict() for eigenvalue in exact.eigenvalues]
    yield _claim(claim, measured, exact.is_minimum, eigenvalues=eigenvalues)
    if architecture == "single":
        sampled = sampled_curvature(exact, **drawn)
        largest = f"largest |t| {sampled.largest_score:.3g} of {len(sampled.mean)}"
        claim = "sampled Hessians agree with the exact one in every eigenspace"
        yield _claim(claim, f"{largest}, p = {sampled.p_value:.3g}", sampled.holds)

    for check in check_expectations(actions, horizon, **drawn):
        z = float(check.scores[0])
        yield _claim(check.name, f"z = {z:.3g}", check.holds, z=z)
    if lemmas:
        for check in check_lemmas(key=drawn["key"]):
            worst = f"worst ratio {check.worst:.4g} at d = {check.actions}"
            yield _claim(f"{check.lemma.statement} ({check.lemma.form})", worst, check.holds)


def proofs(actions: int, horizon: int, claim: str | None = None) -> dict[str, Any]:
    """Prove the stationary step, and for two actions its losses and curvature, in ball arithmetic.

    Args:
        actions: Number of actions, 2 or 3.
        horizon: Number of rounds T.
        claim: Digits of the step to prove or refute.

    Returns:
        The enclosures as text, and the verdict on the claim.
    """
    checks.at_least("actions", actions, 2, 3)
    result: dict[str, Any] = {"actions": actions, "horizon": horizon}
    if actions == 3:
        step = three_action_step(horizon)
        result["step"] = step.text
    else:
        proof = rigorous_certificate(horizon)
        step = proof.step
        result |= {
            "step": step.text,
            "only_root_on": proof.only_root_on,
            "loss": proof.loss.text,
            "optimal_loss": proof.optimal_loss.text,
            "eigenvalues": [(name, enclosure.text) for name, enclosure in proof.eigenvalues],
            "is_minimum": proof.is_minimum,
        }
    return {**result, "claim": claim, "verdict": claim and step.verdict(claim)}


def proofs_text(proved: dict[str, Any], title: str = "") -> str:
    """Return the result of `proofs` as a table of claims with their enclosures or verdicts."""
    rows = [[label, proved[key]] for key, label in PROOFS.items() if key in proved]
    if "eigenvalues" in proved:
        rows += [[f"eigenvalue ({name})", text] for name, text in proved["eigenvalues"]]
        minimum = "proved" if proved["is_minimum"] else "not proved"
        rows.append(["k* is a strict local minimum up to symmetry", minimum])
        low, high = proved["only_root_on"]
        rows.append([f"k* is the only root of L' from {low:.6g} to {high:.6g}", "proved"])
    if proved["claim"] is not None:
        rows.append([f"k* = {proved['claim']}, to one unit of its last digit", proved["verdict"]])
    return fitted_table(("quantity or claim", "enclosure or verdict"), rows, title)


def worst_cases(
    actions: int, rounds: int, learners: Sequence[Learner] = (), *, prove: bool = False
) -> list[dict[str, Any]]:
    """Compare the largest regret of learners over all binary loss sequences with the minimax value.

    Args:
        actions: Number of actions d.
        rounds: Number of rounds T.
        learners: Learners; by default Hedge with the stationary step, and `Optimal` with noise 0.68.
        prove: Also enclose each value in ball arithmetic.
    """
    if not learners:
        step = float(f"{theory.step_size(actions, rounds):.6g}")
        learners = (Hedge(step), theory.Optimal(rounds, 0.68))
    minimax = theory.minimax(actions, rounds)
    rows: list[dict[str, Any]] = [{"learner": "minimax", "regret": minimax, "above": 0.0}]
    if prove:
        rows[0]["proved"] = str(rigorous_minimax(actions, rounds))
    for learner in learners:
        worst = theory.worst_case(learner, actions, rounds)
        row = {"learner": str(learner), "regret": worst.regret, "losses": worst.losses.tolist()}
        row["above"] = 100 * (worst.regret / minimax - 1)
        if prove:
            row["proved"] = rigorous_worst_case(learner, actions, rounds).text
        rows.append(row)
    return rows


def _claim(claim: str, measured: str, holds: bool, **numbers: Any) -> Claim:
    return {"claim": claim, "measured": measured, "holds": bool(holds), **numbers}
