"""The command line. Each command parses its options, calls public functions and prints the result."""

from .app import main as main
