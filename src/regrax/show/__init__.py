"""Figures, reports and the interactive explorer."""

from . import explorer as explorer, plots as plots, report as report
