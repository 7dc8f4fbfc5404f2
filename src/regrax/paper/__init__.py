"""Evidence for the paper: its experiments compared with the reported and exact numbers, certificates, and proofs."""

from .comparison import (
    MEASURES as MEASURES,
    REPORTED as REPORTED,
    SYSTEMS as SYSTEMS,
    Line as Line,
    compare as compare,
    count_verdicts as count_verdicts,
    exponent as exponent,
    line as line,
    spread as spread,
)
from .config import ReproduceConfig as ReproduceConfig, Sizes as Sizes
from .experiments import (
    Depth as Depth,
    Equilibrium as Equilibrium,
    Generalization as Generalization,
    StepCell as StepCell,
    Steps as Steps,
)
from .reproduction import Reproduction as Reproduction, reproduce as reproduce
from .summary import summary_text as summary_text
