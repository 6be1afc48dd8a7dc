"""The only loop over rows: blocks, threads, progress, and errors that name a bad entry.

`summarize` feeds the blocks of a source to a summary; `map_rows` applies a function to each block and stacks the
results, and `write_rows` writes them to a file instead. No layer above this one knows where rows are stored.
"""

from .checkpoint import Checkpoint
from .summarizing import summarize

__all__ = ["Checkpoint", "summarize"]
