from . import plots as plots
from . import report as report
