"""Dask collections: their rows are in partitions, and each is read by a task on the machine that holds it.

Dask is imported only when such a collection is opened.
"""

from .engine import DASK
from .source import DaskSource, is_dask

__all__ = ["DASK", "DaskSource", "is_dask"]
