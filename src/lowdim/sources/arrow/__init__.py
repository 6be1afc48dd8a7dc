"""Everything that is read through Arrow: Parquet, Arrow and CSV files, and objects that speak Arrow."""

from .files import ArrowFiles
from .objects import ArrowObject, is_arrow_object

__all__ = ["ArrowFiles", "ArrowObject", "is_arrow_object"]
