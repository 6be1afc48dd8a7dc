"""One file for a document of JSON values and for named arrays: safetensors, checked before anything is allocated.

`write` and `read` know no classes, and `to_bytes` and `from_bytes` do the same with bytes that are sent to another
process. `flatten` and `rebuild` turn a tree of values and arrays into a document and its arrays, and back.
docs/saving.md describes the format.
"""

from .format import VERSION, is_newer
from .reading import from_bytes, header, looks_written, read
from .tree import declared, flatten, rebuild
from .writing import to_bytes, write

__all__ = [
    "VERSION",
    "declared",
    "flatten",
    "from_bytes",
    "header",
    "is_newer",
    "looks_written",
    "read",
    "rebuild",
    "to_bytes",
    "write",
]
