"""What classes say of the attributes that are stored in files: their kinds, shapes, signs and order.

A model lists the attributes that a fit sets, as in `fitted_attributes = {"mean_": Numbers("p"), ...}`. Shapes are
written with letters, and the same letter has the same length wherever it occurs. What is written to a file, and what is
read from one, is checked against the list: kinds, shapes and dtypes before any array is read, and entries afterwards.
"""

from .arrays import Numbers
from .base import Inspection, Kind, Record, declared
from .kinds import (
    Anything,
    Dtype,
    Entries,
    Flag,
    Instance,
    ListOf,
    Maybe,
    Names,
    Real,
    Several,
    Size,
    Sometimes,
    Text,
    TupleOf,
    Unstored,
    Whole,
)

__all__ = [
    "Anything",
    "Dtype",
    "Entries",
    "Flag",
    "Inspection",
    "Instance",
    "Kind",
    "ListOf",
    "Maybe",
    "Names",
    "Numbers",
    "Real",
    "Record",
    "Several",
    "Size",
    "Sometimes",
    "Text",
    "TupleOf",
    "Unstored",
    "Whole",
    "declared",
]
