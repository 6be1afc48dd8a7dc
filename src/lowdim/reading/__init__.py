"""The only loop over rows: blocks, threads, progress, and errors that name a bad entry.

`summarize` feeds the blocks of a source to a summary; `map_rows` applies a function to each block and stacks the
results. No layer above this one knows where rows are stored.
"""

from .mapping import map_rows
from .rows import Rows
from .summarizing import summarize
from .weights import check_weights

__all__ = ["Rows", "check_weights", "map_rows", "summarize"]
