"""The numbers the paper reports (three actions, horizon 20, three seeds), each with its spread where one is given."""

from typing import NamedTuple


class Reported(NamedTuple):
    """A printed value, and its standard deviation or error."""

    value: float
    spread: float | None = None

    def __str__(self) -> str:
        return f"{self.value:g}" if self.spread is None else f"{self.value:g} ± {self.spread:g}"


REPORTED = {
    "matching.step": Reported(0.4456, 0.0046),
    "matching.mse": Reported(0.000739, 0.000176),
    "matching.l1": Reported(0.0542, 0.0071),
    "matching.total_variation": Reported(0.0271, 0.0036),
    "matching.per_action": Reported(0.0181, 0.0024),
    "depth.regret.2": Reported(4.380, 0.046),
    "depth.regret.4": Reported(4.322, 0.017),
    "depth.regret.uniform": Reported(7.021, 0.052),
    "cce.1": Reported(0.0832, 0.0028),
    "cce.2": Reported(0.0467, 0.0095),
    "cce.4": Reported(0.0653, 0.0054),
    "cce.uniform": Reported(0.1111),
    "ce.calibrated": Reported(0.0627, 0.0018),
    "ce.blum_mansour": Reported(0.0617),
    "ce.uniform": Reported(0.1111),
    "ce.calibrated_swap": Reported(0.0956, 0.0068),
    "ce.uncalibrated": Reported(0.0968, 0.0049),
    "ce.uncalibrated_swap": Reported(0.1627, 0.0110),
}
