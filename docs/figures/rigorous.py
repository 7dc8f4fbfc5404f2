"""Proofs for two actions and 2 to 100 rounds: `python docs/figures/rigorous.py` writes `rigorous.json` (minutes)."""

import json
from pathlib import Path

from regrax.paper.certify import rigorous_certificate

FILE = Path(__file__).parent / "rigorous.json"


def main() -> None:
    """Write every enclosure as text."""
    rows = []
    for horizon in range(2, 101):
        found = rigorous_certificate(horizon)
        values = [[name, e.text] for name, e in found.eigenvalues]
        row = {"horizon": horizon, "step": found.step.text, "width": found.step.width}
        row |= {"only_root_on": found.only_root_on, "loss": found.loss.text}
        row |= {"optimal_loss": found.optimal_loss.text, "eigenvalues": values}
        rows.append(row | {"is_minimum": found.is_minimum})
        print(horizon, found.step.text, found.is_minimum, flush=True)
    FILE.write_text(json.dumps(rows, indent=0) + "\n")


if __name__ == "__main__":
    main()
