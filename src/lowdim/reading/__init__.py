"""The only loop over rows: blocks, threads, progress, and errors that name a bad entry.

`summarize` feeds the blocks of a source to a summary; `map_rows` applies a function to each block and stacks the
results. No layer above this one knows where rows are stored.
"""

from .checkpoint import Checkpoint
from .mapping import map_rows
from .rows import FirstPass, Rows
from .summarizing import summarize
from .weights import check_weights

__all__ = ["Checkpoint", "FirstPass", "Rows", "check_weights", "map_rows", "summarize"]
