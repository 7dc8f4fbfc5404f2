from . import explorer as explorer
from . import plots as plots
from . import report as report
