"""Which array of a file or store with several is meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import no_such_array, which_array


def pick(path: str, name: str | None, arrays: Mapping[str, Any]) -> Any:
    """The array of this name; without a name, the only array with two axes, or the only array at all. Errors list the
    arrays with two axes."""
    # A dataset of HDF5 that holds nothing has None as its shape.
    tables = [each for each, array in arrays.items() if len(array.shape or ()) == 2]
    if name is not None:
        found = arrays.get(name.strip("/"))
        if found is None:
            raise no_such_array(path, name, tables)
        return found
    if len(arrays) == 1:
        return next(iter(arrays.values()))
    if len(tables) != 1:
        raise which_array(path, tables, tables[0] if tables else "")
    return arrays[tables[0]]
