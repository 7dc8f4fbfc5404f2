"""Certificates: Monte Carlo estimators, and checks of the paper's claims."""

from regrax.certify.monte_carlo import monte_carlo_steps

__all__ = ["monte_carlo_steps"]
