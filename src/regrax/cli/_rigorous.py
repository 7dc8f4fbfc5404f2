"""`regrax certify --rigorous`: what ball arithmetic proves, as a table or JSON."""

from typing import TYPE_CHECKING, Any

from regrax.cli._text import print_json, print_table

if TYPE_CHECKING:
    from regrax.certify import Certificate, Enclosure


def report(actions: int, horizon: int, claim: str | None, *, as_json: bool) -> None:
    """Print the certificate; leave with exit code 1 when a claim was given and is not proved."""
    _check(actions)
    step, rows, result = _two(horizon) if actions == 2 else _three(horizon)
    verdict = None if claim is None else step.verdict(claim)
    if as_json:
        print_json(result | {"claim": claim, "verdict": verdict})
    else:
        if claim is not None:
            rows.insert(
                0, ["the claim", f"k* = {claim}, to one unit of its last digit", str(verdict)]
            )
        print_table(
            ("what", "enclosure", "verdict"), rows, f"proofs, {actions} actions, horizon {horizon}"
        )
    if verdict not in (None, "proved"):
        raise SystemExit(1)


def _check(actions: int) -> None:
    from importlib.util import find_spec

    if actions not in (2, 3):
        raise ValueError(f"actions must be 2 or 3 for a rigorous certificate, got {actions}")
    if find_spec("flint") is None:
        raise ValueError(
            'python-flint must be installed for --rigorous: pip install "regrax[rigorous]"'
        )


def _two(horizon: int) -> tuple["Enclosure", list[list[str]], dict[str, Any]]:
    from regrax.certify import rigorous_certificate

    found = rigorous_certificate(horizon)
    return found.step, _rows(found), _as_json(found)


def _three(horizon: int) -> tuple["Enclosure", list[list[str]], dict[str, Any]]:
    from regrax.certify import three_action_step

    step = three_action_step(horizon)
    rows = [
        ["k*", step.text, "encloses"],
        ["roots of L'", "k* is the only one within 0.1 %", "proved"],
    ]
    return step, rows, {"actions": 3, "horizon": horizon, "step": step.text}


def _rows(certificate: "Certificate") -> list[list[str]]:
    low, high = certificate.only_root_on
    rows = [
        ["k*", certificate.step.text, "encloses"],
        ["roots of L'", f"k* is the only one from {low:.6g} to {high:.6g}", "proved"],
        ["L(k*)", certificate.loss.text, "encloses"],
        ["L*", certificate.optimal_loss.text, "encloses"],
    ]
    rows += [[f"eigenvalue ({name})", e.text, "encloses"] for name, e in certificate.eigenvalues]
    verdict = "proved" if certificate.is_minimum else "not proved"
    return [
        *rows,
        ["k* is a strict local minimum up to symmetry", "5 eigenvalues above 0, 3 flat", verdict],
    ]


def _as_json(certificate: "Certificate") -> dict[str, Any]:
    return {
        "actions": 2,
        "horizon": certificate.horizon,
        "step": certificate.step.text,
        "only_root_on": list(certificate.only_root_on),
        "loss": certificate.loss.text,
        "optimal_loss": certificate.optimal_loss.text,
        "eigenvalues": [[name, e.text] for name, e in certificate.eigenvalues],
        "is_minimum": certificate.is_minimum,
    }
