"""The paper, experiment by experiment: settings to numbers, beside the reported and the exact values."""

from ._compare import (
    MEASURES as MEASURES,
    SYSTEMS as SYSTEMS,
    Line as Line,
    compare as compare,
    line as line,
    measures as measures,
    spread as spread,
)
from ._config import ReproduceConfig as ReproduceConfig
from ._depth import Depth as Depth
from ._equilibrium import Equilibrium as Equilibrium
from ._generalization import Generalization as Generalization
from ._report import paper_page as paper_page
from ._reproduce import Reproduction as Reproduction, reproduce as reproduce
from ._step_size import Steps as Steps
