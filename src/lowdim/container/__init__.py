"""One file for a document of JSON values and for named arrays: safetensors, checked before anything is allocated.

`write` and `read` know no classes; `flatten` and `rebuild` turn a tree of values and arrays into a document and its
arrays, and back. docs/saving.md describes the format.
"""

from .format import VERSION, is_newer
from .reading import header, looks_written, read
from .tree import declared, flatten, rebuild
from .writing import write

__all__ = ["VERSION", "declared", "flatten", "header", "is_newer", "looks_written", "read", "rebuild", "write"]
