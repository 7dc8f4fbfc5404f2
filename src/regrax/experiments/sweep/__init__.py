"""Sweeps: a grid of trainings from a file, run here or on a Dask cluster, kept cell by cell, as one tidy table."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
