"""Blocks of an iterator that writes each block into the same memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

#: The number of first blocks that are watched.
_WATCHED = 4


def without_reuse(blocks: Iterable[Any]) -> Iterator[Any]:
    """The same blocks, which later blocks do not overwrite.

    Several blocks are held at a time, to join small ones and to sum up large ones in threads. An iterator that fills
    one array again and again would overwrite those that are held. The first few blocks are copied and compared: if two
    of them have memory in common, all further ones are copied as well. An iterator that takes turns between more than
    three arrays is not noticed.
    """
    watched: list[np.ndarray] = []
    reuses, watching = False, True
    for block in blocks:
        if not isinstance(block, np.ndarray) or not (reuses or watching):
            yield block
            continue
        if watching:
            reuses = any(np.may_share_memory(block, earlier) for earlier in watched)
            watched.append(block)
            watching = not reuses and len(watched) < _WATCHED
            if not watching:
                watched.clear()
        yield block.copy(order="K")
