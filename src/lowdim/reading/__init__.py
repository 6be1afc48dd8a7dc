"""The only loop over rows: blocks, threads, progress, and errors that name a bad entry.

`summarize` feeds the blocks of a source to a summary; `map_rows` applies a function to each block and stacks the
results, and `write_rows` writes them to a file instead. No layer above this one knows where rows are stored.
"""

from .checkpoint import Checkpoint
from .mapping import RowMap, map_rows
from .rows import FirstPass, Rows
from .summarizing import summarize
from .weights import check_weights, weights_for
from .writing import write_rows

__all__ = [
    "Checkpoint",
    "FirstPass",
    "RowMap",
    "Rows",
    "check_weights",
    "map_rows",
    "summarize",
    "weights_for",
    "write_rows",
]
