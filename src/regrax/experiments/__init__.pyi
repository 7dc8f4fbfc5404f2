from . import paper as paper, runs as runs, sweep as sweep, tournament as tournament
