"""Everything that is read through Arrow: Parquet, Arrow and CSV files, and objects that speak Arrow."""

from .files import ArrowFiles

__all__ = ["ArrowFiles"]
