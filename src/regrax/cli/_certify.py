"""`regrax certify`: the paper's stationarity claims at one (d, T), each with a z-score and a verdict."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from regrax.cli._distributed_options import Cluster
from regrax.cli._text import print_json, print_table

if TYPE_CHECKING:
    from regrax.sharding import Devices

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
    seed: int = 0
    json: bool = False
    cluster: Cluster = field(default_factory=Cluster)

    def run(self) -> None:
        """Check, then print a table of claims: in the first process, if there are several."""
        from regrax import _checks as checks
        from regrax.distributed import is_first

        checks.at_least("actions", self.actions, 2, MAX_ACTIONS)
        checks.at_least("horizon", self.horizon, 2, MAX_HORIZON)
        if self.rigorous or self.claim is not None:
            return self._rigorous()
        with self.cluster.joined() as devices:
            claims = [*self._gradients(devices), *self._landscape(devices)]
            claims += self._expectations(devices)
            claims += self._lemmas() if self.lemmas else []
            if is_first():
                self._print(claims)

    def _rigorous(self) -> None:
        from regrax.cli._rigorous import report

        return report(self.actions, self.horizon, self.claim, as_json=self.json)

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

    def _key(self) -> Any:
        import jax

        return jax.random.key(self.seed)

    def _gradients(self, devices: "Devices | None") -> list[dict[str, Any]]:
        from regrax.certify import gradient_blocks

        blocks = gradient_blocks(
            self.actions,
            self.horizon,
            key=self._key(),
            architecture=self.architecture,
            step=self.step,
            sequences=self.sequences,
            devices=devices,
        )
        return [
            {
                "claim": f"gradient of {b.name} is {'alpha (I - 11^T/d)' if b.expected.any() else 'zero'}",
                "measured": f"largest |z| {abs(b.z).max():.2f} of {b.z.size}, p = {b.p_value:.3f}",
                "z": float(abs(b.z).max()),
                "p_value": b.p_value,
                "holds": b.holds,
            }
            for b in blocks
        ]

    def _landscape(self, devices: "Devices | None") -> list[dict[str, Any]]:
        from regrax.certify import family

        along = family(self.actions, self.horizon, points=25)
        low, high, points = along.scanned
        claims = [
            _claim("L'(k) < 0 below k* and > 0 above", f"{along.slopes['half']:.4g} at k*/2, "
                   f"{along.slopes['twice']:.4g} at 2k*", along.slopes["half"] < 0 < along.slopes["twice"]),
            _claim("k* is a local minimum in the family", f"L''(k*) = {along.curvature:.4g}", along.curvature > 0),
            _claim("k* is the only root", f"{along.roots} sign change on {points} steps from {low:.2g} to {high:.3g}",
                   along.roots == 1),
        ]  # fmt: skip
        return [*claims, *self._curvature(devices)]

    def _curvature(self, devices: "Devices | None") -> list[dict[str, Any]]:
        """The exact Hessian at k*, and for one layer a sampled one beside it."""
        from regrax import theory
        from regrax.certify import sampled_curvature

        found = theory.curvature(self.actions, self.horizon, architecture=self.architecture)
        text = (
            f"{len(found.eigenvalues)} eigenvalues from {found.smallest:.6g} "
            f"({found.eigenvalues[0].direction}) to {found.largest:.6g}, condition number "
            f"{found.condition:.4g}, {found.flat} flat directions"
        )
        exact = _claim("k* is a strict local minimum up to symmetry", text, found.is_minimum)
        exact["eigenvalues"] = [e._asdict() for e in found.eigenvalues]
        if self.architecture == "swap":
            return [exact]
        sampled = sampled_curvature(found, key=self._key(), devices=devices)
        text = f"largest |t| {sampled.largest_score:.2f} of {len(sampled.eigenvalues)}, p = {sampled.p_value:.3f}"
        claim = "sampled Hessians agree with the exact one in every eigenspace"
        return [exact, _claim(claim, text, sampled.holds)]

    def _expectations(self, devices: "Devices | None") -> list[dict[str, Any]]:
        from regrax.certify import check_expectations

        found = check_expectations(self.actions, self.horizon, key=self._key(), devices=devices)
        return [{**_claim(i.statement, f"z = {i.z:.2f}", i.holds), "z": i.z} for i in found]

    def _lemmas(self) -> list[dict[str, Any]]:
        from regrax.certify import check_lemmas

        return [
            _claim(
                f"{f.lemma.statement} ({f.lemma.form})",
                f"worst ratio {f.worst:.4g} at d = {f.actions}",
                f.holds,
            )
            for f in check_lemmas(key=self._key())
        ]


def _claim(claim: str, measured: str, holds: bool) -> dict[str, Any]:
    return {"claim": claim, "measured": measured, "holds": bool(holds)}
