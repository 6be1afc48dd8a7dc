"""Tables with names: the one kind of object for every table that a model or a function answers with."""

from .names import numbered
from .table import Table
from .tabular import Tabular

__all__ = ["Table", "Tabular", "numbered"]
