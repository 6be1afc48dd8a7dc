"""Digests: short texts that are the same for the same values, and in practice only for them."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from ._xp import Beside, is_array, is_sparse, to_numpy


def digest(value: Any) -> str:
    """The digest of a tree of dicts, lists, tuples, numbers, texts and arrays (dense or sparse, of any library)."""
    state = hashlib.blake2b(digest_size=16)
    _add(state, value)
    return state.hexdigest()


def _add(state: Any, value: Any) -> None:
    """Add a value and what it is to the state of a digest."""
    if isinstance(value, dict):
        state.update(b"{%d" % len(value))
        for key in sorted(value):
            _add(state, key)
            _add(state, value[key])
    elif isinstance(value, list | tuple):
        state.update(b"[%d" % len(value))
        for item in value:
            _add(state, item)
    elif is_sparse(value):
        rows = value.tocsr()
        _add(state, ["csr", *rows.shape, rows.data, rows.indices, rows.indptr])
    elif isinstance(value, Beside) or is_array(value):
        array = to_numpy(value.joined() if isinstance(value, Beside) else value)
        _add(state, [str(array.dtype), *array.shape])
        state.update(np.ascontiguousarray(array).data)
    else:
        text = repr(value).encode()
        state.update(b"%d:" % len(text) + text)
