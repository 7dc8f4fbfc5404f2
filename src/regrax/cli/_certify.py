"""`regrax certify`: the paper's stationarity claims at one (d, T), each with a z-score and a verdict."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from regrax.cli._distributed_options import Cluster
from regrax.cli._text import print_json, print_table

if TYPE_CHECKING:
    from regrax.sharding import Devices

Claims = Iterator[dict[str, Any]]
MAX_ACTIONS, MAX_HORIZON = 1000, 100_000


@dataclass(frozen=True)
class Certify:
    """Check the theorems by Monte Carlo and exact integrals: gradients block by block, signs, curvature, identities.

    Args:
        actions: The number of actions d.
        horizon: The number of rounds T.
        architecture: One softmax head, or the multi-head swap architecture.
        step: Certify the gradients at this step instead of the stationary one.
        sequences: Random sequences for the gradients.
        lemmas: Also try to break the paper's lemmas, one by one.
        rigorous: For two or three actions: proofs in ball arithmetic, and nothing else (needs the extra `rigorous`).
        claim: With --rigorous: digits of k* to prove or refute; exit code 1 if they are not proved.
        worst_case: The largest regret over all binary loss sequences, and nothing else; with --rigorous, proved.
        learners: With --worst-case: specs of learners; by default Hedge at k* and Optimal with noise 0.68.
        seed: Seed of the random sequences.
        json: Print one JSON object.
    """

    actions: int
    horizon: int
    architecture: Literal["single", "swap"] = "single"
    step: float | None = None
    sequences: int = 100_000
    lemmas: bool = False
    rigorous: bool = False
    claim: str | None = None
    worst_case: bool = False
    learners: tuple[str, ...] = ()
    seed: int = 0
    json: bool = False
    cluster: Cluster = field(default_factory=Cluster)

    def run(self) -> None:
        """Check, then print a table of claims: in the first process, if there are several."""
        from regrax import _checks as checks

        checks.at_least("actions", self.actions, 2, MAX_ACTIONS)
        checks.at_least("horizon", self.horizon, 2, MAX_HORIZON)
        if self.worst_case:
            from regrax.cli._worst_case import report

            return report(self.actions, self.horizon, self.learners, self.json, self.rigorous)
        if self.rigorous or self.claim is not None:
            from regrax.cli._rigorous import report

            return report(self.actions, self.horizon, self.claim, as_json=self.json)
        with self.cluster.joined() as devices:
            claims = list(self._claims(devices))
            from regrax.sharding import is_first

            if is_first():
                self._print(claims)

    def _claims(self, devices: "Devices | None") -> Claims:
        import jax

        drawn = {"key": jax.random.key(self.seed), "devices": devices}
        yield from self._gradients(drawn)
        yield from self._family()
        yield from self._curvature(drawn)
        yield from self._expectations(drawn)
        if self.lemmas:
            yield from _lemmas(drawn["key"])

    def _print(self, claims: list[dict[str, Any]]) -> None:
        result = {
            "actions": self.actions,
            "horizon": self.horizon,
            "architecture": self.architecture,
            "claims": claims,
            "holds": all(claim["holds"] for claim in claims),
        }
        if self.json:
            return print_json(result)
        rows = [
            [c["claim"], c["measured"], "holds" if c["holds"] else "does not hold"] for c in claims
        ]
        title = f"{self.architecture}, {self.actions} actions, horizon {self.horizon}"
        return print_table(("claim", "measured", "verdict"), rows, title)

    def _gradients(self, drawn: dict[str, Any]) -> Claims:
        from regrax.paper.certify import gradient_blocks

        blocks = gradient_blocks(
            self.actions,
            self.horizon,
            architecture=self.architecture,
            step=self.step,
            sequences=self.sequences,
            **drawn,
        )
        for b in blocks:
            largest = float(abs(b.z).max())
            yield {
                "claim": f"gradient of {b.name} is {'alpha (I - 11^T/d)' if b.expected.any() else 'zero'}",
                "measured": f"largest |z| {largest:.2f} of {b.z.size}, p = {b.p_value:.3f}",
                "z": largest,
                "p_value": b.p_value,
                "holds": b.holds,
            }

    def _family(self) -> Claims:
        from regrax.paper.certify import family

        along = family(self.actions, self.horizon, points=25)
        low, high, points = along.scanned
        half, twice = along.slopes["half"], along.slopes["twice"]
        slopes = f"{half:.4g} at k*/2, {twice:.4g} at 2k*"
        yield _claim("L'(k) < 0 below k* and > 0 above", slopes, half < 0 < twice)
        curved = f"L''(k*) = {along.curvature:.4g}"
        yield _claim("k* is a local minimum in the family", curved, along.curvature > 0)
        scanned = f"{along.roots} sign change on {points} steps from {low:.2g} to {high:.3g}"
        yield _claim("k* is the only root", scanned, along.roots == 1)

    def _curvature(self, drawn: dict[str, Any]) -> Claims:
        """The exact Hessian at k*, and for one layer a sampled one beside it."""
        from regrax import theory
        from regrax.paper.certify import sampled_curvature

        found = theory.curvature(self.actions, self.horizon, architecture=self.architecture)
        text = (
            f"{len(found.eigenvalues)} eigenvalues from {found.smallest:.6g} "
            f"({found.eigenvalues[0].direction}) to {found.largest:.6g}, condition number "
            f"{found.condition:.4g}, {found.flat} flat directions"
        )
        exact = _claim("k* is a strict local minimum up to symmetry", text, found.is_minimum)
        yield exact | {"eigenvalues": [e._asdict() for e in found.eigenvalues]}
        if self.architecture == "single":
            sampled = sampled_curvature(found, **drawn)
            text = f"largest |t| {sampled.largest_score:.2f} of {len(sampled.eigenvalues)}, p = {sampled.p_value:.3f}"
            claim = "sampled Hessians agree with the exact one in every eigenspace"
            yield _claim(claim, text, sampled.holds)

    def _expectations(self, drawn: dict[str, Any]) -> Claims:
        from regrax.paper.certify import check_expectations

        for i in check_expectations(self.actions, self.horizon, **drawn):
            yield _claim(i.statement, f"z = {i.z:.2f}", i.holds) | {"z": i.z}


def _lemmas(key: Any) -> Claims:
    from regrax.paper.certify import check_lemmas

    for f in check_lemmas(key=key):
        worst = f"worst ratio {f.worst:.4g} at d = {f.actions}"
        yield _claim(f"{f.lemma.statement} ({f.lemma.form})", worst, f.holds)


def _claim(claim: str, measured: str, holds: bool) -> dict[str, Any]:
    return {"claim": claim, "measured": measured, "holds": bool(holds)}
