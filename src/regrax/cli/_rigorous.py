"""`regrax certify --rigorous`: what ball arithmetic proves, as a table or JSON."""

from typing import TYPE_CHECKING, Any

from regrax.cli._text import print_json, print_table

if TYPE_CHECKING:
    from regrax.paper.certify import Certificate, Enclosure


def report(actions: int, horizon: int, claim: str | None, *, as_json: bool) -> None:
    """Print the certificate; leave with exit code 1 when a claim was given and is not proved."""
    check_rigorous(actions)
    step, rows, more = _proved(actions, horizon)
    verdict = None if claim is None else step.verdict(claim)
    if as_json:
        result = {"actions": actions, "horizon": horizon, "step": step.text, **more}
        print_json(result | {"claim": claim, "verdict": verdict})
    else:
        rows = [["k*", step.text, "encloses"], *rows]
        if claim is not None:
            rows = [["the claim", f"k* = {claim}, to one unit of its last digit", verdict], *rows]
        title = f"proofs, {actions} actions, horizon {horizon}"
        print_table(("what", "enclosure", "verdict"), rows, title)
    if verdict not in (None, "proved"):
        raise SystemExit(1)


def check_rigorous(actions: int) -> None:
    """Raise unless the number of actions has proofs and python-flint is installed."""
    from importlib.util import find_spec

    if actions not in (2, 3):
        raise ValueError(f"actions must be 2 or 3 for a rigorous certificate, got {actions}")
    if find_spec("flint") is None:
        raise ValueError(
            'python-flint must be installed for --rigorous: pip install "regrax[rigorous]"'
        )


def _proved(actions: int, horizon: int) -> tuple["Enclosure", list[list[Any]], dict[str, Any]]:
    """The step, and what else is proved: rows of the table, and JSON."""
    from regrax.paper.certify import rigorous_certificate, three_action_step

    if actions == 3:
        only = ["roots of L'", "k* is the only one within 0.1 %", "proved"]
        return three_action_step(horizon), [only], {}
    found = rigorous_certificate(horizon)
    return found.step, _rows(found), _as_json(found)


def _rows(certificate: "Certificate") -> list[list[Any]]:
    low, high = certificate.only_root_on
    minimum = "proved" if certificate.is_minimum else "not proved"
    return [
        ["roots of L'", f"k* is the only one from {low:.6g} to {high:.6g}", "proved"],
        ["L(k*)", certificate.loss.text, "encloses"],
        ["L*", certificate.optimal_loss.text, "encloses"],
        *([f"eigenvalue ({name})", e.text, "encloses"] for name, e in certificate.eigenvalues),
        ["k* is a strict local minimum up to symmetry", "5 eigenvalues above 0, 3 flat", minimum],
    ]


def _as_json(certificate: "Certificate") -> dict[str, Any]:
    return {
        "only_root_on": list(certificate.only_root_on),
        "loss": certificate.loss.text,
        "optimal_loss": certificate.optimal_loss.text,
        "eigenvalues": [[name, e.text] for name, e in certificate.eigenvalues],
        "is_minimum": certificate.is_minimum,
    }
