"""Numbers in, pictures and pages out."""

from . import explorer as explorer, plots as plots, report as report
