"""Everything that is read through Arrow: Parquet, Arrow and CSV files, and objects that speak Arrow."""

from .csv_files import CsvFormat
from .files import ArrowFiles
from .formats import ArrowFormat, ParquetFormat
from .objects import ArrowObject, is_arrow_object, is_arrow_stream

__all__ = [
    "ArrowFiles",
    "ArrowFormat",
    "ArrowObject",
    "CsvFormat",
    "ParquetFormat",
    "is_arrow_object",
    "is_arrow_stream",
]
